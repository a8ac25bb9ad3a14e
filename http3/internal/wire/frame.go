package wire

import "encoding/binary"

// Type is the type of a frame (RFC 9114 section 7.2).
type Type uint64

const (
	TypeData        Type = 0x0
	TypeHeaders     Type = 0x1
	TypeCancelPush  Type = 0x3
	TypeSettings    Type = 0x4
	TypePushPromise Type = 0x5
	TypeGoAway      Type = 0x7
	TypeMaxPushID   Type = 0xd
)

// The types of unidirectional streams (RFC 9114 section 6.2, RFC 9204 section 4.2).
const (
	StreamControl = 0x0
	StreamPush    = 0x1
	StreamEncoder = 0x2
	StreamDecoder = 0x3
)

// maxVarint is the largest number of AppendVarint.
const maxVarint = 1<<62 - 1

// AppendVarint appends an integer of variable length (RFC 9000 section 16). n is less than 1<<62.
func AppendVarint(dst []byte, n uint64) []byte {
	switch {
	case n < 1<<6:
		return append(dst, byte(n))
	case n < 1<<14:
		return binary.BigEndian.AppendUint16(dst, uint16(n)|1<<14)
	case n < 1<<30:
		return binary.BigEndian.AppendUint32(dst, uint32(n)|1<<31)
	}
	return binary.BigEndian.AppendUint64(dst, n|3<<62)
}

// Varint reads an integer of variable length. size is how many bytes it has, or 0 if b is too
// short.
func Varint(b []byte) (n uint64, size int) {
	if len(b) == 0 {
		return 0, 0
	}
	size = 1 << (b[0] >> 6)
	if len(b) < size {
		return 0, 0
	}
	n = uint64(b[0] & 0x3f)
	for _, c := range b[1:size] {
		n = n<<8 | uint64(c)
	}
	return n, size
}

// MaxFrameHead is the largest size of AppendFrame.
const MaxFrameHead = 9

// AppendFrame appends type and length of a frame of one of the types above.
func AppendFrame(dst []byte, t Type, length int) []byte {
	return AppendVarint(AppendVarint(dst, uint64(t)), uint64(length))
}

// PutFrame writes type and length of a HEADERS or DATA frame to the end of room, which has
// MaxFrameHead bytes, and returns how many bytes before them are unused.
func PutFrame(room []byte, t Type, length int) (unused int) {
	var head [2 * MaxFrameHead]byte
	b := AppendFrame(head[:0], t, length)
	unused = len(room) - len(b)
	copy(room[unused:], b)
	return unused
}

// Stream is the kind of stream on which frames arrive.
type Stream uint8

const (
	Request  Stream = iota // a request, at the server
	Response               // a response, at the client
	ControlOfClient
	ControlOfServer
)

// phase is how far a stream is.
type phase uint8

const (
	begins  phase = iota // nothing has arrived: HEADERS or SETTINGS must be first
	content              // DATA and trailers, or any frame of the control stream, may follow
	ended                // trailers have arrived
	tunnel               // DATA alone may follow
	phases
)

// Frame is a frame, or a part of a DATA frame.
type Frame struct {
	Type Type
	// Payload is a part of the bytes passed to Next: of DATA the part that has arrived, of any other
	// frame all.
	Payload []byte
	// TooLarge is set for a HEADERS frame of more than the limit. Its payload is skipped.
	TooLarge bool
}

// maxControl is the largest payload of a frame of the control stream.
const maxControl = 1024

// maxIdleFrames is how many more frames without content than with content a message may have: DATA
// without payload, and frames of unknown types.
const maxIdleFrames = 1000

// Reader reads the frames of one stream in their order.
type Reader struct {
	stream Stream
	phase  phase
	limit  uint64 // of HEADERS
	skip   uint64 // bytes of an unknown or too large frame that follow
	data   uint64 // bytes of a DATA frame that follow
	idle   int
}

// Init makes r read a stream whose HEADERS frames have up to limit bytes.
func (r *Reader) Init(s Stream, limit int) { *r = Reader{stream: s, limit: uint64(max(limit, 0))} }

// Interim records that the last HEADERS began an informational response.
func (r *Reader) Interim() { r.phase = begins }

// Tunnel records that the stream is a tunnel, with DATA alone (RFC 9114 section 4.4).
func (r *Reader) Tunnel() { r.phase = tunnel }

// Pending reports whether a frame has begun whose rest has not arrived.
func (r *Reader) Pending() bool { return r.skip > 0 || r.data > 0 }

