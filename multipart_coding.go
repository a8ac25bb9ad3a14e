package fasthttp

import (
	"io"

	"github.com/valyala/fasthttp/internal/field"
)

// formDecoder undoes the content codings of a form while it is read, each of
// them with a decoder that reads from the one before.
type formDecoder struct {
	io.Reader
	decoders [maxCodings]*decoder
	n        int
}

// start makes the decoder read from in, which has the codings that h says, and
// tells whether there are any.
func (d *formDecoder) start(in io.Reader, h *header, bound decodeBound) (encoded bool, err error) {
	var applied appliedCodings
	for i := h.list.FindID(field.ContentEncoding, 0); i >= 0; i = h.list.FindID(field.ContentEncoding, i+1) {
		if err := applied.add(h.list.Value(i)); err != nil {
			return false, err
		}
	}
	d.Reader = in
	for i := applied.n - 1; i >= 0; i-- {
		next := newDecoder(applied.codings[i], d.Reader, bound)
		d.decoders[d.n], d.Reader = next, next
		d.n++
	}
	return d.n > 0, nil
}

// release gives the decoders back.
func (d *formDecoder) release() {
	for _, used := range d.decoders[:d.n] {
		used.release()
	}
}
