// Package header stores the head of a message: its start line, its header section and
// its trailer section (RFC 9110 section 6). It reads and writes all of them for HTTP/1.x,
// and as blocks of HPACK; the layouts of a received head come from package http1.
//
// Start with Header, for both roles. request.go and response.go have what concerns one of them.
package header

// The statuses and methods that decide how a head is read and written.
const (
	statusOK          = 200
	statusNoContent   = 204
	statusNotModified = 304

	methodGet     = "GET"
	methodHead    = "HEAD"
	methodPost    = "POST"
	methodConnect = "CONNECT"
	methodOptions = "OPTIONS"
)

// DefaultType is the Content-Type of a response if none was set.
const DefaultType = "text/plain; charset=utf-8"

// Texts as bytes. They must not be modified.
var (
	strClose       = []byte("close")
	strKeepAlive   = []byte("keep-alive")
	strChunked     = []byte("chunked")
	strHTTP11      = []byte("HTTP/1.1")
	strHTTP2       = []byte("HTTP/2.0")
	strMethodGet   = []byte(methodGet)
	strSlash       = []byte("/")
	strTextPlain   = []byte(DefaultType)
	strOctetStream = []byte("application/octet-stream")
)

// noCopy makes go vet report copies of the struct that holds it.
type noCopy struct{}

func (*noCopy) Lock()   {}
func (*noCopy) Unlock() {}
