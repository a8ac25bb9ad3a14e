package fasthttp

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// spoilers are methods that change or end what they are called on, or that wait.
var spoilers = []string{
	"BodyStream", "CloseBodyStream", "Conn", "Done", "GetOnlyWriter", "RequestBodyStream", "ReleaseBody", "SwapBody",
	"Reset", "ResetBody", "ResetConnectionClose", "ResetSkipNormalize", "ResetUserValues", "RemoveMultipartFormFiles", "DelAllCookies",
	"NotFound", "NotModified", "TimeoutErrorWithResponse", "LastTimeoutErrorResponse", "ParseNetConn", "HijackHandler",
	"EnableFullDuplex", "SetConnectionClose", "DisableNormalizing", "EnableNormalizing", "DisableSpecialHeader", "EnableSpecialHeader",
	"DisableBuffering", "Hijacked", "WatchDisconnect",
}

// scribble writes to all bytes that v hands out through methods without
// arguments, and returns how many methods that were.
func scribble(v any) (methods int) {
	value := reflect.ValueOf(v)
	for i := range value.NumMethod() {
		m := value.Type().Method(i)
		if m.Type.NumIn() != 1 || slices.Contains(spoilers, m.Name) {
			continue
		}
		wrote := false
		overwrite := func(b []byte) {
			for i := range b {
				b[i] ^= 0x20
			}
			wrote = wrote || len(b) > 0
		}
		for _, result := range value.Method(i).Call(nil) {
			switch r := result.Interface().(type) {
			case []byte:
				overwrite(r)
			case [][]byte:
				for _, b := range r {
					overwrite(b)
				}
			default:
				if result.Kind() == reflect.Func && result.Type().NumIn() == 1 && result.Type().In(0).Kind() == reflect.Func {
					yield := reflect.MakeFunc(result.Type().In(0), func(args []reflect.Value) []reflect.Value {
						for _, arg := range args {
							if b, ok := arg.Interface().([]byte); ok {
								overwrite(b)
							}
						}
						return []reflect.Value{reflect.ValueOf(true)}
					})
					result.Call([]reflect.Value{yield})
				}
			}
		}
		if wrote {
			methods++
		}
	}
	return methods
}

// handedOut is everything that v hands out through methods without arguments.
func handedOut(v any) string {
	var all strings.Builder
	value := reflect.ValueOf(v)
	for i := range value.NumMethod() {
		m := value.Type().Method(i)
		if m.Type.NumIn() != 1 || slices.Contains(spoilers, m.Name) {
			continue
		}
		for _, result := range value.Method(i).Call(nil) {
			switch r := result.Interface().(type) {
			case []byte, [][]byte, string:
				fmt.Fprintf(&all, "%s: %q\n", m.Name, r)
			}
		}
	}
	return all.String()
}

const scribbledRequest = "GET /path?query=1 HTTP/1.1\r\nHost: host\r\nUser-Agent: agent\r\nContent-Type: text/html\r\nContent-Length: 4\r\n" +
	"Cookie: a=b; c=d\r\nTrailer: X-Sum\r\nReferer: r\r\nX-Other: x\r\nConnection: close\r\n\r\nbody"

const scribbledResponse = "HTTP/1.1 200 Fine\r\nServer: s\r\nContent-Type: text/html\r\nContent-Encoding: x\r\nContent-Length: 4\r\n" +
	"Set-Cookie: a=b; path=/\r\nSet-Cookie: c=d\r\nTrailer: X-Sum\r\nX-Other: x\r\nConnection: close\r\n\r\nbody"

func messageReader(text string) *bufio.Reader { return bufio.NewReader(strings.NewReader(text)) }

