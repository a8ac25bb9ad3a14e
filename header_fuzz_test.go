package fasthttp

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/valyala/fasthttp/internal/field"
)

func FuzzRequestHeaderRead(f *testing.F) {
	for _, s := range []string{
		typicalRequestHead, "GET / HTTP/1.1\r\nHost: h\r\n\r\nrest", "POST /p HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\nConnection: close, x\r\n\r\nhello",
		"GET / HTTP/1.0\r\n\r\n", "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", "\r\n\r\nPUT http://h/p HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nTrailer: A, b\r\nA: 1\r\n\r\n",
		"CONNECT h:1 HTTP/1.1\r\nHost: h:1\r\nCookie: a=b; c\r\nCookie: d=\"e\"\r\n\r\n", "OPTIONS * HTTP/1.9\r\nHost:\r\nCookie:\r\nFoo:\t \r\n\r\n",
		"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 007\r\nContent-Type: a\r\ncontent-type: b\r\nuser-agent:\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nContent-Length: 1\r\nExpect: 100-continue\r\n\r\n",
	} {
		f.Add([]byte(s), false)
		f.Add([]byte(s), true)
	}
	f.Fuzz(func(t *testing.T, data []byte, keepNames bool) {
		fuzzHeaderRead(t, data, func() anyHeader {
			h := new(RequestHeader)
			if keepNames {
				h.DisableNormalizing()
			}
			return h
		})
	})
}

func FuzzResponseHeaderRead(f *testing.F) {
	for _, s := range []string{
		typicalResponseHead, "HTTP/1.1 200 OK\r\n\r\n", "HTTP/1.0 404\r\nContent-Length: 5\r\n\r\nhello", "HTTP/1.1 304 \r\nContent-Length: 5\r\n\r\n",
		"HTTP/1.1 200 a\tb\xff\r\nFoo: a\r\n b\r\n\tc\r\nSet-Cookie: a=b\r\nset-cookie:\r\n\r\n", "HTTP/1.1 101 X\nConnection: Upgrade\n\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\nTrailer: x\r\n\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: identity\r\n\r\n",
		"HTTP/1.1 200 OK\r\nServer:\r\nContent-Encoding: \r\nContent-Type:\r\nDate: d\r\nDate: e\r\nConnection: a\r\nConnection: close\r\n\r\n",
	} {
		f.Add([]byte(s), false)
		f.Add([]byte(s), true)
	}
	f.Fuzz(func(t *testing.T, data []byte, keepNames bool) {
		fuzzHeaderRead(t, data, func() anyHeader {
			h := new(ResponseHeader)
			if keepNames {
				h.DisableNormalizing()
			}
			return h
		})
	})
}

// fuzzHeaderRead checks that a head gives the same result however it arrives, that
// the reader takes no byte after it, and that it is the same after it was written
// and read again.
func fuzzHeaderRead(t *testing.T, data []byte, newHeader func() anyHeader) {
	whole, pieces := newHeader(), newHeader()
	in := bufio.NewReaderSize(bytes.NewReader(data), 1<<20)
	err := whole.Read(in)
	inPieces := bufio.NewReaderSize(iotest.OneByteReader(bytes.NewReader(data)), 16)
	errPieces := pieces.Read(inPieces)
	if (err == nil) != (errPieces == nil) {
		t.Fatalf("%q: %v, byte for byte %v", data, err, errPieces)
	}
	if err != nil {
		return
	}
	rest, _ := io.ReadAll(in)
	restPieces, _ := io.ReadAll(inPieces)
	if !bytes.Equal(rest, restPieces) {
		t.Fatalf("%q: %q is left, byte for byte %q", data, rest, restPieces)
	}
	if !bytes.HasSuffix(data, rest) || len(rest) == len(data) {
		t.Fatalf("%q: %q is left", data, rest)
	}
	if written(whole) != written(pieces) || listed(whole.All()) != listed(pieces.All()) {
		t.Fatalf("%q: %s, byte for byte %s", data, written(whole), written(pieces))
	}
	if h, ok := whole.(*RequestHeader); ok {
		checkRawHeaders(t, h)
		if len(h.Host()) == 0 && h.IsHTTP11() {
			return // the client sends it with the host of its URI, or not at all
		}
	}
	again := newHeader()
	if err := again.Read(bufio.NewReader(strings.NewReader(whole.String()))); err != nil {
		// the fields that are always written may make a head too large
		if _, small := errors.AsType[*ErrSmallBuffer](err); small {
			return
		}
		t.Fatalf("%q: read again from %q: %v", data, whole.String(), err)
	}
	if got, want := withoutEnds(written(again)), withoutEnds(written(whole)); got != want {
		t.Fatalf("%q: %s, read again %s", data, want, got)
	}
	if again.ConnectionClose() != whole.ConnectionClose() || again.IsHTTP11() != whole.IsHTTP11() || string(again.Protocol()) != string(whole.Protocol()) {
		t.Fatalf("%q: close %v, read again %v", data, whole.ConnectionClose(), again.ConnectionClose())
	}
}

