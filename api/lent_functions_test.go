package api

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
)

// functions are the functions without a receiver, and the methods of clients.
func functions(t *testing.T) (list []lender) {
	t.Helper()
	for name, f := range map[string]any{
		"AppendBrotliBytes":              fasthttp.AppendBrotliBytes,
		"AppendBrotliBytesLevel":         fasthttp.AppendBrotliBytesLevel,
		"AppendDeflateBytes":             fasthttp.AppendDeflateBytes,
		"AppendDeflateBytesLevel":        fasthttp.AppendDeflateBytesLevel,
		"AppendGzipBytes":                fasthttp.AppendGzipBytes,
		"AppendGzipBytesLevel":           fasthttp.AppendGzipBytesLevel,
		"AppendZstdBytes":                fasthttp.AppendZstdBytes,
		"AppendZstdBytesLevel":           fasthttp.AppendZstdBytesLevel,
		"AppendGunzipBytes":              fasthttp.AppendGunzipBytes,
		"AppendInflateBytes":             fasthttp.AppendInflateBytes,
		"AppendUnbrotliBytes":            fasthttp.AppendUnbrotliBytes,
		"AppendUnzstdBytes":              fasthttp.AppendUnzstdBytes,
		"AppendHTMLEscape":               fasthttp.AppendHTMLEscape,
		"AppendHTMLEscapeBytes":          fasthttp.AppendHTMLEscapeBytes,
		"AppendHTTPDate":                 fasthttp.AppendHTTPDate,
		"AppendIPv4":                     fasthttp.AppendIPv4,
		"AppendNormalizedHeaderKey":      fasthttp.AppendNormalizedHeaderKey,
		"AppendNormalizedHeaderKeyBytes": fasthttp.AppendNormalizedHeaderKeyBytes,
		"AppendQuotedArg":                fasthttp.AppendQuotedArg,
		"AppendUnquotedArg":              fasthttp.AppendUnquotedArg,
		"AppendUint":                     fasthttp.AppendUint,
		"GenerateTestCertificate":        fasthttp.GenerateTestCertificate,
		"VisitHeaderParams":              fasthttp.VisitHeaderParams,
	} {
		list = append(list, function(name, reflect.ValueOf(f))...)
	}
	list = append(list, lender{
		name: "NetHttpFormValueFunc", line: "var NetHttpFormValueFunc func",
		call: func() (all, given [][]byte) {
			var ctx fasthttp.RequestCtx
			ctx.Init(new(fasthttp.Request), nil, nil)
			ctx.QueryArgs().Set("key", "value")
			return [][]byte{fasthttp.NetHttpFormValueFunc(&ctx, "key")}, nil
		},
	})
	return append(list, clients(t)...)
}

// function makes lenders that call a function with all its arguments.
func function(name string, f reflect.Value) (list []lender) {
	arguments := [][]reflect.Value{nil}
	for i, in := range slices.Collect(f.Type().Ins()) {
		var some []reflect.Value
		switch {
		case i == 0 && strings.HasPrefix(name, "Append"):
			some = []reflect.Value{reflect.Zero(in)}
		case in.Kind() == reflect.Func:
			some = []reflect.Value{reflect.Zero(in)}
		case in == reflect.TypeFor[time.Time]():
			some = []reflect.Value{reflect.ValueOf(time.Unix(0, 0))}
		case in == reflect.TypeFor[net.IP]():
			some = []reflect.Value{reflect.ValueOf(net.IPv4(127, 0, 0, 1)), reflect.ValueOf(net.IPv4zero), reflect.ValueOf(net.IP(nil))}
		case name == "GenerateTestCertificate":
			some = []reflect.Value{reflect.ValueOf("host")}
		case name == "VisitHeaderParams":
			some = []reflect.Value{reflect.ValueOf([]byte(`a=b; c="d"; charset=utf-8`))}
		default:
			some = choices(in, slices.Concat(names, values))
			for _, body := range encoded {
				if isBytes(in) {
					some = append(some, reflect.ValueOf(body))
				}
			}
		}
		var longer [][]reflect.Value
		for _, args := range arguments {
			for _, arg := range some {
				longer = append(longer, append(slices.Clone(args), arg))
			}
		}
		arguments = longer
	}
	for _, args := range arguments {
		l := lender{name: fmt.Sprintf("%s(%s)", name, text(args)), line: "func " + name}
		l.call = func() (all, given [][]byte) {
			args := slices.Clone(args)
			for i, arg := range args {
				if isBytes(arg.Type()) && !arg.IsNil() {
					b := bytes.Clone(arg.Bytes())
					args[i], given = reflect.ValueOf(b), append(given, b)
				}
			}
			return invoke(f, args), given
		}
		switch name {
		case "GenerateTestCertificate":
			// each certificate differs
			generate := l.call
			l.call = func() (all, given [][]byte) {
				all, given = generate()
				all[0], all[1] = all[0][:10], all[1][:10]
				return all, given
			}
		case "VisitHeaderParams":
			// a split function returns parts of its arguments
			l.owns = true
		}
		if all, _ := l.call(); len(all) > 0 {
			list = append(list, l)
		}
	}
	return list
}