// Next reads from b, and returns how many bytes it has used. If ok is false it needs more bytes
// after the ones that it did not use. If need is not 0, it needs that many of them in all.
func (r *Reader) Next(b []byte) (n int, f Frame, ok bool, need int, err *Error) {
	for {
		if r.skip > 0 {
			k := min(r.skip, uint64(len(b)-n))
			n += int(k)
			if r.skip -= k; r.skip > 0 {
				return n, f, false, 0, nil
			}
		}
		if r.data > 0 {
			k := int(min(r.data, uint64(len(b)-n)))
			if k == 0 {
				return n, f, false, 0, nil
			}
			r.data -= uint64(k)
			return n + k, Frame{Type: TypeData, Payload: b[n : n+k]}, true, 0, nil
		}
		kind, i := Varint(b[n:])
		if i == 0 {
			return n, f, false, 0, nil
		}
		length, j := Varint(b[n+i:])
		if err = r.check(Type(kind)); err != nil {
			return n, f, false, 0, err
		}
		if j == 0 {
			return n, f, false, 0, nil
		}
		switch t := Type(kind); t {
		case TypeData:
			n += i + j
			if r.data = length; length == 0 {
				err = r.countIdle()
			} else if r.idle > 0 {
				r.idle--
			}
		case TypeHeaders:
			if length > r.limit {
				r.advance(t)
				r.skip = length
				return n + i + j, Frame{Type: t, TooLarge: true}, true, 0, nil
			}
			fallthrough
		case TypeCancelPush, TypeSettings, TypePushPromise, TypeGoAway, TypeMaxPushID:
			if length > maxControl && t != TypeHeaders {
				return n, f, false, 0, &Error{ExcessiveLoad, "a frame of the control stream is too large"}
			}
			whole := i + j + int(length)
			if len(b)-n < whole {
				return n, f, false, whole, nil
			}
			r.advance(t)
			return n + whole, Frame{Type: t, Payload: b[n+i+j : n+whole]}, true, 0, nil
		default:
			// RFC 9114 section 9: unknown types are ignored
			n += i + j
			r.skip = length
			err = r.countIdle()
		}
		if err != nil {
			return n, f, false, 0, err
		}
	}
}

// countIdle counts a frame without content.
func (r *Reader) countIdle() *Error {
	if r.stream >= ControlOfClient {
		return nil
	}
	if r.idle++; r.idle > maxIdleFrames {
		return &Error{ExcessiveLoad, "a message has too many frames without content"}
	}
	return nil
}

// advance changes the phase after a frame of the type.
func (r *Reader) advance(t Type) {
	switch {
	case r.phase == begins:
		r.phase = content
	case t == TypeHeaders:
		r.phase = ended
	}
}

// check checks whether a frame of the type may be next (RFC 9114 sections 4.1, 6.2.1, 7.2).
func (r *Reader) check(t Type) *Error {
	control := r.stream >= ControlOfClient
	switch t {
	case 0x2, 0x6, 0x8, 0x9:
		// RFC 9114 section 7.2.8
		return &Error{FrameUnexpected, "a frame of a type of HTTP/2"}
	case TypeSettings:
		if !control || r.phase != begins {
			return &Error{FrameUnexpected, "SETTINGS at the wrong place"}
		}
		return nil
	}
	if control && r.phase == begins {
		return &Error{MissingSettings, "a control stream begins without SETTINGS"}
	}
	switch t {
	case TypeData:
		if control || r.phase != content && r.phase != tunnel {
			return &Error{FrameUnexpected, "DATA at the wrong place"}
		}
	case TypeHeaders:
		if control || r.phase == ended || r.phase == tunnel {
			return &Error{FrameUnexpected, "HEADERS at the wrong place"}
		}
	case TypePushPromise:
		// of a response, since the client permits none
		if r.stream == Response {
			return &Error{IDError, "a push that was not permitted"}
		}
		return &Error{FrameUnexpected, "PUSH_PROMISE at the wrong place"}
	case TypeCancelPush:
		if !control {
			return &Error{FrameUnexpected, "CANCEL_PUSH at the wrong place"}
		}
		// there are no pushes
		return &Error{IDError, "a push is cancelled that does not exist"}
	case TypeGoAway:
		if !control {
			return &Error{FrameUnexpected, "GOAWAY at the wrong place"}
		}
	case TypeMaxPushID:
		if r.stream != ControlOfClient {
			return &Error{FrameUnexpected, "MAX_PUSH_ID at the wrong place"}
		}
	}
	return nil
}

// Number reads the payload of a frame with a single integer.
func Number(payload []byte) (uint64, *Error) {
	n, size := Varint(payload)
	if size == 0 || size != len(payload) {
		return 0, &Error{FrameError, "a frame has the wrong size"}
	}
	return n, nil
}
