package websocket

import (
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/ws"
)

// Handler has the functions that are called for the sockets of Upgrader.Serve, and their
// settings. One Handler serves any number of sockets. It must not be copied, and its fields must
// not be changed after first use. Functions that are nil are not called.
//
// The functions for one socket are called one after the other, by changing goroutines; for
// several sockets they are called concurrently. They may block: meanwhile the socket still sends,
// but it handles no further messages. A panic in one of them is logged and ends the socket.
type Handler struct {
	// OnOpen is called first, after the opening handshake.
	OnOpen func(s *Socket)

	// OnMessage is called with each message, decompressed, in the order in which they have
	// arrived. m.Data is only valid until OnMessage returns; OnMessage may change it.
	OnMessage func(s *Socket, m Message)

	// OnDrain is called once after a Send has failed with ErrQueueFull, when no more than half of
	// MaxQueue waits.
	OnDrain func(s *Socket)

	// OnClose is called last. code is the status code of the Close frame of the peer:
	// CloseNoStatusReceived if the frame has none, and CloseAbnormalClosure if there was no
	// frame; or the code that was sent to the peer after a fault of the peer. err is a *CloseError
	// with the code, and the reason of a Close frame; a *FaultError, ErrReadLimit or
	// ErrPongTimeout; or another error that has ended the connection.
	OnClose func(s *Socket, code int, err error)

	// MaxMessage is the maximum size of a received message, in bytes, after decompression, which
	// stops at the limit. If it is 0,
	// Upgrader.ReadLimit applies. A negative value means no limit. A socket whose peer exceeds it
	// is closed with the code CloseMessageTooBig.
	MaxMessage int64

	// MaxQueue is how many bytes may wait in the queue of a socket that its peer does not read.
	// Send fails if its message, with its size before compression, would exceed that, unless
	// nothing waits. The default is 1 MiB; the most is 1 GiB, which is also the meaning of a
	// negative value.
	MaxQueue int

	// PingInterval and PongTimeout find peers that have gone: if nothing has arrived for
	// PingInterval, which varies by a fifth, the peer gets a Ping frame, and if nothing arrives
	// for PongTimeout after that, the connection is reset. The defaults are the fields of the
	// Upgrader with these names; if both intervals are 0, there are no Ping frames. Negative means
	// never: no Ping frame, or no reset. The time does not count while OnMessage blocks.
	PingInterval time.Duration
	PongTimeout  time.Duration

	// WriteTimeout is how long a peer may take to accept 64 KiB, before the connection is reset.
	// The default is Upgrader.WriteTimeout, or 15 seconds if that is not set; negative means no
	// limit.
	WriteTimeout time.Duration

	// CloseTimeout is how long the closing handshake may take: sending the queue and the Close
	// frame, and waiting for the Close frame of the peer. The default is Upgrader.CloseTimeout. If
	// it is negative, the server sends its Close frame and does not wait for the frame of the peer.
	CloseTimeout time.Duration

	settings atomic.Pointer[socketSettings]
}

// Message is a received message.
type Message struct {
	Type int    // TextMessage or BinaryMessage
	Data []byte // of a text message, UTF-8
}

// socketSettings are the settings of a Handler for the sockets of an Upgrader.
type socketSettings struct {
	socketTerms
	handler *Handler
	limits  ws.Limits
}

// socketTerms are the settings from which the others follow.
type socketTerms struct {
	message                        int64
	queue                          int
	threshold                      int  // the size of the smallest message to be compressed
	level                          int8 // of compression
	ping, pong, write, closingTime time.Duration
}

const (
	defaultQueue        = 1 << 20
	maxQueue            = 1 << 30
	defaultWriteTimeout = 15 * time.Second
)

// settingsFor returns the settings for sockets of u.
func (h *Handler) settingsFor(u *Upgrader) *socketSettings {
	terms := socketTerms{
		message:     either(h.MaxMessage, u.ReadLimit, DefaultReadLimit),
		queue:       either(h.MaxQueue, 0, defaultQueue),
		ping:        max(either(h.PingInterval, u.PingInterval, 0), 0),
		pong:        max(either(h.PongTimeout, u.PongTimeout, 0), -1),
		write:       max(either(h.WriteTimeout, u.WriteTimeout, defaultWriteTimeout), 0),
		closingTime: either(h.CloseTimeout, u.CloseTimeout, DefaultCloseTimeout),
		threshold:   u.Compression.threshold(),
		level:       u.Compression.level(),
	}
	if terms.queue < 0 {
		terms.queue = maxQueue
	}
	terms.queue = min(terms.queue, maxQueue)
	if terms.pong == 0 {
		terms.pong = terms.ping
	}
	if old := h.settings.Load(); old != nil && old.socketTerms == terms {
		return old
	}
	s := &socketSettings{socketTerms: terms, handler: h, limits: ws.Limits{Message: terms.message}}
	s.limits.Fill()
	h.settings.Store(s)
	return s
}

// either returns the first of its arguments other than 0.
func either[T int | int64 | time.Duration](a, b, c T) T {
	switch {
	case a != 0:
		return a
	case b != 0:
		return b
	}
	return c
}

// Serve upgrades the connection of the request, and calls the functions of h for what happens on
// it from then on. No goroutine belongs to the socket on the event engine, and no buffer while
// nothing arrives and nothing waits to be sent: an idle socket takes less than 450 bytes. Socket.Data
// returns data.
//
// The request is one of HTTP/1.1, or an extended CONNECT of HTTP/2 or HTTP/3, which the server
// accepts with HTTP2Config.ExtendedConnect. There each socket has a goroutine and a buffer of
// 4 KiB, on every engine.
//
// If the request is not a valid opening handshake, Serve makes ctx.Response the refusal, and the
// error is a HandshakeError. Otherwise the upgrade happens when the RequestHandler has returned.
// The request ends then: the functions of h must not use ctx.
//
// The connection still belongs to the server: Shutdown closes each socket with the code
// CloseGoingAway after the message being handled, and waits for the end of the closing
// handshakes.
//
// With Upgrader.EnableCompression, messages are compressed if the client agrees. A socket takes
// compressors from a pool while it needs them, so an idle socket holds none. With
// Compression.ContextTakeover it holds two things until it ends: from the first compressed message
// received on, twice the window of the client, so up to 64 KiB; and from the first one sent on, a
// compressor of 0.8 to 1.4 MiB, by the level, which a smaller window does not reduce.
func (u *Upgrader) Serve(ctx *fasthttp.RequestCtx, h *Handler, data any) error {
	agreed, err := u.handshake(ctx)
	if err != nil {
		return err
	}
	s := &Socket{settings: h.settingsFor(u), data: data}
	if agreed.subprotocol != "" {
		s.more().subprotocol = agreed.subprotocol
	}
	s.ws.Init(ws.Server, &s.settings.limits, ws.Extensions{Compression: agreed.compressed})
	if agreed.compressed {
		s.beginCompression(agreed.deflate)
	}
	ctx.SwitchProtocols(&s.conn, (*socketEvents)(s))
	return nil
}