// withoutEnds trims the values: a quoted cookie may end in white space.
func withoutEnds(lines string) string {
	fields := strings.Split(lines, "|")
	for i, f := range fields {
		fields[i] = strings.TrimRight(f, " \t")
	}
	return strings.Join(fields, "|")
}

func checkRawHeaders(t *testing.T, h *RequestHeader) {
	var came field.List
	for name, value := range h.AllInOrder() {
		came.Add(string(name), string(value))
	}
	if n := bytes.Count(h.RawHeaders(), []byte("\n")); n != came.Len()+1 && n+came.Len() > 0 {
		t.Fatalf("%d fields in %q", came.Len(), h.RawHeaders())
	}
}

// pair is a field of the model in FuzzHeaderOps.
type pair struct{ name, value string }

// headerModel is a header as a plain list.
type headerModel struct {
	fields  []pair
	special []pair // in the order of All
	cookies []pair
	closing bool
	request bool
}

func newHeaderModel(request bool) *headerModel {
	m := &headerModel{request: request}
	names := []string{"Content-Type", "Content-Encoding", "Server"}
	if request {
		names = []string{"Host", "Content-Type", "User-Agent"}
	}
	for _, name := range names {
		m.special = append(m.special, pair{name: name})
	}
	return m
}

func (m *headerModel) slot(name string) *pair {
	for i := range m.special {
		if m.special[i].name == name {
			return &m.special[i]
		}
	}
	return nil
}

func (m *headerModel) set(name, value string) {
	if s := m.slot(name); s != nil {
		s.value = value
		return
	}
	i := slices.IndexFunc(m.fields, func(p pair) bool { return p.name == name })
	if i < 0 {
		m.add(name, value)
		return
	}
	m.fields[i].value = value
	head, tail := m.fields[:i+1:i+1], slices.DeleteFunc(slices.Clone(m.fields[i+1:]), func(p pair) bool { return p.name == name })
	m.fields = append(head, tail...)
}

func (m *headerModel) add(name, value string) {
	if s := m.slot(name); s != nil {
		s.value = value
		return
	}
	m.fields = append(m.fields, pair{name, value})
}

func (m *headerModel) del(name string) {
	if s := m.slot(name); s != nil {
		s.value = ""
		return
	}
	m.fields = slices.DeleteFunc(m.fields, func(p pair) bool { return p.name == name })
}

func (m *headerModel) setCookie(name, value string) {
	if i := slices.IndexFunc(m.cookies, func(p pair) bool { return p.name == name }); i >= 0 {
		m.cookies[i].value = value
		return
	}
	m.cookies = append(m.cookies, pair{name, value})
}

// listed returns the expected result of listed(All()).
func (m *headerModel) listed() string {
	var lines []string
	for _, p := range m.special {
		if p.value != "" {
			lines = append(lines, p.name+": "+p.value)
		}
	}
	var cookies []string
	for _, p := range m.cookies {
		cookies = append(cookies, p.name+"="+p.value)
	}
	if m.request && len(cookies) > 0 {
		lines = append(lines, "Cookie: "+strings.Join(cookies, "; "))
	}
	for _, p := range m.fields {
		lines = append(lines, p.name+": "+p.value)
	}
	if m.closing {
		lines = append(lines, "Connection: close")
	}
	return strings.Join(lines, "|")
}

var (
	opsNames   = []string{"foo", "FOO-bar", "x-long-name-of-a-field", "Accept", "Location", "A", "host", "Content-TYPE", "user-agent", "server", "content-encoding"}
	opsCookies = []string{"a", "session", "C"}
)