// Programs write to what they get: some lower the case of names in place. That must
// not end the process, nor change what anybody else gets.
func TestWhatIsHandedOutMayBeWrittenTo(t *testing.T) {
	makers := map[string]func() any{
		"RequestHeader":  func() any { return new(RequestHeader) },
		"ResponseHeader": func() any { return new(ResponseHeader) },
		"Request":        func() any { return new(Request) },
		"Response":       func() any { return new(Response) },
		"URI":            func() any { return new(URI) },
		"Args":           func() any { return new(Args) },
		"Cookie":         func() any { return new(Cookie) },
		"RequestCtx":     func() any { return new(RequestCtx) },
		"closing RequestHeader": func() any {
			h := new(RequestHeader)
			h.SetConnectionClose()
			h.SetHost("h")
			h.SetContentLength(4)
			return h
		},
		"closing ResponseHeader": func() any {
			h := new(ResponseHeader)
			h.SetConnectionClose()
			h.SetServer("s")
			h.SetCookie(&Cookie{key: []byte("k"), value: []byte("v")})
			return h
		},
		"received Request": func() any {
			req := new(Request)
			if err := req.Read(messageReader(scribbledRequest)); err != nil {
				t.Fatal(err)
			}
			return req
		},
		"received RequestHeader": func() any {
			h := new(RequestHeader)
			if err := h.Read(messageReader(scribbledRequest)); err != nil {
				t.Fatal(err)
			}
			return h
		},
		"received Response": func() any {
			resp := new(Response)
			if err := resp.Read(messageReader(scribbledResponse)); err != nil {
				t.Fatal(err)
			}
			return resp
		},
		"received ResponseHeader": func() any {
			h := new(ResponseHeader)
			if err := h.Read(messageReader(scribbledResponse)); err != nil {
				t.Fatal(err)
			}
			return h
		},
		"parsed URI": func() any {
			u := new(URI)
			if err := u.Parse(nil, []byte("https://user:pass@host/path?query#hash")); err != nil {
				t.Fatal(err)
			}
			return u
		},
	}
	before := make(map[string]string)
	for name, make := range makers {
		before[name] = handedOut(make())
	}
	total := 0
	for _, make := range makers {
		total += scribble(make())
	}
	if total < 60 {
		t.Errorf("only %d methods have handed out something", total)
	}
	for name, make := range makers {
		if after := handedOut(make()); after != before[name] {
			t.Errorf("another %s says\n%s\nbefore\n%s", name, after, before[name])
		}
	}
}

// What a handler, or the caller of a client, writes to is not remembered for the
// next message of the connection.
func TestWhatIsHandedOutIsNotRemembered(t *testing.T) {
	forEachEngine(t, func(t *testing.T, start starter) {
		var seen [][2]string
		ts := start(&Server{Handler: func(ctx *RequestCtx) {
			seen = append(seen, [2]string{ctx.Request.String(), handedOut(&ctx.Request.Header)})
			scribble(&ctx.Request.Header)
			scribble(ctx.URI())
			scribble(&ctx.Response.Header)
			ctx.Response.Header.Set("X-A", "b")
		}})
		hc := &HostClient{Addr: "host", Dial: func(string) (net.Conn, error) { return ts.dialer() }}
		defer hc.CloseIdleConnections()
		var answers []string
		for range 6 {
			req, resp := AcquireRequest(), AcquireResponse()
			req.SetRequestURI("http://host/path?query")
			req.Header.Set("X-Some", "value")
			mustDo(t, hc.Do(req, resp))
			resp.Header.Del(HeaderDate)
			answers = append(answers, resp.String()+handedOut(&resp.Header))
			scribble(&resp.Header)
			scribble(&req.Header)
			ReleaseRequest(req)
			ReleaseResponse(resp)
		}
		for i := range answers {
			if answers[i] != answers[0] {
				t.Errorf("answer %d is\n%s\nthe first was\n%s", i, answers[i], answers[0])
			}
			if seen[i] != seen[0] {
				t.Errorf("request %d is\n%s\nthe first was\n%s", i, seen[i], seen[0])
			}
		}
	})
}

func TestPeekKeysMayBeWrittenTo(t *testing.T) {
	h := new(ResponseHeader)
	h.SetServer("s")
	for _, name := range h.PeekKeys() {
		copy(name, bytes.ToLower(name))
	}
	var other ResponseHeader
	other.SetServer("s")
	if text := other.String(); !strings.Contains(text, "\r\nServer: s\r\n") {
		t.Errorf("another header is %q", text)
	}
}
