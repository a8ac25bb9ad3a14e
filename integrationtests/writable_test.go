package integrationtests

import (
	"bytes"
	"fmt"
	"net"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
)

// spoilers are methods that change or end their receiver, or that block.
var spoilers = []string{
	"BodyStream", "CloseBodyStream", "Conn", "Done", "GetOnlyWriter", "RequestBodyStream", "ReleaseBody", "SwapBody",
	"Reset", "ResetBody", "ResetConnectionClose", "ResetSkipNormalize", "ResetUserValues", "RemoveMultipartFormFiles", "DelAllCookies",
	"NotFound", "NotModified", "TimeoutErrorWithResponse", "LastTimeoutErrorResponse", "ParseNetConn", "HijackHandler",
	"EnableFullDuplex", "SetConnectionClose", "DisableNormalizing", "EnableNormalizing", "DisableSpecialHeader", "EnableSpecialHeader",
	"DisableBuffering", "Hijacked", "WatchDisconnect",
}

// scribble writes to all byte slices that methods of v without arguments return, and
// returns the number of those methods.
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

// handedOut returns the results of all methods of v without arguments, as text.
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

// If a handler or a caller writes to a returned slice, the next message of the
// connection is unaffected.
func TestWhatIsHandedOutIsNotRemembered(t *testing.T) {
	t.Parallel()
	forEachEngine(t, func(t *testing.T, start starter) {
		var seen [][2]string
		ts := start(&fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
			seen = append(seen, [2]string{ctx.Request.String(), handedOut(&ctx.Request.Header)})
			scribble(&ctx.Request.Header)
			scribble(ctx.URI())
			scribble(&ctx.Response.Header)
			ctx.Response.Header.Set("X-A", "b")
		}})
		hc := &fasthttp.HostClient{Addr: "host", Dial: func(string) (net.Conn, error) { return ts.Dialer() }}
		defer hc.CloseIdleConnections()
		// the second of the clock may change meanwhile
		dates := regexp.MustCompile(`Date: [^"]*? GMT`)
		var answers []string
		for range 6 {
			req, resp := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
			req.SetRequestURI("http://host/path?query")
			req.Header.Set("X-Some", "value")
			servertest.Must(t, hc.Do(req, resp))
			resp.Header.Del(fasthttp.HeaderDate)
			answers = append(answers, dates.ReplaceAllString(resp.String()+handedOut(&resp.Header), "Date: now"))
			scribble(&resp.Header)
			scribble(&req.Header)
			fasthttp.ReleaseRequest(req)
			fasthttp.ReleaseResponse(resp)
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
	h := new(fasthttp.ResponseHeader)
	h.SetServer("s")
	for _, name := range h.PeekKeys() {
		copy(name, bytes.ToLower(name))
	}
	var other fasthttp.ResponseHeader
	other.SetServer("s")
	if text := other.String(); !strings.Contains(text, "\r\nServer: s\r\n") {
		t.Errorf("another header is %q", text)
	}
}
