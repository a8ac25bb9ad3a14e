package clientconn

import (
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"github.com/valyala/fasthttp/internal/netio"
	"github.com/valyala/fasthttp/internal/servertest"
)

// A canceled guard extends no deadline, whichever method is called.
func TestGuardStaysCanceled(t *testing.T) {
	a, b := net.Pipe()
	defer a.Close()
	defer b.Close()
	g := Guard{conn: a}
	if err := g.Limit(time.Time{}, time.Time{}); err != nil || g.Err() != nil || !g.MayRead() {
		t.Fatalf("a new guard says %v", err)
	}
	first := errors.New("first")
	g.Cancel(first)
	g.Cancel(errors.New("second"))
	later := time.Now().Add(time.Hour)
	for name, err := range map[string]error{
		"limit": g.Limit(later, later), "LimitRead": g.LimitRead(later), "LimitWrite": g.LimitWrite(time.Time{}),
		"Shorten": g.Shorten(later), "ShortenWrite": g.ShortenWrite(later), "LimitRequest": g.LimitRequest(later),
		"LimitAnswer": g.LimitResponse(later, later), "PassHead": g.PassHead(), "err": g.Err(),
	} {
		if err != first {
			t.Errorf("%s: %v", name, err)
		}
	}
	if g.MayRead() {
		t.Error("there is time for reading")
	}
	if _, err := a.Read(make([]byte, 1)); !netio.IsTimeout(err) {
		t.Errorf("reading: %v", err)
	}
}

// The deadlines of a response may be set in any order.
func TestGuardLimitsTheHeadOfAnAnswer(t *testing.T) {
	start := time.Now()
	at := func(minutes int) time.Time { return start.Add(time.Duration(minutes) * time.Minute) }
	request := func(g *Guard) error { return g.LimitRequest(at(9)) }
	answer := func(g *Guard) error { return g.LimitResponse(at(1), at(5)) }
	unlimited := func(g *Guard) error { return g.LimitResponse(at(1), time.Time{}) }
	words := func(g *Guard) error { return g.LimitRead(at(2)) }
	for name, tt := range map[string]struct {
		steps []func(g *Guard) error
		want  time.Time
	}{
		"waiting":                    {[]func(*Guard) error{request, answer}, at(1)},
		"the head came":              {[]func(*Guard) error{request, answer, (*Guard).PassHead}, at(5)},
		"no other deadline":          {[]func(*Guard) error{request, unlimited}, at(1)},
		"no other deadline, head":    {[]func(*Guard) error{request, unlimited, (*Guard).PassHead}, time.Time{}},
		"still sending":              {[]func(*Guard) error{request, (*Guard).PassHead}, at(9)},
		"sent after the head":        {[]func(*Guard) error{request, (*Guard).PassHead, answer}, at(5)},
		"sending failed":             {[]func(*Guard) error{request, answer, words, (*Guard).PassHead}, at(2)},
		"the next one":               {[]func(*Guard) error{request, answer, (*Guard).PassHead, request, answer}, at(1)},
		"the next one, still unsent": {[]func(*Guard) error{request, answer, request, (*Guard).PassHead}, at(9)},
	} {
		a, b := net.Pipe()
		g := &Guard{conn: a}
		for _, step := range tt.steps {
			if err := step(g); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		if !g.readBy.Equal(tt.want) {
			t.Errorf("%s: the deadline is %v, want %v", name, g.readBy.Sub(start), tt.want.Sub(start))
		}
		_, _ = a.Close(), b.Close()
	}
}

// A connection without deadlines ends nevertheless.
func TestGuardEndsConnectionsWithoutDeadlines(t *testing.T) {
	for part, end := range map[string]func(g *Guard){
		"canceled": func(g *Guard) { g.Cancel(servertest.ErrTimeless) }, "stopped": (*Guard).StopWriting,
	} {
		a, b := net.Pipe()
		g := Guard{conn: servertest.TimelessConn{Conn: a}}
		ended := make(chan error, 2)
		go func() {
			_, err := a.Read(make([]byte, 1))
			ended <- err
		}()
		go func() {
			_, err := a.Write(make([]byte, 1))
			ended <- err
		}()
		end(&g)
		for range 2 {
			if err := servertest.Receive(t, part, ended); err != io.ErrClosedPipe {
				t.Errorf("%s: %v", part, err)
			}
		}
		_ = b.Close()
	}
}

// deadConn is a connection of the application whose methods for deadlines panic.
type deadConn struct{ net.Conn }

func (deadConn) SetReadDeadline(time.Time) error  { panic("a mistake") }
func (deadConn) SetWriteDeadline(time.Time) error { panic("a mistake") }

// The end of a context cancels a connection on a goroutine of its own, where a panic would end the
// program. The call that uses the connection must not wait for a lock then.
func TestGuardEndsConnectionsWhoseDeadlinesPanic(t *testing.T) {
	for part, end := range map[string]func(g *Guard){
		"canceled": func(g *Guard) { g.Cancel(servertest.ErrTimeless) }, "stopped": (*Guard).StopWriting,
	} {
		a, b := net.Pipe()
		g := Guard{conn: deadConn{a}}
		func() {
			defer func() {
				if p := recover(); p != nil {
					t.Errorf("%s: panic: %v", part, p)
				}
			}()
			end(&g)
		}()
		_ = b.SetReadDeadline(PastDeadline)
		if _, err := b.Read(make([]byte, 1)); err != io.EOF {
			t.Errorf("%s: the connection is open: %v", part, err)
		}
		if !g.mu.TryLock() {
			t.Errorf("%s: the lock is held", part)
		}
		_, _ = a.Close(), b.Close()
	}
}

// Bytes that were not read are not the answer to the next request.
func TestTimedConnectionThatIsNotQuiet(t *testing.T) {
	servertest.Bubble(t, func(t *testing.T) {
		near, far := net.Pipe()
		var line Conn
		line.Attach(servertest.TimelessConn{Conn: near}, 4<<10)
		go func() {
			_, _ = far.Write([]byte("ab"))
			_ = far.Close()
		}()
		for i, quiet := range []bool{false, true} {
			if n, err := line.Read(make([]byte, 1)); n != 1 || err != nil || line.IsQuiet() != quiet {
				t.Errorf("read %d: got %d bytes, %v, quiet %v", i, n, err, line.IsQuiet())
			}
		}
		_ = line.Guard.Limit(PastDeadline, PastDeadline)
		if _, err := line.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) || !line.IsQuiet() {
			t.Errorf("before the end: got %v, quiet %v", err, line.IsQuiet())
		}
		_ = line.Guard.Limit(time.Time{}, time.Time{})
		if _, err := line.Read(make([]byte, 1)); err != io.EOF || line.IsQuiet() {
			t.Errorf("at the end: got %v, quiet %v", err, line.IsQuiet())
		}
		_ = line.Close()
	})
}
