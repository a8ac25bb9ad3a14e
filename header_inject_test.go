package fasthttp

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/valyala/fasthttp/internal/field"
	"github.com/valyala/fasthttp/internal/servertest"
)

// hostileTexts try to end the line that they are in.
var hostileTexts = []string{
	"a\r\nInjected: yes", "a\nInjected: yes", "a\rInjected: yes", "a\x00Injected: yes", "\r\nInjected: yes\r\n", "\nInjected: yes",
	"a\r\n\r\nGET /injected HTTP/1.1\r\nHost: x\r\n\r\n", "a\n\nHTTP/1.1 200 OK\n\n", "\r\n", "\n", "\r", "\x00", "\r\n\r\n",
	"a\r\n Injected: yes", "a\r\n\tInjected: yes", "a HTTP/1.1\r\nInjected: yes\r\nX:", "a: b\r\nInjected: yes\r\nc",
	"a\r\r\n\nInjected: yes", "a;\r\nInjected: yes", "5\r\nInjected: yes", "close\r\nInjected: yes", "multipart/form-data\r\nInjected: yes",
	"a, Injected: yes\r\nInjected: yes", "\r\n\r\n\r\n\r\nInjected: yes\r\n\r\n", strings.Repeat("\r\nInjected: yes", 50),
	"a\u0085Injected: yes", "a\u2028Injected: yes", "\u560d\u560aInjected: yes", "%0d%0aInjected: yes",
}

// eachSetter calls do for every method of v that has only text arguments and a name
// of a change. set calls the method with hostile as one of its arguments, and
// "Plain" as the others.
func eachSetter(v reflect.Value, do func(name string, set func(hostile string))) (names int) {
	for i := range v.NumMethod() {
		m := v.Type().Method(i)
		changes := false
		for _, verb := range []string{"Set", "Add", "Append", "Update", "Del"} {
			changes = changes || strings.HasPrefix(m.Name, verb)
		}
		f := v.Method(i)
		for j := range f.Type().NumIn() {
			changes = changes && isText(f.Type().In(j))
		}
		if !changes || f.Type().NumIn() == 0 || f.Type().IsVariadic() {
			continue
		}
		for hostileAt := range f.Type().NumIn() {
			names++
			do(m.Name, func(hostile string) {
				args := make([]reflect.Value, f.Type().NumIn())
				for j := range args {
					text := "Plain"
					if j == hostileAt {
						text = hostile
					}
					args[j] = reflect.ValueOf(text).Convert(f.Type().In(j))
				}
				f.Call(args)
			})
		}
	}
	return names
}

func isText(t reflect.Type) bool {
	return t.Kind() == reflect.String || t == reflect.TypeFor[[]byte]()
}

// checkLines fails the test if a head, or other text with lines that end in CRLF,
// has an injected line or a stray line break.
func checkLines(t *testing.T, what, text string) {
	t.Helper()
	for i, line := range strings.Split(text, "\r\n") {
		if strings.HasPrefix(line, "Injected") {
			t.Errorf("%s: a line was injected: %q", what, clipped(text))
		}
		if strings.ContainsAny(line, "\r\n\x00") {
			t.Errorf("%s: a stray line break or NUL: %q", what, clipped(text))
		}
		if i > 0 && (strings.HasPrefix(line, " ") || strings.HasPrefix(line, "\t")) {
			t.Errorf("%s: a folded line: %q", what, clipped(text))
		}
	}
	if n := strings.Count(text, "\r\n\r\n"); n != 1 || !strings.HasSuffix(text, "\r\n\r\n") {
		t.Errorf("%s: %d empty lines: %q", what, n, clipped(text))
	}
}

func clipped(s string) string {
	if len(s) > 300 {
		return s[:300] + "..."
	}
	return s
}

func TestRequestHeaderSettersInjectNothing(t *testing.T) {
	servertest.WithoutGoroutines(t)
	t.Parallel()
	names := eachSetter(reflect.ValueOf(new(RequestHeader)), func(string, func(string)) {})
	if names < 40 {
		t.Fatalf("only %d arguments of setters were found", names)
	}
	for _, hostile := range hostileTexts {
		for i := range names {
			h := new(RequestHeader)
			h.SetHost("host")
			at, name := 0, ""
			eachSetter(reflect.ValueOf(h), func(n string, set func(string)) {
				if at == i {
					name = n
					set(hostile)
				}
				at++
			})
			text := h.String()
			checkLines(t, name, text)
			in := bufio.NewReader(strings.NewReader(text))
			req, err := http.ReadRequest(in)
			if err != nil {
				continue // a refused text injects nothing
			}
			if _, there := req.Header["Injected"]; there {
				t.Errorf("%s(%q): net/http reads an injected field from %q", name, hostile, clipped(text))
			}
			if rest, _ := io.ReadAll(in); len(rest) > 0 {
				t.Errorf("%s(%q): %q is left after the request", name, hostile, rest)
			}
		}
	}
}

