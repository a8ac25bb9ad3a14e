package http1

// Body extracts the content of one message from the bytes of its connection, for
// each kind of framing. It does not store content.
type Body struct {
	kind   BodyKind
	left   int64
	chunks Chunked
}

// Start begins a message with framing f.
func (d *Body) Start(f Framing) {
	*d = Body{kind: f.Kind, left: f.Length, chunks: Chunked{Loose: f.LooseChunks}}
}

// Kind returns the kind of framing.
func (d *Body) Kind() BodyKind { return d.kind }

// Next returns the next piece of content in src, as a part of src, and the number
// of bytes of src that it consumed. If it returns neither content nor an error, it
// has consumed all of src, or is done.
func (d *Body) Next(src []byte) (content []byte, n int, err error) {
	switch d.kind {
	case Length:
		n = int(min(d.left, int64(len(src))))
		d.left -= int64(n)
		return src[:n], n, nil
	case Chunks:
		return d.chunks.Next(src)
	case UntilClose:
		return src, len(src), nil
	}
	return nil, 0, nil
}

// Done reports whether all content was read. The trailer section of a chunked body is then
// still unread. An UntilClose body is never done: it ends with the connection.
func (d *Body) Done() bool {
	switch d.kind {
	case Length:
		return d.left == 0
	case Chunks:
		return d.chunks.Done()
	case UntilClose:
		return false
	}
	return true
}

// Remaining returns how many bytes of content follow without framing in between, as far as is
// known.
func (d *Body) Remaining() int64 {
	switch d.kind {
	case Length:
		return d.left
	case Chunks:
		return int64(d.chunks.Remaining())
	}
	return 0
}

// PutBack takes back the last n bytes of content that Next returned. They count as
// not consumed: the caller must pass them to Next again.
func (d *Body) PutBack(n int) {
	switch d.kind {
	case Length:
		d.left += int64(n)
	case Chunks:
		d.chunks.putBack(n)
	}
}
