package fasthttp

import (
	"bufio"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"github.com/valyala/fasthttp/internal/servertest"
)

// lastWords is an EventHandler that sends some output and closes the connection.
type lastWords struct {
	conn  EventConn
	size  int
	ended chan error
}

func (h *lastWords) Opened(c *EventConn) {
	_ = c.AppendShared(make([]byte, h.size))
	_ = c.Close()
}
func (h *lastWords) Received(_ *EventConn, p []byte) (n int) { return len(p) }
func (h *lastWords) Drained(*EventConn)                      {}
func (h *lastWords) Tick(*EventConn)                         {}
func (h *lastWords) ShuttingDown(*EventConn)                 {}
func (h *lastWords) Ended(_ *EventConn, err error)           { h.ended <- err }

// TestClosedEventConnLimitsTheTimeOfItsOutput has peers of a pipe without a buffer, which take the
// last output slowly, and not at all.
func TestClosedEventConnLimitsTheTimeOfItsOutput(t *testing.T) {
	for _, tt := range []struct {
		name           string
		server, handle time.Duration // the timeouts of the server and of the handler
		limit          time.Duration // for 64 KiB
	}{
		{"default", 0, 0, 30 * time.Second},
		{"of the server", 7 * time.Second, 0, 7 * time.Second},
		{"of the handler", 7 * time.Second, 5 * time.Minute, 5 * time.Minute},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				const size = 1 << 20
				h := &lastWords{size: size, ended: make(chan error, 1)}
				s := &Server{NoDefaultDate: true, WriteTimeout: tt.server, Logger: &servertest.Log{}, Handler: func(ctx *RequestCtx) {
					h = &lastWords{size: size, ended: make(chan error, 1)}
					h.conn.SetWriteTimeout(tt.handle)
					ctx.SetStatusCode(StatusSwitchingProtocols)
					ctx.SwitchProtocols(&h.conn, h)
				}}
				dial := func() (c net.Conn, r *bufio.Reader, served chan error) {
					c, nc := net.Pipe()
					served = make(chan error, 1)
					go func() { served <- s.ServeConn(nc) }()
					_, err := io.WriteString(c, servertest.Get("/"))
					servertest.Must(t, err)
					r = bufio.NewReaderSize(c, 16)
					for {
						line, err := r.ReadString('\n')
						servertest.Must(t, err)
						if line == "\r\n" {
							return c, r, served
						}
					}
				}
				// as slow as is allowed
				c, r, served := dial()
				for left := size; left > 0; left -= 64 << 10 {
					time.Sleep(tt.limit * 9 / 10)
					_, err := io.ReadFull(r, make([]byte, 64<<10))
					servertest.Must(t, err)
				}
				servertest.Must(t, <-h.ended)
				_ = c.Close()
				servertest.Must(t, <-served)
				// the peer stops
				c, r, served = dial()
				_, err := io.ReadFull(r, make([]byte, 64<<10))
				servertest.Must(t, err)
				began := time.Now()
				if err := <-h.ended; !errors.Is(err, os.ErrDeadlineExceeded) {
					t.Errorf("ended with %v", err)
				}
				if took := time.Since(began); took < tt.limit || took > 2*tt.limit {
					t.Errorf("ended after %v, want %v or up to twice as much", took, tt.limit)
				}
				<-served
				_ = c.Close()
			})
		})
	}
}

// lateWords is an EventHandler that answers when the gate is open.
type lateWords struct {
	lastWords
	gate *servertest.Gate
}

func (h *lateWords) Opened(*EventConn) {}
func (h *lateWords) Received(c *EventConn, p []byte) (n int) {
	h.gate.Pass("Received")
	_ = c.AppendShared(make([]byte, h.size))
	return len(p)
}

// TestEventConnThatHasEndedLeavesPeersThatReadNothing has peers that end their input before the
// output, and read nothing.
func TestEventConnThatHasEndedLeavesPeersThatReadNothing(t *testing.T) {
	t.Parallel()
	forEachEngine(t, func(t *testing.T, start starter) {
		h := &lateWords{lastWords{size: 64 << 20, ended: make(chan error, 1)}, servertest.NewGate()}
		ts := start(&Server{
			WriteTimeout: servertest.Short,
			// the response that switches has more time
			HeaderReceived: func(*RequestHeader) RequestConfig { return RequestConfig{WriteTimeout: time.Hour} },
			Handler: func(ctx *RequestCtx) {
				ctx.SetStatusCode(StatusSwitchingProtocols)
				ctx.SwitchProtocols(&h.conn, h)
			},
		})
		if !ts.Engine.Sockets {
			t.Skip("no half of a connection can be closed")
		}
		c := ts.Dial()
		c.Get("/")
		if resp := c.Next("GET"); resp.StatusCode != StatusSwitchingProtocols {
			t.Fatalf("got %d", resp.StatusCode)
		}
		is := func(s eventState) bool {
			h.conn.mu.Lock()
			defer h.conn.mu.Unlock()
			return h.conn.is(s)
		}
		servertest.Eventually(t, "the other protocol", func() bool { return is(eventOpened) })
		if h.conn.engineConn().HasReadGoroutine {
			// while that goroutine waits for input, another one writes
			servertest.Must(t, h.conn.AppendShared(make([]byte, h.size)))
			h.conn.Flush()
			_, err := c.R.Discard(1000)
			servertest.Must(t, err)
			c.EndWrites()
		} else {
			c.Send("x")
			servertest.Receive(t, "the handler", h.gate.Entered)
			c.EndWrites()
			servertest.Eventually(t, "the end of the input", func() bool { return is(eventEOF) })
			close(h.gate.Open)
		}
		if err := servertest.Receive(t, "the end", h.ended); err != io.EOF {
			t.Errorf("ended with %v", err)
		}
		servertest.Eventually(t, "no connection", func() bool { return ts.S.GetOpenConnectionsCount() == 0 })
	})
}
