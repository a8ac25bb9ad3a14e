package bench

import (
	"bufio"
	"bytes"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/valyala/fasthttp"

	"github.com/valyala/fasthttp/bench/internal/traffic"
)

var (
	apiAnswers = texts(sync.OnceValue(traffic.Answers))
	apiCalls   = sync.OnceValue(traffic.Calls)

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
	answers := apiAnswers()
	return func(string) (net.Conn, error) {
		first := int(conns.Add(1)) * apart % len(answers)
		return newAnsweringConn(answers, first, wholeRequest), nil
	}
}

// inTurn returns a function that returns the next call for one of the callers that
// share a client. Each caller begins with another call.
func inTurn(callers *atomic.Int64) func() *traffic.Call {
	calls := apiCalls()
	next := int(callers.Add(1)) * apart % len(calls)
	return func() *traffic.Call {
		call := &calls[next]
		if next++; next == len(calls) {
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
	readInTurn(b, visitors(), func(r *bufio.Reader) bool {
		return header.Read(r) == nil && len(header.Host()) > 0
	})
}

// BenchmarkResponseHeaderReadVaried reads the response heads of the varied client
// rows.
func BenchmarkResponseHeaderReadVaried(b *testing.B) {
	var header fasthttp.ResponseHeader
	var heads [][]byte
	for _, text := range apiAnswers() {
		head, _, _ := bytes.Cut(text, headEnd)
		heads = append(heads, append(bytes.Clone(head), headEnd...))
	}
	readInTurn(b, heads, func(r *bufio.Reader) bool {
		return header.Read(r) == nil && header.ContentLength() > 0
	})
}

func TestWholeRequest(t *testing.T) {
	for _, post := range posts() {
		if bytes.Contains(post, []byte("content-length")) {
			continue
		}
		for _, size := range []int{10, len(post) / 2, len(post) - 1, len(post)} {
			if got := wholeRequest(post[:size]); got != (size == len(post)) {
				t.Errorf("%d of %d bytes: %v", size, len(post), got)
			}
		}
	}
	if wholeRequest([]byte(strings.Repeat("x", 5))) || !wholeRequest(visitors()[0]) || wholeRequest(append(bytes.Clone(visitors()[0]), 'x')) {
		t.Error("the end of a GET was not found")
	}
}