// FuzzHeaderOps applies the operations in data to a header and to a list of pairs.
func FuzzHeaderOps(f *testing.F) {
	f.Add([]byte("\x00\x00\x01\x05hello\x01\x00\x01\x05world\x02\x00\x03\x00\x02hi\x04\x01\x01\x03abc"))
	f.Add([]byte("\x01\x01\x10\x04aaaa\x01\x01\x01\x01b\x00\x01\x01\x03new\x06\x00\x07\x00\x08\x00\x00\x06\x01\x04name\x00\x07\x01\x02ct"))
	f.Add(bytes.Repeat([]byte("\x00\x03\x3f\x10vvvvvvvvvvvvvvvv\x03\x03\x01\x04\x3f\x08wwwwwwww\x02\x04"), 12))
	f.Add(bytes.Repeat([]byte("\x04\x01\x3f\x08cccccccc\x05\x00\x09\x00\x03\x06\x00\x06\x3f\x08hostname"), 12))
	f.Fuzz(func(t *testing.T, data []byte) {
		data = data[:min(len(data), 1024)]
		runHeaderOps(t, new(RequestHeader), newHeaderModel(true), data)
		h := new(ResponseHeader)
		h.SetNoDefaultContentType(true)
		runHeaderOps(t, h, newHeaderModel(false), data)
	})
}

// kept is a slice that was peeked, and the text that it must show until its field
// changes.
type kept struct {
	name  string
	slice []byte
	text  string
}

// opReader reads operations and their arguments from fuzzing data.
type opReader struct{ data []byte }

func (r *opReader) next() int {
	if len(r.data) == 0 {
		return 0
	}
	b := r.data[0]
	r.data = r.data[1:]
	return int(b)
}

func (r *opReader) text() string {
	times, n := r.next()%64, r.next()%32
	s := r.data[:min(n, len(r.data))]
	r.data = r.data[len(s):]
	// other tests check the sanitiser
	return strings.Repeat(strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' || r == ';' {
			return '.'
		}
		return r
	}, string(s)), times)
}

// headerPair is a header and the list that it must be equal to.
type headerPair struct {
	h    anyHeader
	m    *headerModel
	kept []kept
}

// forget drops the slices of a field that changes, or all slices if the name is
// empty.
func (p *headerPair) forget(name string) {
	p.kept = slices.DeleteFunc(p.kept, func(k kept) bool { return name == "" || k.name == name })
}

func normalName(raw string) string { return string(AppendNormalizedHeaderKey(nil, raw)) }

// do applies one operation to both.
func (p *headerPair) do(op int, raw string, in *opReader) {
	name := normalName(raw)
	switch op {
	case 0:
		value := in.text()
		p.forget(name)
		p.h.Set(raw, value)
		p.m.set(name, value)
	case 1:
		value := in.text()
		p.forget(name)
		p.h.Add(raw, value)
		p.m.add(name, value)
	case 2:
		p.forget(name)
		p.h.Del(raw)
		p.m.del(name)
	case 3:
		if v := p.h.Peek(raw); len(v) > 0 {
			p.kept = append(p.kept, kept{name, v, string(v)})
		}
	case 4:
		cookie, value := opsCookies[in.next()%len(opsCookies)], in.text()
		if h, ok := p.h.(*RequestHeader); ok {
			h.SetCookie(cookie, value)
			p.m.setCookie(cookie, value)
		}
	case 5:
		cookie := opsCookies[in.next()%len(opsCookies)]
		if h, ok := p.h.(*RequestHeader); ok {
			h.DelCookie(cookie)
			p.m.cookies = slices.DeleteFunc(p.m.cookies, func(c pair) bool { return c.name == cookie })
		}
	case 6:
		p.h.SetConnectionClose()
		p.m.closing = true
	case 7:
		p.h.ResetConnectionClose()
		p.m.closing = false
	case 8:
		p.forget("")
		p.h = copyHeader(p.h)
	case 9:
		// a field gets the value of another one, which is in the same block
		value := p.h.Peek(raw)
		p.forget("From-Another")
		p.h.SetBytesV("From-Another", value)
		p.m.set("From-Another", string(value))
	}
}

func runHeaderOps(t *testing.T, h anyHeader, m *headerModel, data []byte) {
	p := &headerPair{h: h, m: m}
	for in := (&opReader{data}); len(in.data) > 0; {
		op, raw := in.next()%10, opsNames[in.next()%len(opsNames)]
		p.do(op, raw, in)
		if got, want := listed(p.h.All()), m.listed(); got != want {
			t.Fatalf("operation %d on %s: %q, want %q", op, raw, got, want)
		}
	}
	for _, k := range p.kept {
		if string(k.slice) != k.text {
			t.Fatalf("a slice of %s was %q and is %q", k.name, k.text, k.slice)
		}
	}
	for _, raw := range append(opsNames, "From-Another") {
		var want []string
		if s := m.slot(normalName(raw)); s != nil && s.value != "" {
			want = append(want, s.value)
		}
		for _, f := range m.fields {
			if f.name == normalName(raw) {
				want = append(want, f.value)
			}
		}
		if got := texts(p.h.PeekAll(raw)); got != strings.Join(want, "|") {
			t.Fatalf("all of %s: %q, want %q", raw, got, want)
		}
	}
}
