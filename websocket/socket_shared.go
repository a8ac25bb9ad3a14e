package websocket

import (
	"errors"
	"strconv"

	"github.com/valyala/fasthttp/internal/ws"
)

// The types of messages.
const (
	TextMessage   = 1
	BinaryMessage = 2
)

// The status codes of Close frames (RFC 6455 section 7.4).
const (
	CloseNormalClosure    = 1000
	CloseGoingAway        = 1001
	CloseNoStatusReceived = 1005
	CloseAbnormalClosure  = 1006
)

// ErrCloseSent reports that a Close frame was sent, after which there are no messages.
var ErrCloseSent = errors.New("websocket: close sent")

// CloseError is the Close frame of a peer.
type CloseError struct {
	Code int
	Text string
}

// Error returns the code and the reason.
func (e *CloseError) Error() string {
	return "websocket: close " + strconv.Itoa(e.Code) + " " + e.Text
}

// PreparedMessage is a message for many connections.
type PreparedMessage struct{ frame *ws.Prepared }

// NewPreparedMessage returns a message with a copy of data.
func NewPreparedMessage(messageType int, data []byte) (*PreparedMessage, error) {
	if messageType != TextMessage && messageType != BinaryMessage {
		return nil, errMessageType
	}
	return &PreparedMessage{ws.Prepare(ws.Head{Opcode: ws.Opcode(messageType), Fin: true}, data)}, nil
}