// clients are all ways to get a body from a client without a Response.
func clients(t *testing.T) (list []lender) {
	t.Helper()
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) { ctx.SetBodyString("body") }}
	served := make(chan error, 1)
	go func() { served <- s.Serve(ln) }()
	t.Cleanup(func() {
		if err := s.Shutdown(); err != nil {
			t.Error(err)
		}
		if err := servertest.Receive(t, "the end of Serve", served); err != nil {
			t.Error(err)
		}
	})
	var client fasthttp.Client
	host := fasthttp.HostClient{Addr: ln.Addr().String()}
	t.Cleanup(client.CloseIdleConnections)
	t.Cleanup(host.CloseIdleConnections)
	url := "http://" + ln.Addr().String() + "/"
	for line, get := range map[string]func() (int, []byte, error){
		"func Get":        func() (int, []byte, error) { return fasthttp.Get(nil, url) },
		"func GetContext": func() (int, []byte, error) { return fasthttp.GetContext(context.Background(), nil, url) },
		"func GetDeadline": func() (int, []byte, error) {
			return fasthttp.GetDeadline(nil, url, time.Now().Add(servertest.Patience))
		},
		"func GetTimeout":  func() (int, []byte, error) { return fasthttp.GetTimeout(nil, url, servertest.Patience) },
		"func Post":        func() (int, []byte, error) { return fasthttp.Post(nil, url, nil) },
		"func PostContext": func() (int, []byte, error) { return fasthttp.PostContext(context.Background(), nil, url, nil) },

		"method (*Client) Get":         func() (int, []byte, error) { return client.Get(nil, url) },
		"method (*Client) GetContext":  func() (int, []byte, error) { return client.GetContext(context.Background(), nil, url) },
		"method (*Client) GetDeadline": func() (int, []byte, error) { return client.GetDeadline(nil, url, time.Now().Add(servertest.Patience)) },
		"method (*Client) GetTimeout":  func() (int, []byte, error) { return client.GetTimeout(nil, url, servertest.Patience) },
		"method (*Client) Post":        func() (int, []byte, error) { return client.Post(nil, url, nil) },
		"method (*Client) PostContext": func() (int, []byte, error) { return client.PostContext(context.Background(), nil, url, nil) },

		"method (*HostClient) Get":         func() (int, []byte, error) { return host.Get(nil, url) },
		"method (*HostClient) GetContext":  func() (int, []byte, error) { return host.GetContext(context.Background(), nil, url) },
		"method (*HostClient) GetDeadline": func() (int, []byte, error) { return host.GetDeadline(nil, url, time.Now().Add(servertest.Patience)) },
		"method (*HostClient) GetTimeout":  func() (int, []byte, error) { return host.GetTimeout(nil, url, servertest.Patience) },
		"method (*HostClient) Post":        func() (int, []byte, error) { return host.Post(nil, url, nil) },
		"method (*HostClient) PostContext": func() (int, []byte, error) { return host.PostContext(context.Background(), nil, url, nil) },
	} {
		list = append(list, lender{name: line, line: line, call: func() (all, given [][]byte) {
			_, body, err := get()
			if err != nil {
				t.Errorf("%s: %v", line, err)
			}
			return [][]byte{body}, nil
		}})
	}
	return list
}
