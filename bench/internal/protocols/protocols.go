// Package protocols turns HTTP/2 on in servers of which not every build has it: the
// published fasthttp has none.
package protocols

import "reflect"

// setter is what both net/http and this fasthttp call these methods.
type setter interface {
	SetHTTP1(ok bool)
	SetHTTP2(ok bool)
	SetUnencryptedHTTP2(ok bool)
}

// EnableHTTP2 makes a server speak HTTP/1 and HTTP/2, with TLS and without. server is a
// pointer to a struct. EnableHTTP2 reports false for one that has no field Protocols.
func EnableHTTP2(server any) bool {
	field := reflect.ValueOf(server).Elem().FieldByName("Protocols")
	if !field.IsValid() {
		return false
	}
	if field.Kind() == reflect.Pointer {
		field.Set(reflect.New(field.Type().Elem()))
	} else {
		field = field.Addr()
	}
	p, ok := field.Interface().(setter)
	if !ok {
		return false
	}
	p.SetHTTP1(true)
	p.SetHTTP2(true)
	p.SetUnencryptedHTTP2(true)
	return true
}
