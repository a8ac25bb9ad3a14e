package engine

import (
	"errors"
	"net"
	"testing"
	"time"

	"github.com/valyala/fasthttp/internal/servertest"
)

func TestLingeringIsBoundedByRateAndTime(t *testing.T) {
	for _, tt := range []struct {
		name    string
		elapsed time.Duration
		size    int
		want    time.Duration
	}{
		{"the first byte", time.Millisecond, 1, LingerPause},
		{"slow, but early", LingerTime, 1, LingerPause},
		{"slow", time.Second, LingerRate - 1, 0},
		{"fast enough", time.Second, LingerRate, LingerPause},
		{"slow later", 10 * time.Second, 10*LingerRate - 1, 0},
		{"nearly long", LingerMaxTime - time.Second, 100 * LingerRate, time.Second},
		{"long", LingerMaxTime, 100 * LingerRate, 0},
		{"longer", LingerMaxTime + time.Hour, 1 << 30, 0},
	} {
		l := beginLingering(LingerSize)
		l.granted = tt.elapsed
		l.discarded(tt.size)
		if got := l.wait(l.since + tt.elapsed); got != tt.want {
			t.Errorf("%s: waits %v, want %v", tt.name, got, tt.want)
		}
		if l.remaining != LingerSize-int64(tt.size) {
			t.Errorf("%s: %d bytes are left", tt.name, l.remaining)
		}
	}
}

// A machine that stands still, or has too much to do, takes no time from the peer.
func TestLingeringForgivesAMachineThatIsLate(t *testing.T) {
	l := beginLingering(LingerSize)
	now := l.since
	for _, tt := range []struct {
		elapsed time.Duration
		size    int
		want    time.Duration
	}{
		{time.Minute, 1, LingerPause},                         // counts as LingerTime
		{time.Minute, 3 * LingerRate, LingerPause},            // as LingerPause
		{time.Second, LingerRate / 2, LingerPause},            // not late: 3.5 s
		{time.Second - time.Millisecond, LingerRate/2 - 1, 0}, // 4.499 s are too long for 4 s' bytes
	} {
		now += tt.elapsed
		l.discarded(tt.size)
		if got := l.wait(now); got != tt.want {
			t.Errorf("%d bytes after %v: waits %v, want %v", tt.size, tt.elapsed, got, tt.want)
		}
	}
}

// halfConn is a pipe whose one side can be ended. Its peer does not need to know.
type halfConn struct {
	net.Conn
	ended bool
}

func (c *halfConn) CloseWrite() error {
	c.ended = true
	return nil
}

func TestLingerOnEnds(t *testing.T) {
	for _, tt := range []struct {
		name  string
		most  int64
		piece int // sent by the peer, again and again, until nothing reads it
		pause time.Duration
		want  time.Duration
	}{
		{"a silent peer", LingerSize, 0, 0, LingerTime},
		{"one byte", LingerSize, 1, time.Hour, LingerPause},
		{"a dripping peer", LingerSize, 100, 100 * time.Millisecond, LingerTime + 100*time.Millisecond},
		{"a peer of the least rate", LingerSize, LingerRate, time.Second, LingerMaxTime},
		{"too much", LingerSmallSize, 1 << 10, 0, LingerTime},
	} {
		t.Run(tt.name, func(t *testing.T) {
			servertest.Bubble(t, func(t *testing.T) {
				near, far := net.Pipe()
				sent := make(chan error, 1)
				go func() {
					for piece := make([]byte, tt.piece); tt.piece > 0; time.Sleep(tt.pause) {
						if _, err := far.Write(piece); err != nil {
							sent <- err
							return
						}
					}
					sent <- nil
				}()
				half := &halfConn{Conn: near}
				began := time.Now()
				LingerOn(half, tt.most)
				if took := time.Since(began); took != tt.want || !half.ended {
					t.Errorf("it took %v, want %v; the sending side is ended: %v", took, tt.want, half.ended)
				}
				_ = near.Close()
				if err := errors.Join(<-sent, far.Close()); err != nil && tt.piece == 0 {
					t.Error(err)
				}
			})
		})
	}
}

// lateConn is a connection whose reader is not woken for a long time after its first deadline.
type lateConn struct {
	halfConn
	late bool
}

func (c *lateConn) Read(p []byte) (int, error) {
	n, err := c.halfConn.Read(p)
	if err != nil && !c.late {
		c.late = true
		time.Sleep(time.Minute) // bubble: TestLingerOnReadsWhatHasArrivedMeanwhile
	}
	return n, err
}

func TestLingerOnReadsWhatHasArrivedMeanwhile(t *testing.T) {
	servertest.Bubble(t, func(t *testing.T) {
		near, far := net.Pipe()
		sent := make(chan error, 1)
		go func() {
			time.Sleep(LingerTime + time.Second)
			_, err := far.Write(make([]byte, 1<<20))
			sent <- errors.Join(err, far.Close())
		}()
		LingerOn(&lateConn{halfConn: halfConn{Conn: near}}, LingerSize)
		_ = near.Close()
		if err := <-sent; err != nil {
			t.Errorf("the peer cannot send: %v", err)
		}
	})
}
