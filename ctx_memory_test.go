package fasthttp

import (
	"bufio"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/valyala/fasthttp/internal/engine"
	"github.com/valyala/fasthttp/internal/header"
	"github.com/valyala/fasthttp/internal/servertest"
)

// memoryOf returns how many bytes v refers to, including the spare capacity of slices. It
// excludes the parts that a context shares with others: its server and its connection.
func memoryOf(v reflect.Value, seen map[uintptr]bool) (size uintptr) {
	switch v.Kind() {
	case reflect.Pointer:
		switch v.Type().Elem() {
		case reflect.TypeFor[Server](), reflect.TypeFor[engine.Conn](), reflect.TypeFor[engine.Set]():
			return 0
		}
		if v.IsNil() || seen[v.Pointer()] {
			return 0
		}
		seen[v.Pointer()] = true
		return v.Type().Elem().Size() + memoryOf(v.Elem(), seen)
	case reflect.Interface:
		if v.IsNil() {
			return 0
		}
		return memoryOf(v.Elem(), seen)
	case reflect.Slice:
		if v.IsNil() || seen[v.Pointer()] {
			return 0
		}
		seen[v.Pointer()] = true
		size = uintptr(v.Cap()) * v.Type().Elem().Size()
		for i := range v.Len() {
			size += memoryOf(v.Index(i), seen)
		}
	case reflect.Array:
		for i := range v.Len() {
			size += memoryOf(v.Index(i), seen)
		}
	case reflect.String:
		size = uintptr(v.Len())
	case reflect.Map:
		for _, key := range v.MapKeys() {
			size += memoryOf(key, seen) + memoryOf(v.MapIndex(key), seen)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			size += memoryOf(v.Field(i), seen)
		}
	}
	return size
}

// A context releases all memory that grew for a request before it waits, on an idle connection
// or in a pool, for the next one.
func TestContextsKeepLittleOfALargeRequest(t *testing.T) {
	servertest.WithoutGoroutines(t)
	const most = 64 << 10
	fields := counted("X-%d: a\r\n")(400 << 10)
	pairs := strings.Repeat("a&", 200<<10)
	post := func(contentType, body string) string {
		return fmt.Sprintf("POST / HTTP/1.1\r\nHost: h\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s", contentType, len(body), body)
	}
	for name, text := range map[string]string{
		"fields":      "GET / HTTP/1.1\r\nHost: h\r\n" + fields + "\r\n",
		"one field":   "GET / HTTP/1.1\r\nHost: h\r\nX: " + strings.Repeat("a", 400<<10) + "\r\n\r\n",
		"cookies":     "GET / HTTP/1.1\r\nHost: h\r\nCookie: " + counted("c%d=1; ")(400<<10) + "\r\n\r\n",
		"a query":     "GET /?" + pairs + " HTTP/1.1\r\nHost: h\r\n\r\n",
		"a path":      "GET /" + strings.Repeat("%41", 200<<10) + " HTTP/1.1\r\nHost: h\r\n\r\n",
		"a body":      post("text/plain", strings.Repeat("a", 2<<20)),
		"arguments":   post("application/x-www-form-urlencoded", strings.Repeat("a&", maxFormArgs-1)),
		"an argument": post("application/x-www-form-urlencoded", strings.Repeat("a", 2<<20)),
		"parts":       post("multipart/form-data; boundary=b", strings.Repeat("--b\r\nContent-Disposition: form-data; name=a\r\n\r\n\r\n", 900)+"--b--\r\n"),
		"a part":      post("multipart/form-data; boundary=b", "--b\r\nContent-Disposition: form-data; name=a; filename=b\r\n\r\n"+strings.Repeat("a", 2<<20)+"\r\n--b--\r\n"),
	} {
		s := &Server{}
		s.prepare()
		ctx := s.acquireCtx(&engine.Conn{Set: &s.conns, Service: s.conns.Service()})
		for _, h := range []*header.Header{&ctx.Request.Header.head, &ctx.Response.Header.head} {
			h.Shrink()
		}
		if err := ctx.Request.Read(bufio.NewReaderSize(strings.NewReader(text), 4<<20)); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		ctx.FormValue("none")
		ctx.QueryArgs().QueryString()
		ctx.PostArgs().QueryString()
		ctx.Request.Header.Cookie("none")
		_, _ = ctx.URI().FullURI(), ctx.Request.String()
		ctx.Request.CopyTo(new(Request))
		for key, value := range ctx.Request.Header.All() {
			ctx.Response.Header.AddBytesKV(key, value)
		}
		grown := memoryOf(reflect.ValueOf(ctx), make(map[uintptr]bool))
		if !s.cleanCtx(ctx) {
			t.Fatal("the context is not used again")
		}
		if kept := memoryOf(reflect.ValueOf(ctx), make(map[uintptr]bool)); kept > most || grown < most {
			t.Errorf("%s: %d bytes of %d are kept, want %d at most", name, kept, grown, most)
		}
	}
}
