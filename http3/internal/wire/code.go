// Package wire has the frames, settings and errors of HTTP/3 (RFC 9114), without I/O: the caller
// passes the bytes of streams on. Start with Reader.Next.
package wire

import (
	"errors"
	"fmt"
)

// Code is an error code (RFC 9114 section 8.1, RFC 9204 section 6).
type Code uint64

const (
	NoError              Code = 0x100
	GeneralProtocolError Code = 0x101
	InternalError        Code = 0x102
	StreamCreationError  Code = 0x103
	ClosedCriticalStream Code = 0x104
	FrameUnexpected      Code = 0x105
	FrameError           Code = 0x106
	ExcessiveLoad        Code = 0x107
	IDError              Code = 0x108
	SettingsError        Code = 0x109
	MissingSettings      Code = 0x10a
	RequestRejected      Code = 0x10b
	RequestCancelled     Code = 0x10c
	RequestIncomplete    Code = 0x10d
	MessageError         Code = 0x10e
	ConnectError         Code = 0x10f
	VersionFallback      Code = 0x110

	DecompressionFailed Code = 0x200
	EncoderStreamError  Code = 0x201
	DecoderStreamError  Code = 0x202
)

// names has the names of RFC 9114 and RFC 9204.
var names = map[Code]string{
	NoError: "H3_NO_ERROR", GeneralProtocolError: "H3_GENERAL_PROTOCOL_ERROR", InternalError: "H3_INTERNAL_ERROR",
	StreamCreationError: "H3_STREAM_CREATION_ERROR", ClosedCriticalStream: "H3_CLOSED_CRITICAL_STREAM",
	FrameUnexpected: "H3_FRAME_UNEXPECTED", FrameError: "H3_FRAME_ERROR", ExcessiveLoad: "H3_EXCESSIVE_LOAD",
	IDError: "H3_ID_ERROR", SettingsError: "H3_SETTINGS_ERROR", MissingSettings: "H3_MISSING_SETTINGS",
	RequestRejected: "H3_REQUEST_REJECTED", RequestCancelled: "H3_REQUEST_CANCELLED", RequestIncomplete: "H3_REQUEST_INCOMPLETE",
	MessageError: "H3_MESSAGE_ERROR", ConnectError: "H3_CONNECT_ERROR", VersionFallback: "H3_VERSION_FALLBACK",
	DecompressionFailed: "QPACK_DECOMPRESSION_FAILED", EncoderStreamError: "QPACK_ENCODER_STREAM_ERROR", DecoderStreamError: "QPACK_DECODER_STREAM_ERROR",
}

func (c Code) String() string {
	if name := names[c]; name != "" {
		return name
	}
	return fmt.Sprintf("the HTTP/3 error %#x", uint64(c))
}

// Error is a fault of the peer.
type Error struct {
	Code Code
	What string
}

// ErrFault is wrapped by each Error.
var ErrFault = errors.New("http3: the peer has violated the protocol")

// Unwrap returns ErrFault.
func (e *Error) Unwrap() error { return ErrFault }

func (e *Error) Error() string { return "http3: " + e.What + " (" + e.Code.String() + ")" }
