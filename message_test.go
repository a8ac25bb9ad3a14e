package fasthttp

import (
	"bufio"
	"bytes"
	"fmt"
	"github.com/valyala/fasthttp/internal/header"
	"github.com/valyala/fasthttp/internal/servertest"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/textproto"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// randomMessages makes messages on which net/http and this package must agree.
type randomMessages struct{ *rand.Rand }

func newRandomMessages(seed uint64) randomMessages {
	return randomMessages{rand.New(rand.NewPCG(seed, 1))}
}

func (r randomMessages) pick(from ...string) string { return from[r.IntN(len(from))] }

func (r randomMessages) text(alphabet string, most int) string {
	var b strings.Builder
	for range r.IntN(most + 1) {
		b.WriteByte(alphabet[r.IntN(len(alphabet))])
	}
	return b.String()
}

const (
	tokenBytes = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!#$%&'*+-.^_`|~"
	valueBytes = "abcdefghijklmnopqrstuvwxyz \t,;=\"()<>@:\\/[]?{}0123456789\x80\xff"
)

// fields returns random fields without a meaning to either package.
func (r randomMessages) fields() (fields []pair) {
	for range r.IntN(12) {
		name := r.pick("Accept", "X-One", "x-two", "LOCATION", "Vary", "Etag", "Z-"+r.text("abcXYZ019-_", 20), "T"+r.text(tokenBytes, 5))
		fields = append(fields, pair{name, strings.Trim(r.text(valueBytes, 60), " \t")})
	}
	return fields
}

func (r randomMessages) body() string {
	return r.text("0123456789abcdef\r\n\x00\xff", []int{0, 1, 10, 5000, 70_000}[r.IntN(5)])
}

func asHeader(fields []pair) http.Header {
	h := http.Header{}
	for _, f := range fields {
		name := string(AppendNormalizedHeaderKey(nil, f.name))
		h[name] = append(h[name], f.value)
	}
	return h
}

// headerOf returns the fields of h without the fields of framing and routing. The names are
// normalised.
func headerOf(h anyHeader) http.Header {
	all := http.Header{}
	for name, value := range h.All() {
		all[string(name)] = append(all[string(name)], string(value))
	}
	withoutFraming(all)
	return all
}

func withoutFraming(h http.Header) {
	for _, name := range []string{"Host", "Content-Length", "Transfer-Encoding", "Connection", "Trailer", "Date", "User-Agent", "Content-Type"} {
		delete(h, name)
	}
}

// renamed returns h with normalised names. net/http keeps some names as they
// arrived.
func renamed(h http.Header) http.Header {
	all := http.Header{}
	for name, values := range h {
		normal := string(AppendNormalizedHeaderKey(nil, name))
		all[normal] = append(all[normal], values...)
	}
	withoutFraming(all)
	return all
}

func sameHeaders(a, b http.Header) bool {
	return maps.EqualFunc(a, b, func(x, y []string) bool {
		x, y = slices.Clone(x), slices.Clone(y)
		slices.Sort(x)
		slices.Sort(y)
		return slices.Equal(x, y)
	})
}

func TestNetHTTPReadsTheRequestsThatWeWrite(t *testing.T) {
	for seed := range uint64(150) {
		r := newRandomMessages(seed)
		fields, body := r.fields(), r.body()
		req := new(Request)
		req.SetRequestURI("http://" + r.pick("example.com", "a.b:81", "[::1]:8080") + "/" + url.PathEscape(r.text(valueBytes, 20)) + r.pick("", "?a=b&c=%20"))
		req.Header.SetMethod(r.pick("POST", "PUT", "PATCH", "DELETE", "M-SEARCH"))
		for _, f := range fields {
			req.Header.Add(f.name, f.value)
		}
		var trailers []pair
		switch r.IntN(4) {
		case 0:
			req.SetBodyString(body)
		case 1:
			req.SetBodyStream(strings.NewReader(body), len(body))
		case 2:
			req.SetBodyStream(onlyReader{strings.NewReader(body)}, -1)
		case 3:
			trailers = []pair{{"Q-Sum", "1"}, {"Q-Other", "x y"}}
			_ = req.Header.SetTrailer("Q-Sum, Q-Other")
			for _, f := range trailers {
				req.Header.Set(f.name, f.value)
			}
			req.SetBodyString(body)
		}
		closing := r.IntN(3) == 0
		if closing {
			req.SetConnectionClose()
		}
		uri, method := string(req.URI().RequestURI()), string(req.Header.Method())
		text := req.String() + "rest"
		in := bufio.NewReader(strings.NewReader(text))
		got, err := http.ReadRequest(in)
		if err != nil {
			t.Fatalf("seed %d: %v: %s", seed, err, clipped(text))
		}
		gotBody, err := io.ReadAll(got.Body)
		if err != nil || string(gotBody) != body {
			t.Fatalf("seed %d: %v, a body of %d bytes, want %d", seed, err, len(gotBody), len(body))
		}
		if rest, _ := io.ReadAll(in); string(rest) != "rest" {
			t.Fatalf("seed %d: %s is left", seed, clipped(string(rest)))
		}
		if got.Method != method || got.RequestURI != uri || got.Host != string(req.Host()) || got.Close != closing {
			t.Errorf("seed %d: %s %s %s %v", seed, got.Method, got.RequestURI, got.Host, got.Close)
		}
		if want := asHeader(fields); !sameHeaders(renamed(got.Header), want) {
			t.Errorf("seed %d: %q, want %q", seed, got.Header, want)
		}
		if want := asHeader(trailers); !sameHeaders(renamed(got.Trailer), want) {
			t.Errorf("seed %d: trailers %q, want %q", seed, got.Trailer, want)
		}
	}
}

func TestWeReadTheRequestsThatNetHTTPWrites(t *testing.T) {
	t.Parallel()
	for seed := range uint64(servertest.Heavy(150)) {
		r := newRandomMessages(seed)
		fields, body := r.fields(), r.body()
		out, err := http.NewRequest(r.pick("GET", "POST", "PUT", "DELETE"), "http://"+r.pick("example.com", "a.b:81")+"/"+url.PathEscape(r.text(valueBytes, 20))+r.pick("", "?a=b&c=%20"), strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range fields {
			if out.Header.Add(f.name, f.value); strings.ContainsAny(f.value, "\x00") {
				t.Fatal("no such values are made")
			}
		}
		if r.IntN(2) == 0 {
			out.ContentLength = -1
			out.Trailer = http.Header{"Q-Sum": {"1"}, "Q-Other": {"x y"}}
		}
		out.Close = r.IntN(3) == 0
		out.AddCookie(&http.Cookie{Name: "name", Value: "value"})
		var wire bytes.Buffer
		if err := out.Write(&wire); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		for name, in := range inPieces(wire.String() + "rest") {
			var req Request
			if err := req.Read(in); err != nil {
				t.Fatalf("seed %d %s: %v: %s", seed, name, err, clipped(wire.String()))
			}
			if rest, _ := io.ReadAll(in); string(rest) != "rest" {
				t.Fatalf("seed %d %s: %s is left", seed, name, clipped(string(rest)))
			}
			if string(req.Body()) != body || string(req.Header.Method()) != out.Method || string(req.Header.RequestURI()) != out.URL.RequestURI() || string(req.Host()) != out.Host || req.ConnectionClose() != out.Close {
				t.Errorf("seed %d %s: a body of %d bytes, want %d; %s %s %s", seed, name, len(req.Body()), len(body), req.Header.Method(), req.Host(), req.RequestURI())
			}
			if got := string(req.Header.Cookie("name")); got != "value" {
				t.Errorf("seed %d %s: the cookie is %q", seed, name, got)
			}
			got, want := headerOf(&req.Header), renamed(out.Header)
			for name, values := range renamed(out.Trailer) {
				// without content, net/http sends no trailers
				if body != "" && !slices.Equal(values, []string{string(req.Header.Peek(name))}) {
					t.Errorf("seed %d: trailer %s is %q", seed, name, req.Header.Peek(name))
				}
			}
			if !sameHeaders(got, want) {
				t.Errorf("seed %d %s: %q, want %q", seed, name, got, want)
			}
		}
	}
}

func TestNetHTTPReadsTheResponsesThatWeWrite(t *testing.T) {
	for seed := range uint64(150) {
		r := newRandomMessages(seed)
		fields, body := r.fields(), r.body()
		status := []int{200, 201, 204, 206, 301, 304, 404, 500, 599}[r.IntN(9)]
		hasBody := status != 204 && status != 304
		resp := new(Response)
		resp.SetStatusCode(status)
		for _, f := range fields {
			resp.Header.Add(f.name, f.value)
		}
		var trailers []pair
		switch r.IntN(4) {
		case 0:
			resp.SetBodyString(body)
		case 1:
			resp.SetBodyStream(strings.NewReader(body), len(body))
		case 2:
			resp.SetBodyStream(onlyReader{strings.NewReader(body)}, -1)
		case 3:
			if hasBody {
				trailers = []pair{{"Q-Sum", "1"}, {"Q-Other", "x y"}}
				_ = resp.Header.SetTrailer("Q-Sum, Q-Other")
				for _, f := range trailers {
					resp.Header.Set(f.name, f.value)
				}
			}
			resp.SetBodyString(body)
		}
		if !hasBody {
			body = ""
		}
		text := resp.String() + "rest"
		in := bufio.NewReader(strings.NewReader(text))
		got, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Fatalf("seed %d: %v: %s", seed, err, clipped(text))
		}
		gotBody, err := io.ReadAll(got.Body)
		if err != nil || string(gotBody) != body {
			t.Fatalf("seed %d: %v, a body of %d bytes, want %d", seed, err, len(gotBody), len(body))
		}
		if rest, _ := io.ReadAll(in); string(rest) != "rest" {
			t.Fatalf("seed %d: %s is left", seed, clipped(string(rest)))
		}
		if want := fmt.Sprintf("%d %s", status, StatusMessage(status)); got.StatusCode != status || got.Status != want {
			t.Errorf("seed %d: %s, want %s", seed, got.Status, want)
		}
		if want := asHeader(fields); !sameHeaders(renamed(got.Header), want) {
			t.Errorf("seed %d: %q, want %q", seed, got.Header, want)
		}
		if want := asHeader(trailers); !sameHeaders(renamed(got.Trailer), want) {
			t.Errorf("seed %d: trailers %q, want %q", seed, got.Trailer, want)
		}
	}
}

func TestWeReadTheResponsesThatNetHTTPWrites(t *testing.T) {
	t.Parallel()
	for seed := range uint64(servertest.Heavy(150)) {
		r := newRandomMessages(seed)
		fields, body := r.fields(), r.body()
		out := &http.Response{
			StatusCode: []int{200, 201, 204, 304, 404, 500}[r.IntN(6)], ProtoMajor: 1, ProtoMinor: 1,
			Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)),
		}
		if out.StatusCode == 204 || out.StatusCode == 304 {
			body = ""
			out.Body, out.ContentLength = http.NoBody, 0
		}
		for _, f := range fields {
			out.Header.Add(f.name, f.value)
		}
		rest := "rest"
		switch {
		case body == "":
		case r.IntN(3) == 0:
			out.ContentLength = -1
			out.TransferEncoding = []string{"chunked"}
			out.Trailer = http.Header{"Q-Sum": {"1"}}
		case r.IntN(3) == 0:
			out.ProtoMinor, out.ContentLength, rest = 0, -1, "" // framed by the end of the connection
		}
		var wire bytes.Buffer
		if err := out.Write(&wire); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		for name, in := range inPieces(wire.String() + rest) {
			var resp Response
			if err := resp.Read(in); err != nil {
				t.Fatalf("seed %d %s: %v: %s", seed, name, err, clipped(wire.String()))
			}
			if got, _ := io.ReadAll(in); string(got) != rest {
				t.Fatalf("seed %d %s: %s is left", seed, name, clipped(string(got)))
			}
			if string(resp.Body()) != body || resp.StatusCode() != out.StatusCode {
				t.Errorf("seed %d %s: %d, a body of %d bytes, want %d", seed, name, resp.StatusCode(), len(resp.Body()), len(body))
			}
			if out.Trailer != nil && string(resp.Header.Peek("Q-Sum")) != "1" {
				t.Errorf("seed %d %s: trailer %q", seed, name, resp.Header.Peek("Q-Sum"))
			}
			if got, want := headerOf(&resp.Header), renamed(out.Header); !sameHeaders(got, want) {
				t.Errorf("seed %d %s: %q, want %q", seed, name, got, want)
			}
		}
	}
}

