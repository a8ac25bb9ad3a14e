// Package h2frame has the frames of HTTP/2 (RFC 9113 section 6), as clients and servers of
// benchmarks need them. Start with Append and Reader.
package h2frame

import (
	"encoding/binary"
	"fmt"
)

// Preface begins a connection.
const Preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

// The kinds of frames, their flags, and settings.
const (
	Data, Headers, Reset, Settings, Push, Ping, GoAway, Window, Continuation = 0, 1, 3, 4, 5, 6, 7, 8, 9

	EndStream, Ack, EndHeaders, Padded = 0x1, 0x1, 0x4, 0x8

	SettingTable, SettingPush, SettingStreams, SettingWindow = 1, 2, 3, 4
)

const (
	// HeadSize is the size of the head of a frame.
	HeadSize = 9
	// Largest is the size of the largest payload, unless a setting allows more.
	Largest = 16 << 10

	FirstWindow   = 65_535
	LargestWindow = 1<<31 - 1
)

// Status200 is the first byte of the fields of a response whose status is 200, in the static
// table of RFC 7541.
const Status200 = 0x88

// Frame is a frame.
type Frame struct {
	Kind, Flags byte
	Stream      uint32
	Payload     []byte
}

// Is reports whether the frame has all of these flags.
func (f Frame) Is(flags byte) bool { return f.Flags&flags == flags }

// Append appends a frame.
func Append(b []byte, kind, flags byte, stream uint32, payload []byte) []byte {
	n := len(payload)
	b = append(b, byte(n>>16), byte(n>>8), byte(n), kind, flags)
	b = binary.BigEndian.AppendUint32(b, stream)
	return append(b, payload...)
}

// AppendSettings appends a frame with pairs of settings and values.
func AppendSettings(b []byte, pairs ...uint32) []byte {
	var payload []byte
	for i := 0; i < len(pairs); i += 2 {
		payload = binary.BigEndian.AppendUint16(payload, uint16(pairs[i]))
		payload = binary.BigEndian.AppendUint32(payload, pairs[i+1])
	}
	return Append(b, Settings, 0, 0, payload)
}

// AppendWindow appends a frame that enlarges the window of the connection.
func AppendWindow(b []byte, by int) []byte {
	return Append(b, Window, 0, 0, binary.BigEndian.AppendUint32(nil, uint32(by)))
}

// AppendAnswer appends the acknowledgement of a frame, if the frame needs one.
func AppendAnswer(b []byte, f Frame) []byte {
	switch {
	case f.Is(Ack):
	case f.Kind == Settings:
		return Append(b, Settings, Ack, 0, nil)
	case f.Kind == Ping:
		return Append(b, Ping, Ack, 0, f.Payload)
	}
	return b
}

// Reader finds the frames in pieces of any size.
type Reader struct {
	carry []byte // of an incomplete frame
}

// Feed calls do with each frame that ends in p, up to the first error.
func (r *Reader) Feed(p []byte, do func(Frame) error) error {
	text := p
	if len(r.carry) > 0 {
		r.carry = append(r.carry, p...)
		text = r.carry
	}
	read := 0
	for len(text)-read >= HeadSize {
		head := text[read:]
		size := int(head[0])<<16 | int(head[1])<<8 | int(head[2])
		if size > Largest {
			return fmt.Errorf("h2frame: a frame of %d bytes", size)
		}
		if len(head) < HeadSize+size {
			break
		}
		read += HeadSize + size
		f := Frame{Kind: head[3], Flags: head[4], Stream: binary.BigEndian.Uint32(head[5:]), Payload: head[HeadSize : HeadSize+size]}
		if err := do(f); err != nil {
			return err
		}
	}
	r.carry = append(r.carry[:0], text[read:]...)
	return nil
}

// IsOK reports whether the fields of a response begin with the status 200. They may begin with
// changes of the table size (RFC 7541 section 6.3): a server that was idle for a while may have
// released its table.
func IsOK(fields []byte) bool {
	for len(fields) > 0 && fields[0]>>5 == 1 {
		more := fields[0]&31 == 31
		for fields = fields[1:]; more && len(fields) > 0; fields = fields[1:] {
			more = fields[0]>>7 == 1
		}
	}
	return len(fields) > 0 && fields[0] == Status200
}
