package ws

import (
	"errors"
	"strconv"
	"unicode/utf8"
)

// Code is a status code of a Close frame (RFC 6455 section 7.4).
type Code uint16

// The codes that RFC 6455 and its registry define.
const (
	NormalClosure      Code = 1000
	GoingAway          Code = 1001
	ProtocolError      Code = 1002
	UnsupportedData    Code = 1003
	NoStatusReceived   Code = 1005 // never on the wire: a Close frame without a code
	AbnormalClosure    Code = 1006 // never on the wire: no Close frame
	InvalidPayload     Code = 1007
	PolicyViolation    Code = 1008
	MessageTooBig      Code = 1009
	MandatoryExtension Code = 1010
	InternalError      Code = 1011
	ServiceRestart     Code = 1012
	TryAgainLater      Code = 1013
	BadGateway         Code = 1014
	TLSHandshake       Code = 1015 // never on the wire: TLS has failed
)

// The range of the codes that libraries, frameworks and applications define.
const (
	firstCustom Code = 3000
	lastCustom  Code = 4999
)

// OnWire reports whether a Close frame may have the code.
func (c Code) OnWire() bool {
	switch {
	case c >= firstCustom:
		return c <= lastCustom
	case c >= InvalidPayload:
		return c <= BadGateway
	}
	return c >= NormalClosure && c <= UnsupportedData
}

var codeNames = [...]string{
	NormalClosure - 1000:      "normal closure",
	GoingAway - 1000:          "going away",
	ProtocolError - 1000:      "protocol error",
	UnsupportedData - 1000:    "unsupported data",
	NoStatusReceived - 1000:   "no status received",
	AbnormalClosure - 1000:    "abnormal closure",
	InvalidPayload - 1000:     "invalid payload",
	PolicyViolation - 1000:    "policy violation",
	MessageTooBig - 1000:      "message too big",
	MandatoryExtension - 1000: "mandatory extension",
	InternalError - 1000:      "internal error",
	ServiceRestart - 1000:     "service restart",
	TryAgainLater - 1000:      "try again later",
	BadGateway - 1000:         "bad gateway",
	TLSHandshake - 1000:       "TLS handshake",
}

// String returns the number and, if there is one, the name of the code.
func (c Code) String() string {
	number := strconv.Itoa(int(c))
	// an index below 0 wraps around
	if i := int(c - NormalClosure); i < len(codeNames) && codeNames[i] != "" {
		return number + " (" + codeNames[i] + ")"
	}
	return number
}

// Error is the reason why a connection has failed. All errors of Feed are variables, so
// that a peer's fault allocates nothing.
type Error struct {
	Code  Code // as it is sent to the peer
	index uint8
	text  string
}

// Error returns the text, which never contains anything that the peer has sent.
func (e *Error) Error() string { return e.text }

const prefix = "fasthttp: WebSocket: "

// faults are all errors, in the order of their index. A Conn has an index instead of a pointer,
// which makes it smaller; 0 is no error.
var faults = []*Error{nil}

func fault(code Code, text string) *Error {
	e := &Error{code, uint8(len(faults)), prefix + text}
	faults = append(faults, e)
	return e
}

// The faults of a peer, each of which ends the connection.
var (
	ErrReserved     = fault(ProtocolError, "a frame has a reserved bit set")
	ErrOpcode       = fault(ProtocolError, "a frame has an unknown opcode")
	ErrFragmented   = fault(ProtocolError, "a control frame is fragmented")
	ErrControlSize  = fault(ProtocolError, "a control frame has more than 125 bytes")
	ErrContinuation = fault(ProtocolError, "a continuation frame without a message to continue")
	ErrUnfinished   = fault(ProtocolError, "a message begins before the one before it has ended")
	ErrUnmasked     = fault(ProtocolError, "a frame of the client is not masked")
	ErrMasked       = fault(ProtocolError, "a frame of the server is masked")
	ErrLongLength   = fault(ProtocolError, "the length of a frame is not in its shortest form")
	ErrLength       = fault(ProtocolError, "the length of a frame has its highest bit set")
	ErrCloseSize    = fault(ProtocolError, "a Close frame has half a code")
	ErrCloseCode    = fault(ProtocolError, "a Close frame has a code that it must not have")
	ErrCloseReason  = fault(InvalidPayload, "the reason in a Close frame is not UTF-8")
	ErrText         = fault(InvalidPayload, "a text message is not UTF-8")
	// ErrMalformedData is for callers that decompress messages.
	ErrMalformedData  = fault(InvalidPayload, "a compressed message is malformed")
	ErrMessageSize    = fault(MessageTooBig, "a message is larger than the limit")
	ErrManyFragments  = fault(PolicyViolation, "a message has too many fragments")
	ErrEmptyFragments = fault(PolicyViolation, "a message has too many empty fragments")
)

// Send and its variants return these errors if a frame must not be sent. The connection
// does not change.
var (
	ErrClosing    = errors.New(prefix + "the connection is closing, no frame may be sent")
	ErrSendOrder  = errors.New(prefix + "a data frame that does not continue the message being sent")
	ErrSendFrame  = errors.New(prefix + "a frame that must not be sent")
	ErrSendCode   = errors.New(prefix + "a code that a Close frame must not have")
	ErrSendReason = errors.New(prefix + "a reason that is not UTF-8 or has more than 123 bytes")
)

// MaxReason is the maximum size of the reason in a Close frame, in bytes.
const MaxReason = MaxControl - codeSize

const codeSize = 2

// AppendClose appends the payload of a Close frame. It is empty if the code is
// NoStatusReceived; the reason must be empty then.
func AppendClose(dst []byte, code Code, reason string) ([]byte, error) {
	switch {
	case code == NoStatusReceived && reason == "":
		return dst, nil
	case !code.OnWire():
		return dst, ErrSendCode
	case len(reason) > MaxReason || !utf8.ValidString(reason):
		return dst, ErrSendReason
	}
	return append(append(dst, byte(code>>8), byte(code)), reason...), nil
}

// parseClose parses the payload of a Close frame. A payload without a code yields
// NoStatusReceived. The reason is a part of p.
func parseClose(p []byte) (Code, []byte, *Error) {
	switch len(p) {
	case 0:
		return NoStatusReceived, nil, nil
	case 1:
		return 0, nil, ErrCloseSize
	}
	code, reason := Code(p[0])<<8|Code(p[1]), p[codeSize:]
	switch {
	case !code.OnWire():
		return 0, nil, ErrCloseCode
	case !utf8.Valid(reason):
		return 0, nil, ErrCloseReason
	}
	return code, reason, nil
}
