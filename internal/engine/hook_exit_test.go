package engine

import (
	"context"
	"net"
	"runtime"
	"testing"
	"time"

	"github.com/valyala/fasthttp/internal/servertest"
)

// leavingHost is an admittingHost whose hook ends the goroutine when a connection is new.
type leavingHost struct{ admittingHost }

func (h *leavingHost) StateChanged(_ *Conn, state State) {
	if state == StateNew {
		runtime.Goexit()
	}
}

// A hook may end the goroutine of Serve, or of ServeConn: the connection is no longer counted then, and
// a shutdown ends.
func TestHooksThatEndServeLeaveNoConnection(t *testing.T) {
	for _, part := range []string{"portable", "event", "ServeConn"} {
		t.Run(part, func(t *testing.T) {
			h := &leavingHost{admittingHost{logHost: logHost{logs: make(chan string, 9)}}}
			s := &Set{Host: h, TracksState: true}
			s.Renew()
			ln, err := net.Listen("tcp4", "127.0.0.1:0")
			servertest.Must(t, err)
			defer ln.Close()
			far, err := net.Dial("tcp4", ln.Addr().String())
			servertest.Must(t, err)
			defer far.Close()
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				switch part {
				case "event":
					if served, _ := s.ServeEvents(ln, nil); served {
						t.Error("ServeEvents has returned")
					}
					fallthrough
				case "portable":
					_ = s.Serve(ln)
				default:
					nc, err := ln.Accept()
					if err != nil {
						t.Error(err)
						return
					}
					_ = s.ServeConn(nc)
				}
				t.Error("the goroutine has not ended")
			}()
			servertest.Receive(t, "the end of the goroutine", ended)
			ctx, cancel := context.WithTimeout(t.Context(), servertest.Patience)
			defer cancel()
			if err := s.Shutdown(ctx, func() {}); err != nil {
				t.Errorf("Shutdown: %v", err)
			}
			if n := h.admitted.Load(); n != 0 {
				t.Errorf("%d connections are counted", n)
			}
			_ = far.SetDeadline(time.Now().Add(servertest.Patience))
			if n, err := far.Read(make([]byte, 1)); n > 0 || err == nil {
				t.Errorf("the connection is open: %v", err)
			}
		})
	}
}
