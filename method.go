package fasthttp

// Request methods. They are case-sensitive. The comments name the specification of each
// method, and whether it is safe (read-only) and idempotent (two requests have the same
// effect as one), as RFC 9110 section 9.2 defines it.
const (
	MethodGet     = "GET"     // RFC 9110 section 9.3.1; safe, idempotent
	MethodHead    = "HEAD"    // RFC 9110 section 9.3.2; safe, idempotent
	MethodPost    = "POST"    // RFC 9110 section 9.3.3
	MethodPut     = "PUT"     // RFC 9110 section 9.3.4; idempotent
	MethodPatch   = "PATCH"   // RFC 5789 section 2
	MethodDelete  = "DELETE"  // RFC 9110 section 9.3.5; idempotent
	MethodConnect = "CONNECT" // RFC 9110 section 9.3.6
	MethodOptions = "OPTIONS" // RFC 9110 section 9.3.7; safe, idempotent
	MethodTrace   = "TRACE"   // RFC 9110 section 9.3.8; safe, idempotent
	MethodQuery   = "QUERY"   // the HTTP QUERY method of the IETF's httpbis group; safe, idempotent
)

// Texts of the protocol as bytes. They must not be modified.
// defaultType is the Content-Type of a response if none was set.
const defaultType = "text/plain; charset=utf-8"

var (
	strClose         = []byte("close")
	strKeepAlive     = []byte("keep-alive")
	strChunked       = []byte("chunked")
	strHTTP11        = []byte("HTTP/1.1")
	strHTTP2         = []byte("HTTP/2.0")
	strMethodGet     = []byte(MethodGet)
	strSlash         = []byte("/")
	strCRLF          = []byte("\r\n")
	strCommaSpace    = []byte(", ")
	strTextPlain     = []byte(defaultType)
	strOctetStream   = []byte("application/octet-stream")
	strFormURL       = []byte("application/x-www-form-urlencoded")
	strMultipartForm = []byte("multipart/form-data")
)

// noCopy makes go vet report copies of the struct that holds it.
type noCopy struct{}

func (*noCopy) Lock()   {}
func (*noCopy) Unlock() {}
