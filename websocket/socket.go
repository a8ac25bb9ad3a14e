package websocket

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"sync"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/ws"
)

// Socket is a connection of Upgrader.Serve. All methods may be called concurrently, and only
// SendWait waits for the peer. A Socket can be kept after its end: its methods then return
// errors.
type Socket struct {
	conn     fasthttp.EventConn
	mu       sync.Mutex
	ws       ws.Conn
	settings *socketSettings
	data     any
	extra    *socketExtra // what only some sockets have, or nil; mu guards it
	windows  socketWindows
	state    socketState
	collects bool   // extra has parts; this and heard belong to the methods of the EventHandler
	heard    uint32 // when something has arrived last, in milliseconds of clock.Monotonic, if there are pings
}

// socketExtra is the state that only some sockets have, or that a socket has for a while.
type socketExtra struct {
	parts   *ws.Assembler  // of a message in several parts, or nil; mu does not guard what it points to
	context *socketContext // of the messages before, or nil if no message refers to them

	subprotocol string
	groups      []*Group // of which the socket is a member

	fault  error // why the socket closes, or nil
	closed *CloseError
}

var socketExtras = sync.Pool{New: func() any { return new(socketExtra) }}

// isEmpty reports whether the socket needs x no longer.
func (x *socketExtra) isEmpty() bool {
	return x.parts == nil && x.context == nil && x.subprotocol == "" && x.groups == nil && x.fault == nil && x.closed == nil
}

// socketState is a set of facts about a Socket.
type socketState uint8

const (
	socketPinged socketState = 1 << iota // a Ping frame was sent, and nothing has arrived since then
	socketLate                           // and the time for the answer is over

	socketAborted // Abort was called
	socketEnded   // the connection has ended
)

// ErrQueueFull reports that a message was not sent, because too much waits for the peer.
var ErrQueueFull = errors.New("websocket: the queue of the socket is full")

// more returns the extra state, which it creates if there is none. mu is held.
func (s *Socket) more() *socketExtra {
	if s.extra == nil {
		s.extra = socketExtras.Get().(*socketExtra)
	}
	return s.extra
}

// Data returns the value given to Upgrader.Serve.
func (s *Socket) Data() any { return s.data }

// Subprotocol returns the subprotocol that server and client have agreed on, or "".
func (s *Socket) Subprotocol() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.extra == nil {
		return ""
	}
	return s.extra.subprotocol
}

// RemoteAddr returns the address of the peer. It is never nil.
func (s *Socket) RemoteAddr() net.Addr { return s.conn.RemoteAddr() }

// LocalAddr returns the server's address of the connection. It is never nil.
func (s *Socket) LocalAddr() net.Addr { return s.conn.LocalAddr() }

// TLSConnectionState returns the state of a TLS connection, or nil for another connection.
func (s *Socket) TLSConnectionState() *tls.ConnectionState { return s.conn.TLSConnectionState() }

// Queued returns how many bytes wait to be sent.
func (s *Socket) Queued() int { return s.conn.Queued() }

// Send sends a message of type TextMessage or BinaryMessage with a copy of payload. It does not
// check that text is UTF-8. It never waits: if the peer does not read, the message waits in the
// queue of the socket, in the order of the calls. Messages sent by OnMessage may be held for about
// 2 ms, to be sent together with the answers to messages that have arrived as well. If both sides
// have agreed on compression, a message of at least Compression.Threshold bytes is compressed.
//
// The error is ErrQueueFull if Handler.MaxQueue does not permit that, ErrCloseSent after Close, or
// net.ErrClosed if the connection has ended.
func (s *Socket) Send(messageType int, payload []byte) error {
	if messageType != TextMessage && messageType != BinaryMessage {
		return errMessageType
	}
	var err error
	if s.compresses(len(payload)) {
		err = s.appendCompressed(ws.Opcode(messageType), payload)
	} else {
		s.mu.Lock()
		if err = s.mayQueue(len(payload)); err == nil {
			err = s.append(ws.Head{Opcode: ws.Opcode(messageType), Fin: true}, payload)
		}
		s.mu.Unlock()
	}
	if err == nil {
		s.conn.Flush()
	}
	return err
}

// SendPrepared is Send for a message that many sockets send. The sockets share the memory of the
// message, and of its compressed form if they have agreed on the same window.
func (s *Socket) SendPrepared(m *PreparedMessage) error {
	if m.plain == nil {
		return errMessageType
	}
	var err error
	if s.compresses(len(m.data)) {
		err = s.appendPreparedCompressed(m)
	} else {
		s.mu.Lock()
		if err = s.mayQueue(len(m.data)); err == nil {
			err = s.appendShared(m.plain)
		}
		s.mu.Unlock()
	}
	if err == nil {
		s.conn.Flush()
	}
	return err
}

