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

// startForm makes the decoder read from in, and tells whether that has content
// codings. It is start or startPlain: what the server itself calls must not name
// start, or all decoders were part of every program with a server in it, which
// is a seventh of a small one.
type startForm func(d *formDecoder, in io.Reader, h *header, bound decodeBound) (encoded bool, err error)

// startPlain is for a form that has no codings.
func (d *formDecoder) startPlain(in io.Reader, _ *header, _ decodeBound) (encoded bool, err error) {
	d.Reader = in
	return false, nil
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
