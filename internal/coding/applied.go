package coding

import (
	"errors"

	"github.com/valyala/fasthttp/internal/ascii"
)

// ErrUnsupported means that a body has a coding that the package does not support,
// or more than MaxApplied codings. It is fasthttp.ErrContentEncodingUnsupported.
var ErrUnsupported = errors.New("fasthttp: unsupported content-encoding")

// MaxApplied is the largest number of codings undone for one body. There is
// no reason to apply more than one, and each can make the content a thousand times
// larger.
const MaxApplied = 4

// Applied holds the codings of a body in the order in which they were applied (RFC
// 9110 section 8.4). The zero value has none.
type Applied struct {
	codings [MaxApplied]Coding
	n       int
}

// Add adds the codings of one Content-Encoding field. The error is ErrUnsupported.
func (a *Applied) Add(value []byte) error {
	for rest := value; rest != nil; {
		var name []byte
		name, rest = ascii.NextElement(rest)
		if len(name) == 0 {
			continue
		}
		c, ok := named(name)
		if !ok {
			return ErrUnsupported
		}
		if c == Identity {
			continue
		}
		if a.n == MaxApplied {
			return ErrUnsupported
		}
		a.codings[a.n] = c
		a.n++
	}
	return nil
}

// All returns the codings, without Identity. The slice is valid until the next call
// of Add.
func (a *Applied) All() []Coding { return a.codings[:a.n] }

// Undo decodes content and returns the result, or content itself if no coding was
// applied to it. Empty content is returned unchanged: the response to a HEAD request
// has no encoded content. The bound applies to each step; the errors are the same as
// in Decode.
func (a *Applied) Undo(content []byte, bound Bound) (_ []byte, err error) {
	if len(content) == 0 {
		return content, nil
	}
	for i := a.n - 1; i >= 0; i-- {
		if content, err = Decode(content, a.codings[i], bound); err != nil {
			return nil, err
		}
	}
	return content, nil
}
