package websocket

import (
	"encoding/binary"
	"errors"
	"io"
	"slices"

	"github.com/valyala/fasthttp/internal/ws"
)

// Types of messages (RFC 6455 section 11.8).
const (
	TextMessage   = 1  // data, which is UTF-8
	BinaryMessage = 2  // data
	CloseMessage  = 8  // see FormatCloseMessage
	PingMessage   = 9  // at most 125 bytes
	PongMessage   = 10 // at most 125 bytes
)

// Codes of Close frames (RFC 6455 section 7.4.1, and the registry of section 11.7).
const (
	CloseNormalClosure           = 1000
	CloseGoingAway               = 1001
	CloseProtocolError           = 1002
	CloseUnsupportedData         = 1003
	CloseNoStatusReceived        = 1005 // never sent: the Close frame has no code
	CloseAbnormalClosure         = 1006 // never sent: the connection has ended without a Close frame
	CloseInvalidFramePayloadData = 1007
	ClosePolicyViolation         = 1008
	CloseMessageTooBig           = 1009
	CloseMandatoryExtension      = 1010
	CloseInternalServerErr       = 1011
	CloseServiceRestart          = 1012
	CloseTryAgainLater           = 1013
	CloseBadGateway              = 1014
	CloseTLSHandshake            = 1015 // never sent
)

var (
	// ErrCloseSent reports that nothing can be sent any more, since a Close frame was sent.
	ErrCloseSent = errors.New("websocket: close sent")
	// ErrReadLimit reports that a message of the peer is larger than the limit. The peer has
	// been sent CloseMessageTooBig.
	ErrReadLimit = errors.New("websocket: read limit exceeded")
	// ErrPongTimeout reports that the peer has sent nothing after a Ping frame, for the time
	// of Upgrader.PongTimeout or Dialer.PongTimeout. The connection is closed.
	ErrPongTimeout = errors.New("websocket: the peer has not answered a ping in time")
)

var (
	errMessageType  = errors.New("websocket: a message of a type that does not exist")
	errControlSize  = errors.New("websocket: a control message of more than 125 bytes")
	errCloseMessage = errors.New("websocket: a close message with a code or a text that it must not have")
	errWriterClosed = errors.New("websocket: write to a message that was closed")
	errLevel        = errors.New("websocket: a level of compression out of range")
)

// CloseError is the error of methods that read after the peer has sent a Close frame, or,
// with the code CloseAbnormalClosure, after the connection has ended without one.
type CloseError struct {
	Code int    // CloseNoStatusReceived if the frame has none
	Text string // the reason, at most 123 bytes of UTF-8 that the peer has chosen
}

// Error returns the code, its name and the text.
func (e *CloseError) Error() string {
	s := "websocket: close " + ws.Code(e.Code).String()
	if e.Text != "" {
		s += ": " + e.Text
	}
	return s
}

// Unwrap returns io.ErrUnexpectedEOF if the connection has ended without a Close frame, and
// nil otherwise.
func (e *CloseError) Unwrap() error {
	if e.Code == CloseAbnormalClosure {
		return io.ErrUnexpectedEOF
	}
	return nil
}

// FaultError is the error of methods that read after the peer has violated the protocol.
// The peer has been sent a Close frame.
type FaultError struct {
	Code int   // of the Close frame
	Err  error // the violation
}

// Error returns a description of the violation.
func (e *FaultError) Error() string { return "websocket: " + e.Err.Error() }

// Unwrap returns the violation.
func (e *FaultError) Unwrap() error { return e.Err }

// IsCloseError reports whether err, or an error that it wraps, is a *CloseError with one of
// the codes.
func IsCloseError(err error, codes ...int) bool {
	var e *CloseError
	return errors.As(err, &e) && slices.Contains(codes, e.Code)
}

// IsUnexpectedCloseError reports whether err, or an error that it wraps, is a *CloseError
// with none of the codes.
func IsUnexpectedCloseError(err error, expectedCodes ...int) bool {
	var e *CloseError
	return errors.As(err, &e) && !slices.Contains(expectedCodes, e.Code)
}

// FormatCloseMessage returns the data of a close message. It is empty if the code is
// CloseNoStatusReceived.
func FormatCloseMessage(closeCode int, text string) []byte {
	if closeCode == CloseNoStatusReceived {
		return []byte{}
	}
	return append(binary.BigEndian.AppendUint16(make([]byte, 0, 2+len(text)), uint16(closeCode)), text...)
}
