package websocket

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strings"
	"unicode/utf8"
)

// The first bytes of frames that are the last ones of their messages.
const (
	finText   = 0x81
	finBinary = 0x82
	finCont   = 0x80
	finClose  = 0x88
	finPing   = 0x89
	finPong   = 0x8a
)

// frame is a frame to send. Without form, length and otherMask it keeps to the rules.
type frame struct {
	first     byte // FIN, the reserved bits and the opcode
	payload   string
	form      int    // 126 or 127: a longer form of the length than necessary
	length    uint64 // announced instead of the true one, with form
	otherMask bool   // masked by a server, or not masked by a client
	raw       string // these bytes instead of a frame
}

var maskKey = [4]byte{0x37, 0xfa, 0x21, 0x3d}

// append appends the frame as a client sends it, or a server.
func (f frame) append(b []byte, byClient bool) []byte {
	if f.raw != "" {
		return append(b, f.raw...)
	}
	length, bit := f.length, byte(0)
	if length == 0 {
		length = uint64(len(f.payload))
	}
	masked := byClient != f.otherMask
	if masked {
		bit = 0x80
	}
	b = append(b, f.first)
	switch {
	case f.form == 127 || f.form == 0 && length > 0xffff:
		b = binary.BigEndian.AppendUint64(append(b, bit|127), length)
	case f.form == 126 || length > 125:
		b = binary.BigEndian.AppendUint16(append(b, bit|126), uint16(length))
	default:
		b = append(b, bit|byte(length))
	}
	if !masked {
		return append(b, f.payload...)
	}
	b = append(b, maskKey[:]...)
	for i := range len(f.payload) {
		b = append(b, f.payload[i]^maskKey[i%4])
	}
	return b
}

// closeWith is a Close frame with any code.
func closeWith(code int, reason string) frame {
	return frame{first: finClose, payload: string([]byte{byte(code >> 8), byte(code)}) + reason}
}

// received is a message or a control frame, as the side under test has sent it.
type received struct {
	opcode  byte
	payload []byte
}

// String describes it as the tables do: "text abc", "close 1000", "close" for one without a
// code. The reason of a Close frame is free, and so it is left out.
func (r received) String() string {
	name := map[byte]string{opText: "text", opBinary: "binary", 8: "close", 9: "ping", 10: "pong"}[r.opcode]
	if r.opcode == 8 {
		if len(r.payload) == 0 {
			return name
		}
		return fmt.Sprintf("%s %d", name, binary.BigEndian.Uint16(r.payload))
	}
	return name + " " + brief(string(r.payload))
}

// brief is a payload in a description.
func brief(p string) string {
	switch {
	case len(p) > 60:
		return fmt.Sprintf("%d bytes %08x", len(p), crc32.ChecksumIEEE([]byte(p)))
	case !utf8.ValidString(p) || strings.ContainsAny(p, "|/\x00"):
		return fmt.Sprintf("%q", p)
	}
	return p
}

// frameReader reads the frames of the side under test, which must keep to the rules.
type frameReader struct {
	r        *bufio.Reader
	ofClient bool
	unpack   *unpacker // nil if the two have not agreed on compression
}

// next returns the next message or control frame.
func (fr *frameReader) next() (received, error) {
	var message received
	packed := false
	for {
		first, p, err := fr.frame()
		if err != nil {
			return received{}, err
		}
		opcode, fin := first&15, first&0x80 != 0
		if first&0x30 != 0 || first&0x40 != 0 && (fr.unpack == nil || opcode == 0 || opcode >= 8) {
			return received{}, fmt.Errorf("a frame has reserved bits: %#x", first)
		}
		switch {
		case opcode >= 8:
			if !fin || len(p) > 125 {
				return received{}, fmt.Errorf("a control frame with first byte %#x and %d bytes", first, len(p))
			}
			if opcode > 10 || opcode == 8 && len(p) == 1 {
				return received{}, fmt.Errorf("a control frame %#x %q", first, p)
			}
			return received{opcode, p}, nil
		case opcode > 2, (opcode == 0) != (message.opcode != 0):
			return received{}, fmt.Errorf("an opcode that is not allowed here: %#x", first)
		case opcode != 0:
			message.opcode, packed = opcode, first&0x40 != 0
		}
		message.payload = append(message.payload, p...)
		if !fin {
			continue
		}
		if packed {
			message.payload, err = fr.unpack.message(message.payload)
		}
		if err == nil && message.opcode == opText && !utf8.Valid(message.payload) {
			err = errors.New("text that is not UTF-8")
		}
		return message, err
	}
}

func (fr *frameReader) frame() (first byte, p []byte, err error) {
	var head [2]byte
	if _, err := io.ReadFull(fr.r, head[:]); err != nil {
		return 0, nil, err
	}
	if masked := head[1]&0x80 != 0; masked != fr.ofClient {
		return 0, nil, fmt.Errorf("masked is %t in a frame of the wrong side", masked)
	}
	length := uint64(head[1] & 0x7f)
	if length >= 126 {
		size := 2 << (2 * (length - 126))
		b := make([]byte, 8)
		if _, err := io.ReadFull(fr.r, b[8-size:]); err != nil {
			return 0, nil, err
		}
		length = binary.BigEndian.Uint64(b)
		if size == 2 && length < 126 || size == 8 && length <= 0xffff || length > 16<<20 {
			return 0, nil, fmt.Errorf("a length of %d in %d bytes", length, size)
		}
	}
	var key [4]byte
	if fr.ofClient {
		if _, err := io.ReadFull(fr.r, key[:]); err != nil {
			return 0, nil, err
		}
	}
	p = make([]byte, length)
	_, err = io.ReadFull(fr.r, p)
	for i := range p {
		p[i] ^= key[i%4]
	}
	return head[0], p, err
}
