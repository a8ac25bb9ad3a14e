package http2

import "encoding/binary"

// frameType is the type of a frame (RFC 9113 section 6).
type frameType uint8

const (
	frameData           frameType = 0x0
	frameHeaders        frameType = 0x1
	framePriority       frameType = 0x2
	frameRSTStream      frameType = 0x3
	frameSettings       frameType = 0x4
	framePushPromise    frameType = 0x5
	framePing           frameType = 0x6
	frameGoAway         frameType = 0x7
	frameWindowUpdate   frameType = 0x8
	frameContinuation   frameType = 0x9
	framePriorityUpdate frameType = 0x10 // RFC 9218 section 7
)

// Flags of frames.
const (
	flagAck        = 0x1 // SETTINGS, PING
	flagEndStream  = 0x1 // DATA, HEADERS
	flagEndHeaders = 0x4 // HEADERS, CONTINUATION
	flagPadded     = 0x8 // DATA, HEADERS
	flagPriority   = 0x20
)

// frameHeadSize is the size of the head of a frame.
const frameHeadSize = 9

// FrameHeadSize is the size of a frame in addition to its payload: a caller whose buffer holds
// Limits.Frame and FrameHeadSize bytes can always continue.
const FrameHeadSize = frameHeadSize

// maxID is the highest id of a stream, and the highest size of a window.
const maxID = 1<<31 - 1

// frame is the head of a frame.
type frame struct {
	size  int
	id    uint32
	kind  frameType
	flags uint8
}

// isHTTP1 reports whether f is the beginning of an HTTP/1 response.
func (f *frame) isHTTP1() bool {
	return *f == parseFrame([]byte("HTTP/1.1 ")) || *f == parseFrame([]byte("HTTP/1.0 "))
}

// parseFrame reads the head of a frame from b, which has frameHead bytes.
func parseFrame(b []byte) frame {
	_ = b[8]
	return frame{
		size:  int(b[0])<<16 | int(b[1])<<8 | int(b[2]),
		kind:  frameType(b[3]),
		flags: b[4],
		id:    binary.BigEndian.Uint32(b[5:]) & maxID,
	}
}

func (f *frame) has(flag uint8) bool { return f.flags&flag != 0 }

// appendFrame appends the head of a frame.
func appendFrame(dst []byte, kind frameType, flags uint8, id uint32, size int) []byte {
	return append(dst, byte(size>>16), byte(size>>8), byte(size), byte(kind), flags,
		byte(id>>24), byte(id>>16), byte(id>>8), byte(id))
}

// appendFrame32 appends a frame whose payload is a number.
func appendFrame32(dst []byte, kind frameType, id, n uint32) []byte {
	return binary.BigEndian.AppendUint32(appendFrame(dst, kind, 0, id, 4), n)
}

// unpad returns the payload of a padded frame without its padding (RFC 9113 section 6.1).
func unpad(p []byte) ([]byte, *Error) {
	if len(p) == 0 {
		return nil, ErrFrameSize
	}
	pad := int(p[0])
	if pad >= len(p) {
		return nil, ErrPadding
	}
	return p[1 : len(p)-pad], nil
}
