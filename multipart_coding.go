package fasthttp

import (
	"io"

	"github.com/valyala/fasthttp/internal/coding"
	"github.com/valyala/fasthttp/internal/field"
)

// formDecoder undoes the content coding of a form while it is read. There is one
// at most: a second one has no purpose but to make a few bytes become a great many,
// and nobody counts what is between the two.
type formDecoder struct {
	io.Reader
	decoder *coding.Decoder // nil where there is no coding
}

// startForm makes the decoder read from in, and reports whether that has a content
// coding. It is start or startPlain: what the server itself calls must not name
// start, or all decoders were part of every program with a server in it, which
// is a seventh of a small one.
type startForm func(d *formDecoder, in io.Reader, h *header, bound coding.Bound) (encoded bool, err error)

// startPlain is for a form that has no coding.
func (d *formDecoder) startPlain(in io.Reader, _ *header, _ coding.Bound) (encoded bool, err error) {
	d.Reader = in
	return false, nil
}

// start makes the decoder read from in, which has the coding that h says, and
// reports whether there is one.
func (d *formDecoder) start(in io.Reader, h *header, bound coding.Bound) (encoded bool, err error) {
	var applied coding.Applied
	for i := h.list.FindID(field.ContentEncoding, 0); i >= 0; i = h.list.FindID(field.ContentEncoding, i+1) {
		if err := applied.Add(h.list.Value(i)); err != nil {
			return false, err
		}
	}
	d.Reader = in
	switch codings := applied.All(); len(codings) {
	case 0:
		return false, nil
	case 1:
		d.decoder = coding.NewDecoder(codings[0], in, bound)
		d.Reader = d.decoder
		return true, nil
	}
	return false, ErrContentEncodingUnsupported
}

// release gives the decoder back.
func (d *formDecoder) release() {
	if d.decoder != nil {
		d.decoder.Release()
	}
}
