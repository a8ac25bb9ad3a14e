package websocket

import (
	"errors"
	"io"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/websocket"
)

// Codes of Close frames (RFC 6455 section 7.4.1, and the registry of section 11.7).
const (
	CloseNormalClosure           = websocket.CloseNormalClosure
	CloseGoingAway               = websocket.CloseGoingAway
	CloseProtocolError           = websocket.CloseProtocolError
	CloseUnsupportedData         = websocket.CloseUnsupportedData
	CloseNoStatusReceived        = websocket.CloseNoStatusReceived
	CloseAbnormalClosure         = websocket.CloseAbnormalClosure
	CloseInvalidFramePayloadData = websocket.CloseInvalidFramePayloadData
	ClosePolicyViolation         = websocket.ClosePolicyViolation
	CloseMessageTooBig           = websocket.CloseMessageTooBig
	CloseMandatoryExtension      = websocket.CloseMandatoryExtension
	CloseInternalServerErr       = websocket.CloseInternalServerErr
	CloseServiceRestart          = websocket.CloseServiceRestart
	CloseTryAgainLater           = websocket.CloseTryAgainLater
	CloseTLSHandshake            = websocket.CloseTLSHandshake
)

// Types of messages (RFC 6455 section 11.8).
const (
	TextMessage   = websocket.TextMessage
	BinaryMessage = websocket.BinaryMessage
	CloseMessage  = websocket.CloseMessage
	PingMessage   = websocket.PingMessage
	PongMessage   = websocket.PongMessage
)

var (
	// ErrNilConn is the error of methods of a nil Conn.
	ErrNilConn = errors.New("nil *Conn")
	// ErrNilNetConn is the error of methods of a Conn that no Upgrader or Dialer has returned.
	ErrNilNetConn = errors.New("nil net.Conn")
	// ErrResponseHijackUnsupported is the error of Upgrader.Upgrade and HijackResponse if the
	// connection of a request cannot be taken over.
	ErrResponseHijackUnsupported = errors.New("websocket: response does not implement http.Hijacker")

	// ErrBadHandshake is the error of a Dialer if the server refuses the handshake. The errors
	// of upgraders wrap it.
	ErrBadHandshake = websocket.ErrBadHandshake
	// ErrCloseSent reports that nothing can be sent any more, since a Close frame was sent.
	ErrCloseSent = websocket.ErrCloseSent
	// ErrReadLimit reports that a message of the peer is larger than the limit of
	// Conn.SetReadLimit. The peer has been sent CloseMessageTooBig.
	ErrReadLimit = websocket.ErrReadLimit
)

// BufferPool is the type of the fields WriteBufferPool, which have no effect.
type BufferPool = websocket.BufferPool

// CloseError is the error of methods that read after the peer has sent a Close frame, or,
// with the code CloseAbnormalClosure, after the connection has ended without one.
type CloseError = websocket.CloseError

// HandshakeError is the error of upgraders for a request that they have refused.
type HandshakeError = websocket.HandshakeError

// PreparedMessage is a message for many connections. It is framed, and compressed, once for
// all of them. Goroutines may share it.
type PreparedMessage = websocket.PreparedMessage

// NewPreparedMessage returns a message with a copy of data. It returns an error if there is
// no such type, or if data of a control message has more than 125 bytes.
func NewPreparedMessage(messageType int, data []byte) (*PreparedMessage, error) {
	return websocket.NewPreparedMessage(messageType, data)
}

// FastHTTPIsWebSocketUpgrade reports whether the client asks for the WebSocket protocol.
func FastHTTPIsWebSocketUpgrade(ctx *fasthttp.RequestCtx) bool {
	return websocket.IsWebSocketUpgrade(ctx)
}

// FormatCloseMessage returns the data of a close message. It is empty if the code is
// CloseNoStatusReceived.
func FormatCloseMessage(closeCode int, text string) []byte {
	return websocket.FormatCloseMessage(closeCode, text)
}

// IsCloseError reports whether err, or an error that it wraps, is a *CloseError with one of
// the codes.
func IsCloseError(err error, codes ...int) bool { return websocket.IsCloseError(err, codes...) }

// IsUnexpectedCloseError reports whether err, or an error that it wraps, is a *CloseError
// with none of the codes.
func IsUnexpectedCloseError(err error, expectedCodes ...int) bool {
	return websocket.IsUnexpectedCloseError(err, expectedCodes...)
}

// JoinMessages returns a reader of all messages of c, each followed by term. Its Read must
// not be called concurrently. It returns io.EOF at the end of the connection if the peer has
// sent CloseNormalClosure, and otherwise the errors of NextReader.
func JoinMessages(c *Conn, term string) io.Reader {
	if err := c.missing(); err != nil {
		return failedReader{err}
	}
	return websocket.JoinMessages(c.base, term)
}

type failedReader struct{ err error }

func (r failedReader) Read([]byte) (int, error) { return 0, r.err }

// ReadJSON calls c.ReadJSON, and returns its error.
//
// Deprecated: Use Conn.ReadJSON.
func ReadJSON(c *Conn, v any) error { return c.ReadJSON(v) }

// WriteJSON calls c.WriteJSON, and returns its error.
//
// Deprecated: Use Conn.WriteJSON.
func WriteJSON(c *Conn, v any) error { return c.WriteJSON(v) }
