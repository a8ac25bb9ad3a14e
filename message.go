package fasthttp

import (
	"bytes"
	"sync"

	"github.com/valyala/fasthttp/internal/bodyio"
)

const (
	// copyLimit is the size in bytes up to which a body is copied after its head, so
	// that one write sends both.
	copyLimit = 16 << 10
	// minSpace is the least number of bytes that a read has room for.
	minSpace = 512
)

var (
	requests  = sync.Pool{New: func() any { return new(Request) }}
	responses = sync.Pool{New: func() any { return new(Response) }}
)

// AcquireRequest returns an empty Request from a pool. Return it with ReleaseRequest
// when it is no longer needed: this reduces the work of the garbage collector.
func AcquireRequest() *Request { return requests.Get().(*Request) }

// ReleaseRequest returns req to the pool. Neither it nor a slice that its methods
// returned may be used after that.
func ReleaseRequest(req *Request) {
	poisonRequest(req)
	req.KeepBodyBuffer = false
	req.Reset()
	req.Header.EnableNormalizing()
	req.Header.EnableSpecialHeader()
	req.Header.shrink()
	requests.Put(req)
}

// AcquireResponse returns an empty Response from a pool. Return it with
// ReleaseResponse when it is no longer needed: this reduces the work of the garbage
// collector.
func AcquireResponse() *Response { return responses.Get().(*Response) }

// ReleaseResponse returns resp to the pool. Neither it nor a slice that its methods
// returned may be used after that.
func ReleaseResponse(resp *Response) {
	poisonResponse(resp)
	resp.KeepBodyBuffer = false
	resp.Reset()
	resp.Header.EnableNormalizing()
	resp.Header.shrink()
	responses.Put(resp)
}

// messageText returns the text of m, or the text of the error of writing it.
func messageText(m bodyio.Message) string {
	var text bytes.Buffer
	if _, err := bodyio.WriteMessage(&text, m); err != nil {
		return err.Error()
	}
	return text.String()
}
