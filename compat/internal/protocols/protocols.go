// Package protocols selects the versions of HTTP that a server speaks, for tests that are also
// built with the original, whose server has no such setting.
package protocols

import "reflect"

// AddHTTP2 makes a *fasthttp.Server speak HTTP/2, too, with and without TLS.
func AddHTTP2(server any) {
	field := reflect.ValueOf(server).Elem().FieldByName("Protocols").Addr()
	for _, name := range []string{"SetHTTP1", "SetHTTP2", "SetUnencryptedHTTP2"} {
		field.MethodByName(name).Call([]reflect.Value{reflect.ValueOf(true)})
	}
}
