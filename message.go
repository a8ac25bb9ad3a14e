package fasthttp

import (
	"bytes"
	"sync"

	"github.com/valyala/fasthttp/internal/bodyio"
)

const (
	// copyLimit is the size up to which a body is copied behind its head, to
	// go out with it in one write.
	copyLimit = 16 << 10
	// minSpace is how much a read has room for at least.
	minSpace = 512
)

var (
	requests  = sync.Pool{New: func() any { return new(Request) }}
	responses = sync.Pool{New: func() any { return new(Response) }}
)

// AcquireRequest returns an empty Request from a pool. Giving it back with
// ReleaseRequest spares the garbage collector work.
func AcquireRequest() *Request { return requests.Get().(*Request) }

// ReleaseRequest gives req back. Neither it nor any slice that came from it
// may be used after that.
func ReleaseRequest(req *Request) {
	poisonRequest(req)
	req.KeepBodyBuffer = false
	req.Reset()
	req.Header.EnableNormalizing()
	req.Header.EnableSpecialHeader()
	req.Header.shrink()
	requests.Put(req)
}

// AcquireResponse returns an empty Response from a pool. Giving it back with
// ReleaseResponse spares the garbage collector work.
func AcquireResponse() *Response { return responses.Get().(*Response) }

// ReleaseResponse gives resp back. Neither it nor any slice that came from it
// may be used after that.
func ReleaseResponse(resp *Response) {
	poisonResponse(resp)
	resp.KeepBodyBuffer = false
	resp.Reset()
	resp.Header.EnableNormalizing()
	resp.Header.shrink()
	responses.Put(resp)
}

// messageText returns the text of m, or of the error that writing it gives.
func messageText(m bodyio.Message) string {
	var text bytes.Buffer
	if _, err := bodyio.WriteMessage(&text, m); err != nil {
		return err.Error()
	}
	return text.String()
}
