package fasthttp

import (
	"errors"
	"io"
	"testing"
	"time"

	"github.com/valyala/fasthttp/internal/http1"
	"github.com/valyala/fasthttp/internal/http3"
)

// lostH3 is a stream, and the error, of a connection whose client was silent for too long.
type lostH3 struct{ http3.Stream }

func (lostH3) Error() string                   { return "no recent network activity" }
func (lostH3) Timeout() bool                   { return true }
func (lostH3) Temporary() bool                 { return false }
func (s lostH3) Next(int) ([]byte, error)      { return nil, s }
func (lostH3) SetReadDeadline(time.Time) error { return nil }

// The client of a lost connection was not too slow for a limit of the server: its request is incomplete.
func TestBodyOfLostHTTP3Connection(t *testing.T) {
	x := &h3Exchange{stream: lostH3{}}
	x.s = new(Server)
	if err := x.take(); !errors.Is(err, io.ErrUnexpectedEOF) || x.refusal != nil {
		t.Errorf("a collected body: %v, refused with %v", err, x.refusal)
	}
	in := &h3Incoming{x: x, stream: x.stream}
	if _, err := in.Read(make([]byte, 1)); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a streamed body: %v", err)
	}
}

// endedH3 is a stream without content. It records whether a wait had a deadline.
type endedH3 struct {
	http3.Stream
	limited bool
}

func (s *endedH3) Next(int) ([]byte, error) { return nil, io.EOF }

func (s *endedH3) SetReadDeadline(t time.Time) error {
	s.limited = !t.IsZero()
	return nil
}

// MinRequestBodyRate is for bodies: a client may be silent in a tunnel.
func TestHTTP3TunnelsHaveNoMinimumRate(t *testing.T) {
	for method, want := range map[http1.MethodID]bool{http1.MethodOther: true, http1.MethodConnect: false} {
		s := new(endedH3)
		x := &h3Exchange{stream: s}
		x.s, x.method = &Server{MinRequestBodyRate: 1}, method
		in := &h3Incoming{x: x, stream: s}
		if _, err := in.Read(make([]byte, 1)); err != io.EOF || s.limited != want {
			t.Errorf("%v: a read has a deadline: %v; and it returns %v", method, s.limited, err)
		}
	}
}

// ReadTimeout is for requests: the content of an extended CONNECT lasts as long as its protocol, even if
// the handler answers with a body stream.
func TestHTTP3ExtendedConnectHasNoReadTimeout(t *testing.T) {
	for _, extended := range []bool{false, true} {
		s := new(endedH3)
		x := &h3Exchange{stream: s}
		x.s, x.method, x.extended = &Server{ReadTimeout: time.Second}, http1.MethodConnect, extended
		x.limitContent()
		if s.limited == extended {
			t.Errorf("extended CONNECT: %v, and its content has a deadline: %v", extended, s.limited)
		}
	}
}