func TestResponseHeaderSettersInjectNothing(t *testing.T) {
	servertest.WithoutGoroutines(t)
	t.Parallel()
	names := eachSetter(reflect.ValueOf(new(ResponseHeader)), func(string, func(string)) {})
	if names < 30 {
		t.Fatalf("only %d arguments of setters were found", names)
	}
	for _, hostile := range hostileTexts {
		for i := range names {
			h := new(ResponseHeader)
			at, name := 0, ""
			eachSetter(reflect.ValueOf(h), func(n string, set func(string)) {
				if at == i {
					name = n
					set(hostile)
				}
				at++
			})
			checkResponseHead(t, name, hostile, h)
		}
	}
}

func checkResponseHead(t *testing.T, name, hostile string, h *ResponseHeader) {
	t.Helper()
	text := h.String()
	checkLines(t, name, text)
	resp, err := http.ReadResponse(bufio.NewReader(strings.NewReader(text)), nil)
	if err != nil {
		return
	}
	if _, there := resp.Header["Injected"]; there {
		t.Errorf("%s(%q): net/http reads an injected field from %q", name, hostile, clipped(text))
	}
	if n, _ := io.Copy(io.Discard, resp.Body); n > 0 {
		t.Errorf("%s(%q): %d bytes are left after the head", name, hostile, n)
	}
}

func TestResponseCookiesInjectNothing(t *testing.T) {
	names := eachSetter(reflect.ValueOf(new(Cookie)), func(string, func(string)) {})
	for _, hostile := range hostileTexts {
		for i := range names {
			c := new(Cookie)
			c.SetKey("key")
			c.SetValue("value")
			at, name := 0, ""
			eachSetter(reflect.ValueOf(c), func(n string, set func(string)) {
				if at == i {
					name = n
					set(hostile)
				}
				at++
			})
			h := new(ResponseHeader)
			h.SetCookie(c)
			checkResponseHead(t, "Cookie."+name, hostile, h)
		}
	}
}

// Each well-known name has its own storage, and all of it must be clean.
func TestHeaderSetOfEveryKnownNameInjectsNothing(t *testing.T) {
	servertest.WithoutGoroutines(t)
	t.Parallel()
	for id := field.Accept; id <= field.XRequestedWith; id++ {
		for _, hostile := range hostileTexts {
			forBothHeaders(t, func(t *testing.T, h anyHeader) {
				h.Set(id.String(), hostile)
				h.Add(id.String(), hostile)
				checkLines(t, id.String(), h.String())
			})
		}
	}
}

func TestHeaderWithoutSpecialFieldsInjectsNothing(t *testing.T) {
	for _, hostile := range hostileTexts {
		h := new(RequestHeader)
		h.DisableSpecialHeader()
		for _, name := range []string{"Host", "Content-Type", "Content-Length", "Cookie", "Connection", "Trailer", "Transfer-Encoding", "User-Agent"} {
			h.Set(name, hostile)
			h.Add(name, hostile)
		}
		checkLines(t, "without special fields", h.String())
	}
}

func TestTrailerSectionInjectsNothing(t *testing.T) {
	for _, hostile := range hostileTexts {
		forBothHeaders(t, func(t *testing.T, h anyHeader) {
			_ = h.SetTrailer("Sum")
			_ = h.AddTrailer(hostile)
			h.Set("Sum", hostile)
			h.Add("Sum", hostile)
			checkLines(t, "trailers", string(h.TrailerHeader()))
		})
		resp := new(Response)
		_ = resp.Header.SetTrailer("Sum")
		resp.Header.Set("Sum", hostile)
		resp.SetBodyString("body")
		in := bufio.NewReader(strings.NewReader(resp.String()))
		got, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(got.Body)
		if err != nil || string(body) != "body" {
			t.Errorf("%q: body %q, %v", hostile, body, err)
		}
		if _, there := got.Trailer["Injected"]; there || len(got.Trailer["Sum"]) != 1 {
			t.Errorf("%q: trailers %q", hostile, got.Trailer)
		}
		if rest, _ := io.ReadAll(in); len(rest) > 0 {
			t.Errorf("%q: %q is left after the response", hostile, rest)
		}
	}
}

// The URI of a request supplies its request line, its Host and its Authorization.
func TestRequestURISettersInjectNothing(t *testing.T) {
	targets := func(req *Request) map[string]reflect.Value {
		return map[string]reflect.Value{
			"Request": reflect.ValueOf(req), "URI": reflect.ValueOf(req.URI()),
			"QueryArgs": reflect.ValueOf(req.URI().QueryArgs()), "PostArgs": reflect.ValueOf(req.PostArgs()),
		}
	}
	for kind, v := range targets(new(Request)) {
		names := eachSetter(v, func(string, func(string)) {})
		if names == 0 {
			t.Fatalf("no setters of %s were found", kind)
		}
		for _, hostile := range hostileTexts {
			for i := range names {
				req := new(Request)
				req.SetRequestURI("http://host/path?a=b")
				at, name := 0, ""
				eachSetter(targets(req)[kind], func(n string, set func(string)) {
					if at == i {
						name = kind + "." + n
						set(hostile)
					}
					at++
				})
				var out bytes.Buffer
				if _, err := req.WriteTo(&out); err != nil {
					continue
				}
				head, _, _ := strings.Cut(out.String(), "\r\n\r\n")
				checkLines(t, name, head+"\r\n\r\n")
			}
		}
	}
}
