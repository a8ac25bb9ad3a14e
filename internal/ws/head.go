package ws

import (
	"encoding/binary"
	"math"
)

// Opcode is the type of a frame (RFC 6455 section 5.2).
type Opcode uint8

// The opcodes that RFC 6455 defines.
const (
	Continuation Opcode = 0x0
	Text         Opcode = 0x1
	Binary       Opcode = 0x2
	Close        Opcode = 0x8
	Ping         Opcode = 0x9
	Pong         Opcode = 0xa
)

// IsControl reports whether frames with the opcode are control frames, which may arrive
// between the fragments of a message.
func (o Opcode) IsControl() bool { return o&0x8 != 0 }

// isKnown reports whether RFC 6455 defines the opcode.
func (o Opcode) isKnown() bool { return o <= Binary || o >= Close && o <= Pong }

// Bits of the first two bytes of a frame.
const (
	bitFin     = 0x80 // first byte
	bitRSV1    = 0x40
	bitsRSV    = 0x70
	bitsOpcode = 0x0f
	bitMask    = 0x80 // second byte
	bitsLength = 0x7f

	length16 = 126 // a length of 16 bits follows
	length64 = 127 // a length of 64 bits follows
)

const (
	// MaxControl is the size of the largest payload of a control frame.
	MaxControl = 125
	// MaxHead is the size of the largest head of a frame.
	MaxHead = 2 + 8 + maskSize
	// MaxNeeded is the largest number of bytes that Feed needs before it consumes any: the
	// size of the largest control frame.
	MaxNeeded = 2 + maskSize + MaxControl

	maskSize = 4
)

// Head is the head of a frame, without its length.
type Head struct {
	// Key masks the payload if Masked is set. Its lowest byte is the first one on the
	// wire. The keys of a client must be unpredictable (RFC 6455 section 10.3).
	Key    uint32
	Opcode Opcode // the type of the frame
	Fin    bool   // the frame is the last one of its message
	RSV1   bool   // the message is compressed, in its first frame
	Masked bool
}

// AppendHead appends the head of a frame with a payload of size bytes, which the caller
// appends, masked if Masked is set.
func AppendHead(dst []byte, h Head, size int) []byte {
	first, second := byte(h.Opcode), byte(0)
	if h.Fin {
		first |= bitFin
	}
	if h.RSV1 {
		first |= bitRSV1
	}
	if h.Masked {
		second = bitMask
	}
	switch {
	case size < length16:
		dst = append(dst, first, second|byte(size))
	case size <= math.MaxUint16:
		dst = append(dst, first, second|length16, byte(size>>8), byte(size))
	default:
		dst = binary.BigEndian.AppendUint64(append(dst, first, second|length64), uint64(size))
	}
	if h.Masked {
		dst = binary.LittleEndian.AppendUint32(dst, h.Key)
	}
	return dst
}

// AppendFrame appends a frame with the payload p, which it masks if h.Masked is set. It
// does not change p, which must not overlap the room after dst.
func AppendFrame(dst []byte, h Head, p []byte) []byte {
	dst = append(AppendHead(dst, h, len(p)), p...)
	if h.Masked {
		Mask(dst[len(dst)-len(p):], h.Key)
	}
	return dst
}

// parseLength reads the part of a head that follows the first byte of b, and returns the
// length of the payload and the size of the head without the key. If b is too short, size
// is 0.
func parseLength(b []byte) (length uint64, size int, err *Error) {
	switch l := b[1] & bitsLength; l {
	case length16:
		if len(b) < 4 {
			return 0, 0, nil
		}
		length, size = uint64(binary.BigEndian.Uint16(b[2:])), 4
		if length < length16 {
			return 0, 0, ErrLongLength
		}
	case length64:
		if len(b) < 10 {
			return 0, 0, nil
		}
		length, size = binary.BigEndian.Uint64(b[2:]), 10
		if length > math.MaxInt64 {
			return 0, 0, ErrLength
		}
		if length <= math.MaxUint16 {
			return 0, 0, ErrLongLength
		}
	default:
		length, size = uint64(l), 2
	}
	return length, size, nil
}
