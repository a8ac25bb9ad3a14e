package websocket

import (
	"bytes"
	"context"
	"sync"

	"github.com/valyala/fasthttp/internal/bufpool"
	"github.com/valyala/fasthttp/internal/ws"
	"github.com/valyala/fasthttp/internal/wsflate"
)

// PreparedMessage is a message for many connections. It is framed, and
// compressed, once for all of them. Goroutines may share it.
type PreparedMessage struct {
	messageType int
	data        []byte
	plain       *ws.Prepared

	mu     sync.Mutex
	packed []packedMessage // guarded by mu
}

// packedMessage is a compressed form of a message.
type packedMessage struct {
	level int8
	bits  uint8
	frame *ws.Prepared
}

// NewPreparedMessage returns a message with a copy of data. messageType is as for
// Conn.WriteMessage. It returns an error if there is no such type, or if data of a control
// message has more than 125 bytes.
func NewPreparedMessage(messageType int, data []byte) (*PreparedMessage, error) {
	pm := &PreparedMessage{messageType: messageType}
	switch messageType {
	case TextMessage, BinaryMessage:
		pm.plain = ws.Prepare(ws.Head{Opcode: ws.Opcode(messageType), Fin: true}, data)
		pm.data = pm.plain.Payload()
	case CloseMessage, PingMessage, PongMessage:
		if len(data) > ws.MaxControl {
			return nil, errControlSize
		}
		pm.data = bytes.Clone(data)
	default:
		return nil, errMessageType
	}
	return pm, nil
}

// compressed returns a compressed form of a data message, which refers to no other message.
func (pm *PreparedMessage) compressed(level int8, bits uint8) *ws.Prepared {
	pm.mu.Lock()
	defer pm.mu.Unlock()
	for _, p := range pm.packed {
		if p.bits == bits && (p.level == level || bits < wsflate.MaxBits) {
			return p.frame
		}
	}
	b := bufpool.Get(len(pm.data) / 2)
	defer bufpool.Put(b)
	d := wsflate.Deflater{Level: level, Bits: bits}
	d.Compress(b, pm.data)
	frame := ws.Prepare(ws.Head{Opcode: ws.Opcode(pm.messageType), Fin: true, RSV1: true}, b.B)
	pm.packed = append(pm.packed, packedMessage{level, bits, frame})
	return frame
}

// WritePreparedMessage is WriteMessage for a prepared message.
func (c *Conn) WritePreparedMessage(pm *PreparedMessage) error {
	ctx, deadline := context.Background(), c.deadlineOfWrites()
	if pm.plain == nil {
		return c.writeControl(ctx, pm.messageType, pm.data, deadline)
	}
	if err := c.message.lock(ctx, deadline); err != nil {
		c.freeCompressor()
		return err
	}
	defer c.endMessage()
	frame := pm.plain
	if c.mayCompress() && len(pm.data) >= int(c.threshold) {
		c.setLevel()
		frame = pm.compressed(c.deflate.Level, c.deflate.Bits)
		// later messages must not refer to earlier ones than this, which they would take for
		// the last one
		c.deflate.Release()
	}
	if c.isClient {
		return c.writeFrame(ctx, deadline, frame.Head(), frame.Payload())
	}
	if err := c.beginWrite(ctx, deadline); err != nil {
		return err
	}
	defer c.endWrite()
	if err := c.admit(frame.Head(), frame.Payload()); err != nil {
		return err
	}
	return c.send(ctx, deadline, frame.Head(), frame.Frame(), nil)
}
