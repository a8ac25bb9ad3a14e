package fasthttp

import (
	"crypto/sha256"
	"encoding/base64"

	"github.com/valyala/fasthttp/internal/field"
)

// fileFields are the fields that the settings add to responses.
type fileFields struct {
	control []byte // Cache-Control
	noSniff bool
}

var noSniffValue = []byte("nosniff")

// pagePolicy lets a page have its style, and nothing else: whatever the names in
// it are, they do nothing.
var pagePolicy = func() []byte {
	style := sha256.Sum256([]byte(pageStyle))
	return []byte("default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(style[:]) +
		"'; base-uri 'none'; form-action 'none'")
}()

// set sets the fields of a response with the content of a node.
func (f *fileFields) set(h *ResponseHeader, n *node) {
	if f.noSniff || n.isPage() {
		setDefault(h, field.XContentTypeOptions, noSniffValue)
	}
	if n.isPage() {
		setDefault(h, field.ContentSecurityPolicy, pagePolicy)
	}
}

// setDefault sets a field, unless the application has.
func setDefault(h *ResponseHeader, id field.ID, value []byte) {
	if h.list.FindID(id, 0) < 0 {
		h.setID(id, value)
	}
}
