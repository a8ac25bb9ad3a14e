// Package protocols enables HTTP/2 in servers and clients, if their build supports it: the
// published fasthttp does not.
package protocols

import "reflect"

// setter has the methods that net/http and this fasthttp have in common.
type setter interface {
	SetHTTP1(ok bool)
	SetHTTP2(ok bool)
	SetUnencryptedHTTP2(ok bool)
}

// EnableHTTP2 makes a server speak HTTP/1 and HTTP/2, with TLS and without. server is a
// pointer to a struct. EnableHTTP2 returns false if the struct has no field Protocols.
func EnableHTTP2(server any) bool { return set(server, true) }

// OnlyHTTP2 makes a client speak only HTTP/2, without TLS by prior knowledge. client is a
// pointer to a struct. OnlyHTTP2 returns false if the struct has no field Protocols.
func OnlyHTTP2(client any) bool { return set(client, false) }

// AllowStreams sets the limit of concurrent streams of a client. server is a pointer to a
// struct. AllowStreams returns false if the struct has no such setting.
func AllowStreams(server any, n int) bool {
	field := reflect.ValueOf(server).Elem().FieldByName("HTTP2")
	if field.Kind() == reflect.Pointer {
		if field.IsNil() {
			field.Set(reflect.New(field.Type().Elem()))
		}
		field = field.Elem()
	}
	if field.Kind() != reflect.Struct {
		return false
	}
	field = field.FieldByName("MaxConcurrentStreams")
	if !field.IsValid() {
		return false
	}
	field.SetInt(int64(n))
	return true
}

func set(of any, http1 bool) bool {
	field := reflect.ValueOf(of).Elem().FieldByName("Protocols")
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
	p.SetHTTP1(http1)
	p.SetHTTP2(true)
	p.SetUnencryptedHTTP2(true)
	return true
}
