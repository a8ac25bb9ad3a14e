package engine

import (
	"errors"
	"net"
	"testing"
	"testing/synctest"
	"time"
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
		l.discarded(tt.size)
		if got := l.wait(l.began + tt.elapsed); got != tt.want {
			t.Errorf("%s: waits %v, want %v", tt.name, got, tt.want)
		}
		if l.remaining != LingerSize-int64(tt.size) {
			t.Errorf("%s: %d bytes are left", tt.name, l.remaining)
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
			synctest.Test(t, func(t *testing.T) {
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
