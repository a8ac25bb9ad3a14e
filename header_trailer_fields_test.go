package fasthttp

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/valyala/fasthttp/internal/ascii"
	"github.com/valyala/fasthttp/internal/servertest"
)

// readMessage reads the head and the trailer section of a message.
func readMessage(t *testing.T, h anyHeader, fields, trailers string) {
	t.Helper()
	if err := h.Read(readerOf(startLineOf(h) + "\r\nHost: h\r\nTransfer-Encoding: chunked\r\n" + fields + "\r\n")); err != nil {
		t.Fatal(err)
	}
	if err := h.ReadTrailer(readerOf(trailers + "\r\n")); err != nil {
		t.Fatal(err)
	}
}

// If a front end sets or deletes fields of the header section, it still forwards trailers
// unchanged.
func TestTrailersAreNoFieldsOfTheHeaderSection(t *testing.T) {
	for _, tc := range []struct {
		name             string
		fields, trailers string
		peeked           string // the result of PeekAll("X-A")
		apart            string // the result of PeekTrailerAll("X-A")
		names            string // the value of the Trailer field
	}{
		{"not announced", "", "X-A: t\r\n", "", "t", ""},
		{"not announced, another case", "", "x-a: t\r\nX-A: u\r\n", "", "t|u", ""},
		{"announced", "Trailer: X-A\r\n", "X-A: t\r\nX-A: u\r\n", "t|u", "t|u", "X-A"},
		{"announced, another case", "Trailer: x-a\r\n", "X-a: t\r\n", "t", "t", "X-A"},
		{"another one announced", "Trailer: X-B\r\n", "X-A: t\r\n", "", "t", "X-B"},
		{"in both, not announced", "X-A: h\r\n", "X-A: t\r\n", "h", "t", ""},
		{"in both, announced", "X-A: h\r\nTrailer: X-A\r\nX-A: i\r\n", "X-A: t\r\n", "h|i", "t", "X-A"},
		{"empty in the header section", "X-A:\r\nTrailer: X-A\r\n", "X-A: t\r\n", "", "t", "X-A"},
	} {
		forBothHeaders(t, func(t *testing.T, h anyHeader) {
			for _, keep := range []bool{false, true} {
				if h.Reset(); keep {
					h.DisableNormalizing()
				}
				if err := h.Read(readerOf(startLineOf(h) + "\r\nHost: h\r\nTransfer-Encoding: chunked\r\n" + tc.fields + "\r\n")); err != nil {
					t.Fatal(err)
				}
				before := listed(h.All()) + texts(h.PeekKeys()) + written(h)
				if err := h.ReadTrailer(readerOf(tc.trailers + "\r\n")); err != nil {
					t.Fatal(err)
				}
				if got := listed(h.All()) + texts(h.PeekKeys()) + written(h); got != before {
					t.Errorf("%s: trailers make\n%s\nof\n%s", tc.name, got, before)
				}
				for _, h := range []anyHeader{h, copyHeader(h)} {
					first, _, _ := strings.Cut(tc.peeked, "|")
					if got, peek := texts(h.PeekAll("X-A")), string(h.Peek("x-a")); got != tc.peeked || peek != first {
						t.Errorf("%s: X-A is %q, first %q, want %q", tc.name, got, peek, tc.peeked)
					}
					if got := string(h.PeekCanonical([]byte("X-A"))); !keep && got != first {
						t.Errorf("%s: PeekCanonical returns %q, want %q", tc.name, got, first)
					}
					if got := texts(h.PeekTrailerAll("x-A")); got != tc.apart || !strings.HasPrefix(got, string(h.PeekTrailer("X-a"))) {
						t.Errorf("%s: the trailer X-A is %q, first %q, want %q", tc.name, got, h.PeekTrailer("X-a"), tc.apart)
					}
					if got := string(h.Peek("Trailer")); !strings.EqualFold(got, tc.names) {
						t.Errorf("%s: Trailer is %q, want %q", tc.name, got, tc.names)
					}
					if got := string(h.TrailerHeader()); !strings.EqualFold(got, tc.trailers+"\r\n") {
						t.Errorf("%s: %q is sent after the body, want %q", tc.name, got, tc.trailers)
					}
				}
			}
		})
	}
}

