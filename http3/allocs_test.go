package http3

import (
	"context"
	"io"
	"testing"

	"github.com/quic-go/quic-go"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
)

// bareServer responds to each stream with one byte, without HTTP, and returns its address.
func bareServer(t *testing.T) string {
	t.Helper()
	ln := listenQUIC(t, &quic.Config{MaxIncomingStreams: 250, HandshakeIdleTimeout: wait, MaxIdleTimeout: wait})
	go func() {
		q, err := ln.Accept(context.Background())
		if err != nil {
			return
		}
		// one goroutine, which allocates nothing itself
		for b := make([]byte, 1000); ; {
			s, err := q.AcceptStream(context.Background())
			if err != nil {
				return
			}
			for err == nil {
				_, err = s.Read(b)
			}
			_, _ = s.Write(b[:1])
			_ = s.Close()
		}
	}()
	return ln.Addr().String()
}

// A request allocates no more than its stream does without HTTP.
func TestRequestsAllocateOnlyTheirStreams(t *testing.T) {
	if servertest.RaceDetector {
		t.Skip("the race detector makes pools forget")
	}
	_, addr := run(t, &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) { ctx.Write(ctx.PostBody()) }})
	head, content := getHead(), frames(method("POST", "content-length: 4"), frame(0, "body"))
	measure := func(addr string, request []byte) float64 {
		r := dial(t, addr)
		r.control()
		b := make([]byte, 1000)
		return testing.AllocsPerRun(1000, func() {
			s, err := r.q.OpenStreamSync(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			_, _ = s.Write(request)
			_ = s.Close()
			for err == nil {
				_, err = s.Read(b)
			}
			if err != io.EOF {
				t.Fatal(err)
			}
		})
	}
	bare := measure(bareServer(t), head)
	// the number of packets varies a little
	const more = 1.5
	for name, request := range map[string][]byte{"GET": head, "POST": content} {
		if got := measure(addr, request); got > bare+more {
			t.Errorf("%s: %v allocations, and %v without HTTP", name, got, bare)
		} else {
			t.Logf("%s: %v allocations, and %v without HTTP", name, got, bare)
		}
	}
}