// mayQueue checks whether a message of n bytes, before compression, may be sent. mu is held.
func (s *Socket) mayQueue(n int) error {
	if s.state&socketEnded != 0 {
		return net.ErrClosed
	}
	if phase := s.ws.Phase(); phase != ws.Open && phase != ws.CloseReceived {
		return ErrCloseSent
	}
	if queued := s.conn.Queued(); queued > 0 && queued+n > s.settings.queue {
		s.conn.NotifyDrained(s.settings.queue / 2)
		return ErrQueueFull
	}
	return nil
}

// append appends a message, which mayQueue has admitted, to the queue. mu is held.
func (s *Socket) append(h ws.Head, payload []byte) error {
	if s.ws.Admit(h, payload) != nil {
		return ErrCloseSent
	}
	var room [ws.MaxHead]byte
	return s.conn.Append(ws.AppendHead(room[:0], h, len(payload)), payload)
}

// appendShared is append for a frame whose memory sockets share. mu is held.
func (s *Socket) appendShared(p *ws.Prepared) error {
	if s.ws.Admit(p.Head(), p.Payload()) != nil {
		return ErrCloseSent
	}
	return s.conn.AppendShared(p.Frame())
}

// SendWait is Send that waits, until ctx ends, while the queue is full. It then returns the error
// of ctx.
func (s *Socket) SendWait(ctx context.Context, messageType int, payload []byte) error {
	for {
		err := s.Send(messageType, payload)
		if err != ErrQueueFull {
			return err
		}
		if err := s.conn.WaitQueued(ctx, max(s.settings.queue-len(payload), 0)); err != nil {
			return err
		}
	}
}

// Ping sends a Ping frame with a payload of at most 125 bytes. The Pong frame that answers it is
// not reported. The error is ErrCloseSent after Close, net.ErrClosed if the connection has ended, or
// a description of a payload too long.
func (s *Socket) Ping(payload []byte) error {
	s.mu.Lock()
	err := s.control(ws.Ping, payload)
	s.mu.Unlock()
	if err == nil {
		s.conn.Flush()
	}
	return err
}

// control appends a control frame. mu is held.
func (s *Socket) control(opcode ws.Opcode, payload []byte) error {
	var room [ws.MaxHead + ws.MaxControl]byte
	b, err := s.ws.Send(room[:0], ws.Head{Opcode: opcode, Fin: true}, payload)
	switch {
	case err == nil:
		return s.conn.Append(b, nil)
	case err == ws.ErrClosing:
		return ErrCloseSent
	}
	return err
}

// Close begins the closing handshake: it sends a Close frame after everything that was sent
// before, with a code such as CloseNormalClosure and a reason of at most 123 bytes of UTF-8. The
// connection ends when the peer has answered, or after Handler.CloseTimeout. Meanwhile messages of
// the peer are still handled, but nothing more is sent. OnClose is called at the end.
//
// The error is ErrCloseSent if it was called before, or if the peer has begun the closing
// handshake.
func (s *Socket) Close(code int, reason string) error {
	s.mu.Lock()
	err := s.close(ws.Code(code), reason)
	s.mu.Unlock()
	if err == nil {
		s.conn.Flush()
	}
	return err
}

// close sends a Close frame. mu is held.
func (s *Socket) close(code ws.Code, reason string) error {
	if s.state&socketEnded != 0 {
		return net.ErrClosed
	}
	var room [ws.MaxHead + ws.MaxControl]byte
	b, err := s.ws.SendClose(room[:0], code, reason, 0)
	if err != nil {
		if err == ws.ErrClosing {
			err = ErrCloseSent
		}
		return err
	}
	if err := s.conn.Append(b, nil); err != nil {
		return err
	}
	limit := s.settings.closingTime
	if limit > 0 {
		s.conn.EndAfter(limit)
	} else {
		s.conn.EndAfter(DefaultCloseTimeout)
	}
	if limit < 0 || s.ws.Phase() == ws.Closed {
		_ = s.conn.Close()
	}
	return nil
}

// Abort ends the connection at once, without a closing handshake. Messages that have arrived are not
// handled any more.
func (s *Socket) Abort() {
	s.mu.Lock()
	s.state |= socketAborted
	s.mu.Unlock()
	s.conn.Abort()
}

// fail records why the socket closes, unless there is a reason already. mu is held.
func (s *Socket) fail(err error) {
	if x := s.more(); x.fault == nil {
		x.fault = err
	}
}

// outcome returns the arguments of OnClose. mu is held, and err is the error of the connection.
func (s *Socket) outcome(err error) (code int, reason error) {
	if err == nil || err == io.EOF {
		err = &CloseError{Code: CloseAbnormalClosure}
	}
	x := s.extra
	if x == nil {
		return CloseAbnormalClosure, err
	}
	fault, _ := errors.AsType[*FaultError](x.fault)
	switch {
	case fault != nil:
		return fault.Code, fault
	case x.fault == ErrReadLimit:
		return CloseMessageTooBig, x.fault
	case x.closed != nil:
		return x.closed.Code, x.closed
	case x.fault != nil:
		err = x.fault
	}
	return CloseAbnormalClosure, err
}
