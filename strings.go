package fasthttp

// Texts of the protocol that are needed as bytes. They are never written to.
var (
	strClose         = []byte("close")
	strKeepAlive     = []byte("keep-alive")
	strChunked       = []byte("chunked")
	strHTTP11        = []byte("HTTP/1.1")
	strMethodGet     = []byte(MethodGet)
	strSlash         = []byte("/")
	strCRLF          = []byte("\r\n")
	strCommaSpace    = []byte(", ")
	strTextPlain     = []byte("text/plain; charset=utf-8")
	strOctetStream   = []byte("application/octet-stream")
	strFormURL       = []byte("application/x-www-form-urlencoded")
	strMultipartForm = []byte("multipart/form-data")
)

// noCopy makes go vet report copies of the struct that holds it.
type noCopy struct{}

func (*noCopy) Lock()   {}
func (*noCopy) Unlock() {}
