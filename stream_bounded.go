package fasthttp

import "io"

// NewBoundedStreamReader is NewStreamReader with an exact bound for what it
// holds, and a Close that loses nothing.
//
// At most 64 KiB of what sw has written wait to be taken, and the reader holds
// at most as much that it took, so there are never more than 128 KiB of
// content. sw waits in Write and Flush where there is no room; when they return
// what was written has been accepted, which does not mean that a client has it.
//
// What was accepted by the time of Close can still be read, and io.EOF comes
// behind it; what sw writes from then on is refused with an error, upon which
// it must return. Close may be called while another goroutine reads.
//
// Use it with SetBodyStream and a size of -1.
func NewBoundedStreamReader(sw StreamWriter) io.ReadCloser {
	return startProducer(&streamPipe{bounded: true}, sw)
}
