package fasthttp

import (
	"net"
	"os"
	"testing"
	"time"

	"github.com/valyala/fasthttp/fasthttputil"
	"github.com/valyala/fasthttp/internal/servertest"
)

// A shutdown responds to requests that arrived before it began.
func TestShutdownAnswersWhatHasArrived(t *testing.T) {
	const rounds = 40
	forEachEngine(t, func(t *testing.T, start starter) {
		t.Parallel()
		for name, prepare := range map[string]func(c *servertest.Conn){
			"first request": func(*servertest.Conn) {},
			"next request": func(c *servertest.Conn) {
				c.Get("/1")
				c.Expect(200, servertest.Echoed("GET", "/1", ""))
			},
		} {
			t.Run(name, func(t *testing.T) {
				dropped := 0
				for range rounds {
					ts := start(&Server{Handler: echo})
					servertest.Eventually(t, "Serve", func() bool { return ts.S.conns.Listeners() > 0 })
					c := ts.Dial()
					prepare(c)
					c.Get("/2")
					if err := ts.S.Shutdown(); err != nil {
						t.Fatal(err)
					}
					resp, err := servertest.ReadResponse(c.R, "GET")
					if err != nil {
						dropped++
						continue
					}
					if resp.Content != servertest.Echoed("GET", "/2", "") {
						t.Errorf("got %q", resp.Content)
					}
					c.ExpectEnd()
				}
				// a busy system may deliver a request only when the shutdown has begun, but few of them
				if dropped > rounds/8 {
					t.Errorf("%d of %d requests were dropped", dropped, rounds)
				}
			})
		}
	})
}

// busyConn is a connection on a machine that is too busy to read in time: a Read waits until
// there is a deadline, and the first such Reads return nothing.
type busyConn struct {
	net.Conn
	misses   int // how many reads with a deadline return nothing
	deadline chan struct{}
	waits    chan struct{} // gets a value when the first Read begins
}

func (c *busyConn) SetReadDeadline(t time.Time) error {
	if !t.IsZero() {
		select {
		case c.deadline <- struct{}{}:
		default:
		}
	}
	// a Read that returns something is never late
	return nil
}

func (c *busyConn) Read(p []byte) (int, error) {
	select {
	case c.waits <- struct{}{}:
	default:
	}
	<-c.deadline
	if c.misses--; c.misses >= 0 {
		return 0, os.ErrDeadlineExceeded
	}
	return c.Conn.Read(p)
}

// A request that has arrived is answered even if a busy machine has missed the time for
// reading it.
func TestShutdownLooksAgain(t *testing.T) {
	s := &Server{Handler: echo, Logger: &servertest.Log{}}
	pc := fasthttputil.NewPipeConns()
	defer pc.Close()
	// the wait for a request misses it, and the first look after that
	busy := &busyConn{Conn: pc.Conn2(), misses: 2, deadline: make(chan struct{}, 1), waits: make(chan struct{}, 1)}
	served := inBackground(func() error { return s.ServeConn(busy) })
	c := servertest.NewConn(t, pc.Conn1())
	_ = c.SetDeadline(time.Now().Add(servertest.Patience))
	c.Get("/")
	// a connection that does not wait yet has one look less
	servertest.Receive(t, "the wait for a request", busy.waits)
	servertest.ShutDown(t, s)
	c.Expect(200, servertest.Echoed("GET", "/", ""))
	if err := servertest.Receive(t, "return of ServeConn", served); err != nil {
		t.Errorf("ServeConn: %v", err)
	}
}
