package engine

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"testing"
	"time"

	"github.com/valyala/fasthttp/fasthttputil"
	"github.com/valyala/fasthttp/internal/servertest"
)

// lines is a Protocol that sends back each line that it gets.
type lines struct {
	c       *Conn
	in, out []byte
	ended   bool
}

func (p *lines) ReadBuffer() []byte {
	if len(p.in) == cap(p.in) {
		p.in = append(p.in, make([]byte, 16)...)[:len(p.in)]
	}
	return p.in[len(p.in):cap(p.in)]
}
func (p *lines) Received(n int, _ Arrival) { p.in = p.in[:len(p.in)+n] }
func (p *lines) InputEnded(error)          { p.ended = true }
func (p *lines) Step() Action {
	if i := bytes.LastIndexByte(p.in, '\n'); i >= 0 {
		p.out = append(p.out, p.in[:i+1]...)
		p.in = append(p.in[:0], p.in[i+1:]...)
		p.c.Requests++
	}
	switch {
	case len(p.out) > 0:
		return Flush
	case p.ended:
		return Close
	}
	return Read
}
func (p *lines) Output() (head, tail []byte, file *FilePart)               { return p.out, nil, nil }
func (p *lines) Written(n int64, _ error)                                  { p.out = p.out[:copy(p.out, p.out[n:])] }
func (p *lines) Idle() bool                                                { return len(p.in) == 0 && !p.ended }
func (p *lines) Wait(Wait) (until time.Time)                               { return until }
func (p *lines) Yield() (w Wait, until time.Time)                          { return WaitWritable, until }
func (p *lines) DeadlineExceeded()                                         {}
func (p *lines) Hijack() func(nc net.Conn, err error)                      { return nil }
func (p *lines) Abandoned()                                                {}
func (*linesHost) AcquireProtocol(c *Conn, _ Link, _ Protocol) Protocol    { return &lines{c: c} }
func (*linesHost) ReleaseProtocol(Protocol, bool) (last Protocol, _ error) { return nil, nil }

type linesHost struct{ unlimited }

func newLines() *Set {
	s := &Set{Host: new(linesHost)}
	s.Renew()
	return s
}

// serve serves ln by the engine with this name.
func serve(t *testing.T, s *Set, ln net.Listener, engine string) {
	serveUntilEnd(t, s, ln, func() error {
		if engine == "event" {
			if ok, err := s.ServeEvents(ln, nil); ok {
				return err
			}
		}
		return s.Serve(ln)
	})
}

// serveUntilEnd calls serve, and shuts down at the end of the test.
func serveUntilEnd(t *testing.T, s *Set, ln net.Listener, serve func() error) {
	served := make(chan error, 1)
	go func() { served <- serve() }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), servertest.Patience)
		defer cancel()
		if err := s.Shutdown(ctx, func() {}); err != nil {
			t.Errorf("Shutdown: %v", err)
		}
		_ = ln.Close()
		if err := servertest.Receive(t, "the end of Serve", served); err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
}

func TestAnotherProtocolRunsOnBothEngines(t *testing.T) {
	memory := fasthttputil.NewInmemoryListener()
	socket, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	for engine, ln := range map[string]net.Listener{"portable": memory, "event": socket} {
		t.Run(engine, func(t *testing.T) {
			s := newLines()
			serve(t, s, ln, engine)
			dial := memory.Dial
			if engine == "event" {
				dial = func() (net.Conn, error) { return net.Dial("tcp4", socket.Addr().String()) }
			}
			nc, err := dial()
			if err != nil {
				t.Fatal(err)
			}
			_ = nc.SetDeadline(time.Now().Add(servertest.Patience))
			r := bufio.NewReader(nc)
			for _, text := range []string{"one\n", "two\nthree\n", string(bytes.Repeat([]byte("long"), 1<<18)) + "\n"} {
				go func() {
					// in pieces, as a network may deliver it
					half := len(text) / 2
					_, _ = io.WriteString(nc, text[:half])
					_, _ = io.WriteString(nc, text[half:])
				}()
				got := make([]byte, len(text))
				if _, err := io.ReadFull(r, got); err != nil || string(got) != text {
					t.Fatalf("got %.20q, %v, want %.20q", got, err, text)
				}
			}
			if n := s.Open(); n != 1 {
				t.Errorf("%d connections, want 1", n)
			}
			_ = nc.Close()
		})
	}
}