func TestNormalNamesAreThoseOfNetHTTP(t *testing.T) {
	for _, name := range []string{"content-type", "X-FORWARDED-FOR", "a-b-c", "etag", "1a", "www-authenticate"} {
		var h RequestHeader
		h.Set(name, "v")
		if got, want := string(h.PeekKeys()[0]), textproto.CanonicalMIMEHeaderKey(name); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

func TestMessagesAreReadAndWrittenWithoutAllocating(t *testing.T) {
	in := strings.NewReader("")
	r := bufio.NewReader(in)
	w := bufio.NewWriter(io.Discard)
	for _, text := range []string{
		typicalRequestHead,
		"POST /p HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nContent-Length: 11\r\n\r\nhello world",
		postChunked + "5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n",
	} {
		var req Request
		checkAllocs(t, clipped(text), func() {
			in.Reset(text)
			r.Reset(in)
			if err := req.Read(r); err != nil {
				t.Fatal(err)
			}
			if err := req.Write(w); err != nil {
				t.Fatal(err)
			}
			if _, err := req.WriteTo(io.Discard); err != nil {
				t.Fatal(err)
			}
		})
	}
	for _, text := range []string{
		okHead + "Content-Type: application/json\r\nContent-Length: 11\r\nSet-Cookie: a=b\r\n\r\nhello world",
		okChunked + "5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n",
		"HTTP/1.1 304 Not Modified\r\nEtag: x\r\n\r\n",
	} {
		var resp Response
		checkAllocs(t, clipped(text), func() {
			in.Reset(text)
			r.Reset(in)
			if err := resp.ReadLimitBody(r, 1000); err != nil {
				t.Fatal(err)
			}
			if err := resp.Write(w); err != nil {
				t.Fatal(err)
			}
			if _, err := resp.WriteTo(io.Discard); err != nil {
				t.Fatal(err)
			}
		})
	}
	var uri Request
	checkAllocs(t, "a request by its URI", func() {
		uri.Reset()
		uri.SetRequestURI("http://example.com/path?a=b")
		uri.Header.SetMethod(MethodPost)
		uri.SetBodyString("hello")
		if err := uri.Write(w); err != nil {
			t.Fatal(err)
		}
	})
	var form Request
	checkAllocs(t, "a form", func() {
		form.Reset()
		form.SetRequestURI("http://example.com/")
		form.Header.SetMethod(MethodPost)
		form.PostArgs().Set("a", "b")
		if err := form.Write(w); err != nil {
			t.Fatal(err)
		}
	})
}

// An unusually large message does not leave its memory to later ones.
func TestReleasedMessagesLetGoOfLargeMemory(t *testing.T) {
	req, resp := AcquireRequest(), AcquireResponse()
	for i := range 2000 {
		req.Header.Add(fmt.Sprint("X-", i), strings.Repeat("v", 100))
		resp.Header.Add(fmt.Sprint("X-", i), strings.Repeat("v", 100))
		req.Header.SetCookie(fmt.Sprint("c", i), strings.Repeat("v", 100))
	}
	req.Header.SetHost("h")
	_, _, _ = req.Header.Peek("Cookie"), req.String(), resp.String()
	ReleaseRequest(req)
	ReleaseResponse(resp)
	for what, h := range map[string]*header.Header{"request": &req.Header.head, "response": &resp.Header.head} {
		size := cap(h.List.Block) + 20*cap(h.List.Entries) + cap(h.Cookies.Block) + 20*cap(h.Cookies.Entries)
		for _, s := range h.Scratch {
			size += cap(s)
		}
		if size > 256<<10 {
			t.Errorf("a released %s holds %d bytes", what, size)
		}
	}
}