func TestTrailersAreFoundByTheirCalls(t *testing.T) {
	forBothHeaders(t, func(t *testing.T, h anyHeader) {
		if h.PeekTrailer("X-A") != nil || len(h.PeekTrailerAll("X-A")) > 0 || listed(h.TrailerFields()) != "" {
			t.Error("an empty header has trailers")
		}
		readMessage(t, h, "Trailer: X-C, X-A\r\nX-B: h\r\n", "X-B: 1\r\nx-a: 2\r\nX-B: 3\r\nX-D:\r\n")
		if got, want := listed(h.TrailerFields()), "X-B: 1|X-A: 2|X-B: 3|X-D: "; got != want {
			t.Errorf("the fields are %s, want %s", got, want)
		}
		if got, want := trailerNames(h), "X-C|X-A|X-B|X-D"; got != want || texts(h.PeekTrailerKeys()) != want {
			t.Errorf("the names are %s, want %s", got, want)
		}
		if v := h.PeekTrailer("X-D"); v == nil || len(v) > 0 || h.PeekTrailer("X-C") != nil {
			t.Errorf("X-D is %q, X-C %q", v, h.PeekTrailer("X-C"))
		}
		for range h.TrailerFields() {
			break
		}
		for range h.Trailers() {
			break
		}
		// a field is a trailer if its name is announced here
		if err := h.AddTrailer("X-E"); err != nil {
			t.Fatal(err)
		}
		h.Set("X-E", "own")
		if got := listed(h.TrailerFields()); got != "X-E: own|X-B: 1|X-A: 2|X-B: 3|X-D: " || string(h.PeekTrailer("x-e")) != "own" {
			t.Errorf("with its own the fields are %s", got)
		}
		h.Reset()
		if listed(h.TrailerFields()) != "" || trailerNames(h) != "" {
			t.Errorf("after Reset the fields are %s", listed(h.TrailerFields()))
		}
	})
}

// A change to a field changes it in both sections: a deleted or replaced field is not sent.
func TestSetAndDelReachTrailers(t *testing.T) {
	forBothHeaders(t, func(t *testing.T, h anyHeader) {
		for name, change := range map[string]func(){
			"Set":          func() { h.Set("x-a", "new") },
			"SetCanonical": func() { h.SetCanonical([]byte("X-A"), []byte("new")) },
			"Del":          func() { h.Del("X-a") },
		} {
			for _, fields := range []string{"", "Trailer: X-A\r\n", "X-A: h\r\n"} {
				h.Reset()
				readMessage(t, h, fields, "X-A: 1\r\nX-B: 2\r\nX-A: 3\r\n")
				change()
				if got := listed(h.TrailerFields()); got != "X-B: 2" {
					t.Errorf("%s with %q leaves %s", name, fields, got)
				}
				want := "new"
				if name == "Del" {
					want = ""
				}
				if got := texts(h.PeekAll("X-A")); got != want {
					t.Errorf("%s with %q: X-A is %s", name, fields, got)
				}
			}
		}
		// a field of the trailer section never becomes one of the header section,
		// even if the Trailer field is removed
		for _, change := range []func(){
			func() { h.Del("Trailer") },
			func() { _ = h.SetTrailer("") },
			func() { h.Set("Trailer", "X-B") },
		} {
			h.Reset()
			readMessage(t, h, "Trailer: X-A\r\n", "X-A: 1\r\n")
			change()
			if got := listed(h.TrailerFields()); got != "X-A: 1" || h.Peek("X-A") != nil || strings.Contains(written(h), "X-A") {
				t.Errorf("the trailers are %s, the head %s", got, written(h))
			}
		}
	})
}

func TestAddTrailerFieldLeavesTheHeaderSectionAlone(t *testing.T) {
	forBothHeaders(t, func(t *testing.T, h anyHeader) {
		h.Set("X-A", "h")
		if err := h.AnnounceTrailer("x-a, X-B"); err != nil {
			t.Fatal(err)
		}
		if err := h.AddTrailerField("x-a", "t\r\nX: y"); err != nil {
			t.Fatal(err)
		}
		if err := h.AddTrailerFieldBytes([]byte("X-C"), []byte("u")); err != nil {
			t.Fatal(err)
		}
		if got := written(h); got != "X-A: h|Trailer: X-A, X-B" {
			t.Errorf("the head is %s", got)
		}
		if got := string(h.TrailerHeader()); got != "X-A: t  X: y\r\nX-C: u\r\n\r\n" {
			t.Errorf("the trailer section is %q", got)
		}
		for _, name := range []string{"Content-Length", "X-Forwarded-For", "a b", "", "x\r\ny"} {
			checkError(t, name, h.AddTrailerField(name, "x"), ErrBadTrailer)
		}
		checkError(t, "AnnounceTrailer", h.AnnounceTrailer("Host, X-D"), ErrBadTrailer)
		if got := string(h.Peek("Trailer")); got != "X-A, X-B, X-D" {
			t.Errorf("Trailer is %q", got)
		}
		// AddTrailer precedes AnnounceTrailer, which precedes the names that a peer
		// announced
		_ = h.AddTrailer("X-A")
		_ = h.AnnounceTrailer("X-A")
		if got := written(h); got != "Trailer: X-A, X-B, X-D" {
			t.Errorf("with AddTrailer the head is %s", got)
		}
	})
}

