package fakeh2

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"

	"github.com/valyala/fasthttp/bench/internal/h2frame"
)

// Server answers HTTP/2 clients with responses made in advance. It detects the ends of
// requests, and does not decode them.
type Server struct {
	first   message // of each connection
	answers []message
	conns   int
	mu      sync.Mutex
}

// NewServer returns a Server that sends these responses in turn, repeatedly. Each connection
// begins at a different one.
func NewServer(answers []Message) (*Server, error) {
	if len(answers) == 0 {
		return nil, errors.New("fakeh2: no responses")
	}
	for i := range answers {
		if len(answers[i].Body) == 0 {
			return nil, errors.New("fakeh2: a response without content")
		}
	}
	s := new(Server)
	var err error
	s.first, s.answers, err = encode(answers)
	return s, err
}

// Dial returns a connection in memory.
func (s *Server) Dial() net.Conn {
	c := &served{side: s.newSide()}
	c.changed.L = &c.mu
	return c
}

// Serve answers the requests of a connection until it ends.
func (s *Server) Serve(nc net.Conn) error {
	side := s.newSide()
	buf := make([]byte, 64<<10)
	for {
		if len(side.out) > 0 {
			if _, err := nc.Write(side.out); err != nil {
				return err
			}
			side.out = side.out[:0]
		}
		n, err := nc.Read(buf)
		if err != nil {
			return err
		}
		if err := side.take(buf[:n]); err != nil {
			return err
		}
	}
}

func (s *Server) newSide() side {
	s.mu.Lock()
	defer s.mu.Unlock()
	next := s.conns * apart % len(s.answers)
	s.conns++
	return side{
		server: s, next: next, greets: len(h2frame.Preface),
		out: append(make([]byte, 0, enough), helloOfServer()...),
	}
}

// helloOfServer returns the server's first frames, with a window large enough for all content
// of the client.
func helloOfServer() []byte {
	b := h2frame.AppendSettings(nil, h2frame.SettingStreams, slots, h2frame.SettingWindow, h2frame.LargestWindow)
	return h2frame.AppendWindow(b, h2frame.LargestWindow-h2frame.FirstWindow)
}

// side is the server's side of a connection.
type side struct {
	server   *Server
	greets   int // bytes of the preface that are missing
	next     int // answer
	last     uint32
	received int // content of requests since the last window update
	out      []byte
	in       h2frame.Reader
}

// take processes the bytes that the client has written.
func (s *side) take(p []byte) error {
	if s.greets > 0 {
		n := min(s.greets, len(p))
		if string(p[:n]) != h2frame.Preface[len(h2frame.Preface)-s.greets:][:n] {
			return errors.New("fakeh2: the client has another preface")
		}
		s.greets -= n
		p = p[n:]
	}
	return s.in.Feed(p, s.frame)
}

func (s *side) frame(f h2frame.Frame) error {
	switch f.Kind {
	case h2frame.Headers:
		if f.Stream <= s.last || f.Stream%2 == 0 || !f.Is(h2frame.EndHeaders) {
			return fmt.Errorf("fakeh2: a request on stream %d with flags %x", f.Stream, f.Flags)
		}
		s.last = f.Stream
		s.answerAt(f)
	case h2frame.Data:
		if s.received += len(f.Payload); s.received >= refresh {
			s.out = h2frame.AppendWindow(s.out, s.received)
			s.received = 0
		}
		s.answerAt(f)
	case h2frame.Settings, h2frame.Ping:
		s.out = h2frame.AppendAnswer(s.out, f)
	case h2frame.Reset:
		return fmt.Errorf("fakeh2: stream %d is reset: %x", f.Stream, f.Payload)
	case h2frame.Continuation:
		return fmt.Errorf("fakeh2: a frame of type %d", f.Kind)
	}
	return nil
}

// answerAt answers a request if it has ended.
func (s *side) answerAt(f h2frame.Frame) {
	if !f.Is(h2frame.EndStream) {
		return
	}
	m := &s.server.first
	if f.Stream > 1 {
		m = &s.server.answers[s.next]
		if s.next++; s.next == len(s.server.answers) {
			s.next = 0
		}
	}
	s.out = m.appendTo(s.out, f.Stream)
}

// served is the client's view of a connection in memory. It may be used by one reader and one
// writer concurrently.
type served struct {
	deadlines
	side    side
	sent    int // of side.out
	waiting bool
	closed  bool
}

// Read returns responses, and waits for them.
func (c *served) Read(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		switch {
		case c.closed:
			return 0, io.EOF
		case c.expired:
			return 0, os.ErrDeadlineExceeded
		case c.sent < len(c.side.out):
			n := copy(p, c.side.out[c.sent:])
			if c.sent += n; c.sent == len(c.side.out) {
				c.side.out, c.sent = c.side.out[:0], 0
			}
			return n, nil
		}
		c.waiting = true
		c.changed.Wait()
		c.waiting = false
	}
}

// Write receives requests.
func (c *served) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return 0, net.ErrClosed
	}
	if err := c.side.take(p); err != nil {
		c.closed = true
		c.changed.Broadcast()
		return 0, err
	}
	if c.waiting {
		c.changed.Signal()
	}
	return len(p), nil
}

func (c *served) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	c.changed.Broadcast()
	return nil
}

func (c *served) LocalAddr() net.Addr  { return clientAddr }
func (c *served) RemoteAddr() net.Addr { return serverAddr }
