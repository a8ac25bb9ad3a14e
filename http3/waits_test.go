package http3

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/quic-go/quic-go"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/http3/internal/wire"
	"github.com/valyala/fasthttp/internal/servertest"
)

// Neither IdleTimeout nor the idle timeout of QUIC limits requests, also if their clients are silent meanwhile.
func TestIdleTimeoutSparesRequests(t *testing.T) {
	t.Parallel()
	for _, own := range []bool{true, false} {
		servertest.Doubling(t, func(limit time.Duration) error {
			idle := 10 * limit // QUIC waits for some round trips at least
			over := &Server{QUICConfig: &quic.Config{HandshakeIdleTimeout: wait}, Server: &fasthttp.Server{Handler: func(*fasthttp.RequestCtx) {
				busy, cancel := context.WithTimeout(context.Background(), 4*idle)
				defer cancel()
				<-busy.Done()
			}}}
			if own {
				over.Server.IdleTimeout = idle
			} else {
				over.QUICConfig.MaxIdleTimeout = idle
			}
			_, addr := runOver(t, over)
			r, err := tryDial(t, addr, new(quic.Config))
			if err != nil {
				return err
			}
			s, err := r.q.OpenStream()
			if err != nil {
				return err
			}
			_, _ = s.Write(getHead())
			_ = s.Close()
			if got := r.response(s); got != "200" {
				return errors.New(got)
			}
			return nil
		})
	}
}

// Trailers whose entries never come take no more time than the rest of the request.
func TestTrailersThatWaitForEntriesTakeTheirTimeOnly(t *testing.T) {
	t.Parallel()
	for _, streams := range []bool{false, true} {
		// the limit applies to the head as well
		servertest.Doubling(t, func(limit time.Duration) error {
			read := make(chan error, 1)
			_, addr := run(t, &fasthttp.Server{ReadTimeout: limit, StreamRequestBody: streams, Handler: func(ctx *fasthttp.RequestCtx) {
				_, err := io.ReadAll(ctx.RequestBodyStream())
				read <- err
			}})
			r := dial(t, addr)
			r.control()
			began := time.Now()
			got := r.response(r.stream(true, frames(method("POST"), frame(wire.TypeData, "a"), frame(wire.TypeHeaders, "\x03\x00\x80"))...))
			if took := time.Since(began); took >= blockedTime {
				return fmt.Errorf("streams %v: it has taken %v", streams, took)
			}
			if want := map[bool]string{false: "408", true: "200"}[streams]; got != want {
				return fmt.Errorf("streams %v: the response is %s", streams, got)
			}
			if streams {
				if err := servertest.Receive(t, "the end of the body", read); !errors.Is(err, os.ErrDeadlineExceeded) {
					t.Errorf("the handler gets %v", err)
				}
			}
			return nil
		})
	}
}

// Informational responses that the client does not read must not hold up the handler without end.
func TestInformationalResponsesTakeTheirTimeOnly(t *testing.T) {
	t.Parallel()
	ended := make(chan error, 1)
	_, addr := run(t, &fasthttp.Server{WriteTimeout: servertest.Short, Handler: func(ctx *fasthttp.RequestCtx) {
		var hints fasthttp.ResponseHeader
		hints.SetStatusCode(fasthttp.StatusEarlyHints)
		hints.Set("Link", strings.Repeat("a", 1000))
		var err error
		for i := 0; i < 1000 && err == nil; i++ {
			err = ctx.Inform(&hints)
		}
		ended <- err
	}})
	r := dialWith(t, addr, &quic.Config{InitialStreamReceiveWindow: 1024, MaxStreamReceiveWindow: 1024})
	r.control()
	r.stream(true, getHead()...)
	if err := servertest.Receive(t, "the end of the handler", ended); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("Inform returns %v", err)
	}
}

// stalledStream is a stream of a machine that stands still once, after a deadline was set.
type stalledStream struct {
	by    time.Time
	stop  time.Duration
	wrote string
}

func (s *stalledStream) SetWriteDeadline(t time.Time) error {
	s.by = t
	time.Sleep(s.stop) // bubble: TestSendOnAMachineThatStandsStill
	s.stop = 0
	return nil
}

func (s *stalledStream) Write(p []byte) (int, error) {
	if !time.Now().Before(s.by) {
		return 0, os.ErrDeadlineExceeded
	}
	s.wrote += string(p)
	return len(p), nil
}

// A machine that stands still loses no GOAWAY, nor a connection because of an acknowledgment.
func TestSendOnAMachineThatStandsStill(t *testing.T) {
	servertest.Bubble(t, func(t *testing.T) {
		for _, stop := range []time.Duration{0, maxLinger, 10 * maxLinger} {
			s := &stalledStream{stop: stop}
			if err := send(s, []byte("goaway"), maxLinger); err != nil || s.wrote != "goaway" {
				t.Errorf("after a stop of %v: %q, %v", stop, s.wrote, err)
			}
		}
	})
}