// Added trailers follow the body, however trailers are announced and whatever the length of
// the body. HTTP/1.0 has no trailers.
func TestTrailerFieldsAreSent(t *testing.T) {
	bodies := map[string]func(req *Request, resp *Response){
		"bytes": func(req *Request, resp *Response) { req.SetBodyString("hello"); resp.SetBodyString("hello") },
		"stream": func(req *Request, resp *Response) {
			req.SetBodyStream(strings.NewReader("hello"), -1)
			resp.SetBodyStream(strings.NewReader("hello"), -1)
		},
		"sized stream": func(req *Request, resp *Response) {
			req.SetBodyStream(strings.NewReader("hello"), 5)
			resp.SetBodyStream(strings.NewReader("hello"), 5)
		},
	}
	for name, setBody := range bodies {
		var req Request
		var resp Response
		req.Header.SetMethod("POST")
		req.SetRequestURI("http://h/")
		setBody(&req, &resp)
		for _, h := range []anyHeader{&req.Header, &resp.Header} {
			h.Set("X-A", "h")
			if err := h.AddTrailerField("X-A", "t"); err != nil {
				t.Fatal(err)
			}
		}
		got, err := http.ReadRequest(readerOf(req.String()))
		if err != nil {
			t.Fatal(err)
		}
		answer, err := http.ReadResponse(readerOf(resp.String()), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range []struct {
			body            io.Reader
			header, trailer *http.Header
		}{{got.Body, &got.Header, &got.Trailer}, {answer.Body, &answer.Header, &answer.Trailer}} {
			body, err := io.ReadAll(m.body)
			if string(body) != "hello" || err != nil || fmt.Sprint((*m.header)["X-A"], *m.trailer) != "[h] map[X-A:[t]]" {
				t.Errorf("%s: %q, %v, X-A %q, trailers %q", name, body, err, (*m.header)["X-A"], *m.trailer)
			}
		}
	}
	var req Request
	req.Header.SetMethod("POST")
	req.Header.SetProtocol("HTTP/1.0")
	req.SetRequestURI("http://h/")
	req.SetBodyString("hello")
	_ = req.Header.AddTrailerField("X-A", "t")
	if got := req.String(); strings.Contains(got, "X-A") || !strings.HasSuffix(got, "\r\n\r\nhello") {
		t.Errorf("with HTTP/1.0 it is %q", got)
	}
}

// A proxy that forwards a copy of a received message forwards its trailers.
func TestCopiesPassTrailersOn(t *testing.T) {
	const tail = "\r\nTransfer-Encoding: chunked\r\nTrailer: X-A\r\nX-A: h\r\n\r\n5\r\nhello\r\n0\r\nX-A: t\r\nX-B: u\r\n\r\n"
	var req, outReq Request
	if err := req.Read(readerOf("POST / HTTP/1.1\r\nHost: h" + tail)); err != nil {
		t.Fatal(err)
	}
	req.CopyTo(&outReq)
	got, err := http.ReadRequest(readerOf(outReq.String()))
	if err != nil {
		t.Fatal(err)
	}
	announced := fmt.Sprint(got.Trailer)
	if body, err := io.ReadAll(got.Body); string(body) != "hello" || err != nil || announced != "map[X-A:[]]" ||
		fmt.Sprint(got.Header["X-A"], got.Trailer) != "[h] map[X-A:[t] X-B:[u]]" {
		t.Errorf("the request has %q, %v, X-A %q, trailers %s, then %q", body, err, got.Header["X-A"], announced, got.Trailer)
	}

	var resp, outResp Response
	if err := resp.Read(readerOf("HTTP/1.1 200 OK" + tail)); err != nil {
		t.Fatal(err)
	}
	resp.CopyTo(&outResp)
	answer, err := http.ReadResponse(readerOf(outResp.String()), nil)
	if err != nil {
		t.Fatal(err)
	}
	if body, err := io.ReadAll(answer.Body); string(body) != "hello" || err != nil ||
		fmt.Sprint(answer.Header["X-A"], answer.Trailer) != "[h] map[X-A:[t] X-B:[u]]" {
		t.Errorf("the response has %q, %v, X-A %q, trailers %q", body, err, answer.Header["X-A"], answer.Trailer)
	}
}

// A server sends no trailers to an HTTP/1.0 client, neither as trailers nor in the header
// section.
func TestTrailersOfAnotherServerForHTTP10(t *testing.T) {
	forEachEngine(t, func(t *testing.T, start starter) {
		ts := start(&Server{Handler: func(ctx *RequestCtx) {
			_ = ctx.Response.Read(readerOf("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-A\r\n\r\n5\r\nhello\r\n0\r\nX-A: t\r\n\r\n"))
		}})
		c := ts.Dial()
		c.Get("/")
		if resp := c.Expect(200, "hello"); resp.Trailer.Get("X-A") != "t" {
			t.Errorf("the trailers are %v", resp.Trailer)
		}
		c.Send(servertest.Head("GET / HTTP/1.0", "Connection: keep-alive"))
		if resp := c.Expect(200, "hello"); resp.Header.Get("X-A") != "" || resp.Header.Get("Trailer") != "" || resp.ContentLength != 5 {
			t.Errorf("HTTP/1.0 got %+v", resp.Response)
		}
	})
}

// spoofed are fields in which front ends name the client.
var spoofed = []string{"X-Auth-User", "X-Real-IP", "X-Forwarded-For", "Forwarded", "X_Forwarded_For", "x_real_ip", "Authorization", "Cookie", "X-User-Id"}

func TestServerRefusesTrailersThatAFrontEndSets(t *testing.T) {
	t.Parallel()
	forEachEngine(t, func(t *testing.T, start starter) {
		for _, keep := range []bool{false, true} {
			ts := start(&Server{Handler: echo, DisableHeaderNamesNormalizing: keep})
			for _, name := range spoofed {
				for _, fields := range [][]string{nil, {"Trailer: " + name}, {name + ": right"}} {
					c := ts.Dial()
					c.Send(servertest.Chunked("/", "1\r\nx\r\n0\r\nX-Sum: 1\r\n"+name+": evil\r\n\r\n", fields...) + servertest.Get("/2"))
					if resp := c.Next("POST"); resp.StatusCode != 400 || !resp.Close {
						t.Errorf("%s with %q: got %d", name, fields, resp.StatusCode)
					}
					c.ExpectCut()
				}
			}
		}
	})
}

// If the body is a stream, reading it fails, and the connection ends.
func TestServerRefusesTrailersOfStreams(t *testing.T) {
	forEachEngine(t, func(t *testing.T, start starter) {
		ts := start(&Server{StreamRequestBody: true, Handler: func(ctx *RequestCtx) {
			body, err := io.ReadAll(ctx.RequestBodyStream())
			h := &ctx.Request.Header
			fmt.Fprintf(ctx, "%s %v %q %q %q", body, err, h.Peek("X-Real-Ip"), h.PeekTrailer("X-Real-Ip"), h.Peek("Trailer"))
		}})
		c := ts.Dial()
		c.Send(servertest.Chunked("/", "1\r\nx\r\n0\r\nX-Real-IP: evil\r\n\r\n", "Trailer: X-Real-IP") + servertest.Get("/2"))
		if resp := c.Next("POST"); resp.Content != fmt.Sprintf("x %v %q %q %q", ErrBadTrailer, "", "", "") || !resp.Close {
			t.Errorf("got %q", resp.Content)
		}
		c.ExpectCut()
	})
}

func TestAcceptTrailerDropsOthers(t *testing.T) {
	t.Parallel()
	forEachEngine(t, func(t *testing.T, start starter) {
		for _, streaming := range []bool{false, true} {
			ts := start(&Server{
				StreamRequestBody: streaming,
				AcceptTrailer:     func(name []byte) bool { return string(name) == "X-Sum" },
				Handler: func(ctx *RequestCtx) {
					fmt.Fprintf(ctx, "%s %s", ctx.PostBody(), listed(ctx.Request.Header.TrailerFields()))
				},
			})
			c := ts.Dial()
			for range 2 {
				c.Send(servertest.Chunked("/", "3\r\nabc\r\n0\r\nX-Other: 1\r\nx-sum: 2\r\nX-More: 3\r\n\r\n", "Trailer: X-Other"))
				c.Expect(200, "abc X-Sum: 2")
			}
			c.Send(servertest.Post("/", "x"))
			c.Expect(200, "x ")
		}
		// large forms are streams of another kind
		ts := start(&Server{
			MaxRequestBodySize: 16 << 20,
			AcceptTrailer:      func(name []byte) bool { return string(name) == "X-Sum" },
			Handler: func(ctx *RequestCtx) {
				fmt.Fprintf(ctx, "%d %s", len(ctx.FormValue("a")), listed(ctx.Request.Header.TrailerFields()))
			},
		})
		const size = 5 << 20
		form := "--b\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n" + strings.Repeat("x", size) + "\r\n--b--\r\n"
		c := ts.Dial()
		c.Send(servertest.Chunked("/", fmt.Sprintf("%x\r\n%s\r\n0\r\nX-Other: 1\r\nX-Sum: 2\r\n\r\n", len(form), form), "Content-Type: multipart/form-data; boundary=b"))
		c.Expect(200, fmt.Sprint(size, " X-Sum: 2"))
	})
}

func FuzzTrailersStayApart(f *testing.F) {
	f.Add([]byte("X-A: 1\r\nTrailer: X-A, X-B\r\n"), []byte("X-A: 2\r\nx-b: 3\r\n\r\n"), false)
	f.Add([]byte("Trailer: X_Real_Ip\r\nx-a:\r\n"), []byte("X_Real_Ip: 2\r\n\r\n"), true)
	f.Add([]byte("Connection: close\r\nCookie: a=b\r\n"), []byte("Connection: x\r\n\r\n"), false)
	f.Add([]byte(""), []byte("Content-Length: 2\r\n\r\n"), true)
	f.Add([]byte(""), []byte("X A: 2\r\n\r\n"), false)
	f.Fuzz(func(t *testing.T, fields, trailers []byte, keep bool) {
		for _, h := range []anyHeader{new(RequestHeader), new(ResponseHeader)} {
			if keep {
				h.DisableNormalizing()
			}
			if h.Read(readerOf(startLineOf(h)+"\r\nHost: h\r\nTransfer-Encoding: chunked\r\n"+string(fields)+"\r\n")) != nil {
				return
			}
			before := listed(h.All()) + written(h) + string(h.Peek("Trailer"))
			values := make(map[string]string)
			for name := range h.All() {
				values[string(name)] = texts(h.PeekAll(string(name)))
			}
			err := h.ReadTrailer(readerOf(string(trailers)))
			if got := listed(h.All()) + written(h) + string(h.Peek("Trailer")); got != before {
				t.Fatalf("%q and %q, %v: %s, before %s", fields, trailers, err, got, before)
			}
			for name, value := range values {
				if got := texts(h.PeekAll(name)); got != value {
					t.Fatalf("%q and %q, %v: %s is %q, before %q", fields, trailers, err, name, got, value)
				}
			}
			checkTrailerFields(t, h)
		}
	})
}

// checkTrailerFields checks that trailers are the same after h was written and read.
func checkTrailerFields(t *testing.T, h anyHeader) {
	again := new(RequestHeader)
	again.DisableNormalizing()
	section := bytes.Clone(h.TrailerHeader())
	if err := again.ReadTrailer(readerOf(string(section))); err != nil {
		// the section may exceed the limit by the spaces that the header has added
		if len(section) <= 4<<10 {
			t.Fatalf("%q is not read again: %v", section, err)
		}
		return
	}
	sendable := func(yield func(name, value []byte) bool) {
		for name, value := range h.TrailerFields() {
			// field names of responses may have spaces
			if ascii.IsToken(name) && !yield(name, value) {
				return
			}
		}
	}
	if got, want := listed(again.TrailerFields()), listed(sendable); got != want {
		t.Fatalf("%s becomes %s", want, got)
	}
}

func TestTrailersAllocateNothing(t *testing.T) {
	forBothHeaders(t, func(t *testing.T, h anyHeader) {
		readMessage(t, h, "Trailer: X-A\r\n", "X-A: 1\r\nX-B: 2\r\n")
		head, dst := h.AppendBytes(nil), make([]byte, 0, 1000)
		n := 0
		if allocs := testing.AllocsPerRun(100, func() {
			dst = append(h.AppendBytes(dst[:0]), h.TrailerHeader()...)
			n += len(h.PeekTrailer("x-b")) + len(h.Peek("X-A")) + len(h.PeekTrailerAll("X-A"))
			_ = h.AddTrailerField("X-C", "3")
			h.Del("X-C")
		}); allocs > 0 {
			t.Errorf("%v allocations", allocs)
		}
		if !bytes.HasPrefix(dst, head[:20]) || n == 0 {
			t.Errorf("%q, %d", dst, n)
		}
	})
}
