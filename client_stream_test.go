package fasthttp

import (
	"net"
	"testing"
	"time"
)

// endedStream is a callStream of which the body ends at once. A hook panics then.
type endedStream struct{ left int }

func (s *endedStream) exchange() error                      { return nil }
func (s *endedStream) awaitVerdict(time.Time) (bool, error) { return true, nil }
func (s *endedStream) failure(err error) error              { return err }
func (s *endedStream) isUntouched(error) bool               { return false }
func (s *endedStream) leave(error)                          { s.left++ }
func (s *endedStream) startStream() bool {
	s.leave(nil)
	panic("a hook")
}

// A call is left once, since another one may have its memory then.
func TestStreamCallIsLeftOnce(t *testing.T) {
	nc, other := net.Pipe()
	defer nc.Close()
	defer other.Close()
	s := new(endedStream)
	func() {
		defer func() {
			if got := recover(); got != "a hook" {
				t.Errorf("a panic with %v", got)
			}
		}()
		_, _ = new(streamCall).run(s, nc, new(HostClient), new(Request), new(Response), 0)
	}()
	if s.left != 1 {
		t.Errorf("left %d times", s.left)
	}
}
