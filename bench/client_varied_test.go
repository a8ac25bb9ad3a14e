package bench

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/valyala/fasthttp"

	"github.com/valyala/fasthttp/bench/internal/traffic"
)

var (
	apiAnswers = traffic.Answers()
	apiCalls   = traffic.Calls()

	lengthField = []byte("\r\nContent-Length: ")
)

// apart is the distance between the positions at which callers begin in a shared
// list.
const apart = 89

// wholeRequest reports whether b is one whole request of any length.
func wholeRequest(b []byte) bool {
	end := bytes.Index(b, headEnd)
	if end < 0 {
		return false
	}
	size := end + len(headEnd)
	if at := bytes.Index(b[:end], lengthField); at >= 0 {
		length := 0
		for _, c := range b[at+len(lengthField) : end] {
			if c < '0' || c > '9' {
				break
			}
			length = 10*length + int(c-'0')
		}
		size += length
	}
	return len(b) == size
}

// dialAPI returns a function that connects to servers with the responses of an API.
// Each server begins with another response.
func dialAPI() func(string) (net.Conn, error) {
	var conns atomic.Int64
	return func(string) (net.Conn, error) {
		first := int(conns.Add(1)) * apart % len(apiAnswers)
		return newAnsweringConn(apiAnswers, first, wholeRequest), nil
	}
}

// inTurn returns a function that returns the next call for one of the callers that
// share a client. Each caller begins with another call.
func inTurn(callers *atomic.Int64) func() *traffic.Call {
	next := int(callers.Add(1)) * apart % len(apiCalls)
	return func() *traffic.Call {
		call := &apiCalls[next]
		if next++; next == len(apiCalls) {
			next = 0
		}
		return call
	}
}

// wholeAnswer reports whether a body is one of the API's, and has the length that its head
// declares.
func wholeAnswer(status, length int, body []byte) bool {
	return status == 200 && length == len(body) && body[0] == '{' && body[len(body)-1] == '}'
}

// benchVariedClient is benchClient with requests and responses that all differ from
// the one before.
func benchVariedClient(b *testing.B, kind callKind, parallel int) {
	b.Helper()
	client := &fasthttp.Client{Dial: dialAPI(), MaxConnsPerHost: parallel}
	defer client.CloseIdleConnections()
	var started atomic.Int64
	callers(b, parallel, func() (func() error, func()) {
		req, resp := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
		next := inTurn(&started)
		if kind == postCall {
			req.Header.SetMethod(fasthttp.MethodPost)
			req.Header.SetContentType("application/json")
		}
		call := func() error {
			c := next()
			req.SetRequestURI(c.URL)
			req.Header.Set("X-Request-Id", c.ID)
			if kind == postCall {
				req.SetBody(c.Body)
			}
			err := client.Do(req, resp)
			if err == nil && !wholeAnswer(resp.StatusCode(), resp.Header.ContentLength(), resp.Body()) {
				err = errWrongAnswer
			}
			return err
		}
		return call, func() {
			fasthttp.ReleaseRequest(req)
			fasthttp.ReleaseResponse(resp)
		}
	})
}

// benchNetHTTPVariedClient is benchVariedClient for net/http.
func benchNetHTTPVariedClient(b *testing.B, kind callKind, parallel int) {
	b.Helper()
	dial := dialAPI()
	client := netHTTPClient(dial, parallel)
	defer client.CloseIdleConnections()
	var started atomic.Int64
	callers(b, parallel, func() (func() error, func()) {
		next := inTurn(&started)
		call := func() error {
			c := next()
			method, body := http.MethodGet, io.Reader(nil)
			if kind == postCall {
				method, body = http.MethodPost, bytes.NewReader(c.Body)
			}
			req, err := http.NewRequest(method, c.URL, body)
			if err != nil {
				return err
			}
			req.Header.Set("X-Request-Id", c.ID)
			if kind == postCall {
				req.Header.Set("Content-Type", "application/json")
			}
			resp, err := client.Do(req)
			if err != nil {
				return err
			}
			defer resp.Body.Close()
			got, err := io.ReadAll(resp.Body)
			if err == nil && !wholeAnswer(resp.StatusCode, int(resp.ContentLength), got) {
				err = errWrongAnswer
			}
			return err
		}
		return call, func() {}
	})
}

func BenchmarkClientGetVaried1CallersMemory(b *testing.B)   { benchVariedClient(b, getCall, 1) }
func BenchmarkClientGetVaried64CallersMemory(b *testing.B)  { benchVariedClient(b, getCall, 64) }
func BenchmarkClientPostVaried1CallersMemory(b *testing.B)  { benchVariedClient(b, postCall, 1) }
func BenchmarkClientPostVaried64CallersMemory(b *testing.B) { benchVariedClient(b, postCall, 64) }

func BenchmarkNetHTTPClientGetVaried1CallersMemory(b *testing.B) {
	benchNetHTTPVariedClient(b, getCall, 1)
}

func BenchmarkNetHTTPClientGetVaried64CallersMemory(b *testing.B) {
	benchNetHTTPVariedClient(b, getCall, 64)
}

func BenchmarkNetHTTPClientPostVaried1CallersMemory(b *testing.B) {
	benchNetHTTPVariedClient(b, postCall, 1)
}

func BenchmarkNetHTTPClientPostVaried64CallersMemory(b *testing.B) {
	benchNetHTTPVariedClient(b, postCall, 64)
}

// readInTurn measures read with several heads in turn.
func readInTurn(b *testing.B, texts [][]byte, read func(*bufio.Reader) bool) {
	source := bytes.NewReader(nil)
	reader := bufio.NewReader(source)
	next, size := 0, 0
	for _, text := range texts {
		size += len(text)
	}
	b.SetBytes(int64(size / len(texts)))
	loop(b, func() bool {
		source.Reset(texts[next])
		if next++; next == len(texts) {
			next = 0
		}
		reader.Reset(source)
		return read(reader)
	})
}

// BenchmarkRequestHeaderReadVaried reads the request heads of the varied server
// rows.
func BenchmarkRequestHeaderReadVaried(b *testing.B) {
	var header fasthttp.RequestHeader
	readInTurn(b, visitors, func(r *bufio.Reader) bool {
		return header.Read(r) == nil && len(header.Host()) > 0
	})
}

// BenchmarkResponseHeaderReadVaried reads the response heads of the varied client
// rows.
func BenchmarkResponseHeaderReadVaried(b *testing.B) {
	var header fasthttp.ResponseHeader
	var heads [][]byte
	for _, text := range apiAnswers {
		head, _, _ := bytes.Cut(text, headEnd)
		heads = append(heads, append(bytes.Clone(head), headEnd...))
	}
	readInTurn(b, heads, func(r *bufio.Reader) bool {
		return header.Read(r) == nil && header.ContentLength() > 0
	})
}

func TestWholeRequest(t *testing.T) {
	for _, post := range posts {
		if bytes.Contains(post, []byte("content-length")) {
			continue
		}
		for _, size := range []int{10, len(post) / 2, len(post) - 1, len(post)} {
			if got := wholeRequest(post[:size]); got != (size == len(post)) {
				t.Errorf("%d of %d bytes: %v", size, len(post), got)
			}
		}
	}
	if wholeRequest([]byte(strings.Repeat("x", 5))) || !wholeRequest(visitors[0]) || wholeRequest(append(bytes.Clone(visitors[0]), 'x')) {
		t.Error("the end of a GET was not found")
	}
}
