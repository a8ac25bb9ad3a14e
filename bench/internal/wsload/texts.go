package wsload

import "encoding/binary"

// The opcodes of RFC 6455 11.8.
const (
	opContinuation = 0
	opBinary       = 2
	opClose        = 8
	opPing         = 9
	opPong         = 10
)

const (
	finBit  = 0x80
	maskBit = 0x80
)

// variants is how many different messages there are: text that arrives at a wrong place or time is
// noticed.
const variants = 16

// texts are the bytes that a load sends, made in advance.
type texts struct {
	payloads [variants][]byte
	unit     int // bytes of a frame
	// sends has the messages one after another, often enough that the most messages that are
	// sent at once follow each other at every variant.
	sends []byte
}

// newTexts makes the messages of a load.
func newTexts(l Load) *texts {
	t := new(texts)
	var units [variants][]byte
	for v := range variants {
		payload := make([]byte, l.Size)
		x := uint32(v)*2654435761 + 1
		for i := range payload {
			x = x*1664525 + 1013904223
			payload[i] = byte(x >> 24)
		}
		t.payloads[v] = payload
		units[v] = appendFrame(nil, finBit|opBinary, payload, x)
	}
	t.unit = len(units[0])
	for i := range variants + max(1, l.Depth) - 1 {
		t.sends = append(t.sends, units[i%variants]...)
	}
	return t
}

// from returns n messages, the first of which is number i of its socket. n is at most the depth
// of the load.
func (t *texts) from(i, n int) []byte {
	at := i % variants * t.unit
	return t.sends[at : at+n*t.unit]
}

// appendFrame appends a frame of a client. first is the first byte of its header.
func appendFrame(dst []byte, first byte, payload []byte, mask uint32) []byte {
	dst = append(dst, first)
	switch n := len(payload); {
	case n < 126:
		dst = append(dst, maskBit|byte(n))
	case n < 1<<16:
		dst = binary.BigEndian.AppendUint16(append(dst, maskBit|126), uint16(n))
	default:
		dst = binary.BigEndian.AppendUint64(append(dst, maskBit|127), uint64(n))
	}
	var key [4]byte
	binary.BigEndian.PutUint32(key[:], mask)
	dst = append(dst, key[:]...)
	for i, b := range payload {
		dst = append(dst, b^key[i%4])
	}
	return dst
}
