package websocket

import (
	"sync"

	"github.com/valyala/fasthttp/internal/bufpool"
	"github.com/valyala/fasthttp/internal/ws"
	"github.com/valyala/fasthttp/internal/wsflate"
)

// socketWindows are the logarithms of the windows of permessage-deflate, or 0 if messages are not
// compressed. A Socket without takeover needs nothing else, so that it is no larger while idle.
type socketWindows struct {
	server uint8
	client uint8 // plus takesOver
}

// takesOver means that the socket has a socketContext, all the time.
const takesOver = 0x80

// socketContext is what a Socket holds between messages that refer to those before them.
type socketContext struct {
	mu      sync.Mutex       // held from the compression of a message until it is in the queue
	deflate wsflate.Deflater // guarded by mu
	inflate wsflate.Inflater // belongs to the methods of the EventHandler
}

// beginCompression sets the parameters that both sides have agreed on.
func (s *Socket) beginCompression(d ws.Deflate) {
	s.windows.server, s.windows.client = d.Windows()
	if d.ServerNoContext && d.ClientNoContext {
		return
	}
	s.more().context = &socketContext{
		deflate: wsflate.Deflater{Level: s.settings.level, Bits: s.windows.server, Takeover: !d.ServerNoContext},
		inflate: wsflate.Inflater{Bits: s.windows.client, Takeover: !d.ClientNoContext},
	}
	s.windows.client |= takesOver
}

// context returns what the socket holds between messages, or nil. mu need not be held.
func (s *Socket) context() *socketContext {
	if s.windows.client&takesOver == 0 {
		return nil
	}
	return s.extra.context
}

// compresses reports whether messages of n bytes are compressed.
func (s *Socket) compresses(n int) bool { return s.windows.server != 0 && n >= s.settings.threshold }

// appendCompressed compresses a message, and appends it to the queue. mu is not held, so that the
// socket answers control frames meanwhile.
func (s *Socket) appendCompressed(opcode ws.Opcode, payload []byte) error {
	var once wsflate.Deflater
	d := &once
	if x := s.context(); x != nil {
		x.mu.Lock()
		defer x.mu.Unlock()
		d = &x.deflate
	} else {
		once.Level, once.Bits = s.settings.level, s.windows.server
	}
	s.mu.Lock()
	err := s.mayQueue(len(payload))
	s.mu.Unlock()
	if err != nil {
		return err
	}
	out := bufpool.Get(len(payload) / 2)
	defer bufpool.Put(out)
	d.Compress(out, payload)
	s.mu.Lock()
	err = s.append(ws.Head{Opcode: opcode, Fin: true, RSV1: true}, out.B)
	s.mu.Unlock()
	if err != nil {
		// nothing is sent any more
		d.Release()
	}
	return err
}

// appendPreparedCompressed appends the compressed form of a message to the queue.
func (s *Socket) appendPreparedCompressed(m *PreparedMessage) error {
	x := s.context()
	if x != nil {
		x.mu.Lock()
		defer x.mu.Unlock()
	}
	s.mu.Lock()
	err := s.mayQueue(len(m.data))
	s.mu.Unlock()
	if err != nil {
		return err
	}
	if x != nil {
		// later messages must not refer to those before this one, which they would take for the
		// last one
		x.deflate.Release()
	}
	frame := m.compressed(s.settings.level, s.windows.server)
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.appendShared(frame)
}

// handleCompressed decompresses a whole message, and calls OnMessage. It returns false if the
// message is malformed or too large.
func (s *Socket) handleCompressed(opcode ws.Opcode, packed []byte) bool {
	once := wsflate.Inflater{Bits: s.windows.client &^ takesOver}
	i := &once
	if x := s.context(); x != nil {
		i = &x.inflate
	}
	plain := bufpool.Get(2 * len(packed))
	defer bufpool.Put(plain)
	fault := decompress(i, plain, opcode, packed, s.settings.limits.Message)
	s.dropParts()
	if fault != nil {
		s.mu.Lock()
		_ = s.ws.Fail(fault)
		s.failFor(fault)
		s.mu.Unlock()
		return false
	}
	if f := s.settings.handler.OnMessage; f != nil {
		f(s, Message{int(opcode), plain.B})
	}
	return true
}

// release frees the memory of a socket that has ended.
func (x *socketContext) release() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.deflate.Release()
	x.inflate.Release()
}
