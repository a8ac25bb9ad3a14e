package main

import (
	"bytes"
	"io"
	"net"
	"sync"
	"time"
)

// script is a connection whose peer has already sent everything and closed
// its sending side.
type script struct {
	in     *bytes.Reader
	chunk  int
	mu     sync.Mutex
	out    bytes.Buffer
	closed chan struct{}
	once   sync.Once
}

const (
	whole    = 0
	oneByOne = 1
)

func newScript(raw string, chunk int) *script {
	return &script{in: bytes.NewReader([]byte(raw)), chunk: chunk, closed: make(chan struct{})}
}

func (s *script) Read(p []byte) (int, error) {
	select {
	case <-s.closed:
		return 0, net.ErrClosed
	default:
	}
	if s.chunk > 0 {
		p = p[:min(len(p), s.chunk)]
	}
	n, err := s.in.Read(p)
	if n == 0 && len(p) > 0 && err == nil {
		err = io.EOF
	}
	return n, err
}

func (s *script) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.closed:
		return 0, net.ErrClosed
	default:
	}
	return s.out.Write(p)
}

func (s *script) Close() error {
	s.once.Do(func() { close(s.closed) })
	return nil
}

func (s *script) output() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.out.String()
}

func (s *script) LocalAddr() net.Addr              { return &net.TCPAddr{IP: net.IPv4(10, 0, 0, 1), Port: 80} }
func (s *script) RemoteAddr() net.Addr             { return &net.TCPAddr{IP: net.IPv4(10, 0, 0, 2), Port: 4000} }
func (s *script) SetDeadline(time.Time) error      { return nil }
func (s *script) SetReadDeadline(time.Time) error  { return nil }
func (s *script) SetWriteDeadline(time.Time) error { return nil }

// single is a listener that returns one connection and then waits for Close.
type single struct {
	conn  net.Conn
	taken bool
	done  chan struct{}
	once  sync.Once
}

func (l *single) Accept() (net.Conn, error) {
	if !l.taken {
		l.taken = true
		return l.conn, nil
	}
	<-l.done
	return nil, io.EOF
}

func (l *single) Close() error {
	l.once.Do(func() { close(l.done) })
	return nil
}

func (l *single) Addr() net.Addr { return l.conn.LocalAddr() }
