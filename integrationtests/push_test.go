package integrationtests

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
)

// Each piece is a chunk that is sent at once, and the connection serves the next requests after the
// body, also if they have arrived before its end.
func TestPushedPiecesAreChunks(t *testing.T) {
	t.Parallel()
	forEachEngine(t, func(t *testing.T, start starter) {
		handler, made := pushes(nil)
		ts := start(&fasthttp.Server{Handler: handler})
		c := ts.Dial()
		shared := fasthttp.NewPushPiece(text(200))
		for i := range 3 {
			head := openHead(t, c, servertest.Get("/"))
			if !strings.HasPrefix(head, "HTTP/1.1 200 OK\r\n") || !strings.Contains(head, "Transfer-Encoding: chunked\r\n") || strings.Contains(head, "Connection") {
				t.Errorf("the head is %q", head)
			}
			p := beginning(t, made)
			servertest.Must(t, p.push.Send([]byte("hello")))
			wantText(t, c.R, "5\r\nhello\r\n")
			servertest.Must(t, p.push.Send(nil))
			servertest.Must(t, p.push.SendPiece(fasthttp.NewPushPiece(nil)))
			servertest.Must(t, p.push.SendPiece(shared))
			wantText(t, c.R, "c80\r\n"+string(text(200))+"\r\n")
			if i > 0 {
				c.Send(servertest.Get("/next") + servertest.Get("/last"))
			}
			servertest.Must(t, p.push.Send([]byte("end")))
			p.push.Close()
			wantText(t, c.R, "3\r\nend\r\n0\r\n\r\n")
			p.wantEnd(t, isNil)
			if i > 0 {
				c.Expect(200, "/next")
				c.Expect(200, "/last")
			}
			if err := p.push.Send([]byte("late")); !errors.Is(err, net.ErrClosed) {
				t.Errorf("a late piece: %v", err)
			}
			p.push.Close()
			p.push.Abort()
			p.push.SetTick(time.Millisecond)
			if n := p.push.Queued(); n != 0 {
				t.Errorf("%d bytes wait", n)
			}
		}
		c.Get("/usual")
		c.Expect(200, "/usual")
	})
}

// A body that ends at once, for many requests in a row: the connection switches there and back
// while other goroutines still finish their calls.
func TestPushedBodiesFollowEachOther(t *testing.T) {
	t.Parallel()
	forEachEngine(t, func(t *testing.T, start starter) {
		handler, made := pushes(nil)
		ts := start(&fasthttp.Server{Handler: handler})
		n := servertest.Heavy(200)
		go func() {
			for range n {
				p := beginning(t, made)
				var wg sync.WaitGroup
				for range 4 {
					wg.Go(func() { _ = p.push.Send([]byte("x")) })
					wg.Go(func() { p.push.SetTick(time.Hour) })
				}
				wg.Wait()
				p.push.Close()
			}
		}()
		c := ts.Dial()
		for i := range n {
			c.Renew()
			if i%2 == 0 {
				c.Send(servertest.Get("/") + servertest.Get("/after"))
			} else {
				c.Get("/")
			}
			c.Expect(200, "xxxx")
			if i%2 == 0 {
				c.Expect(200, "/after")
			}
		}
	})
}

func TestPushedBodyEndsTheConnectionIfItMust(t *testing.T) {
	t.Parallel()
	forEachEngine(t, func(t *testing.T, start starter) {
		handler, made := pushes(nil)
		ts := start(&fasthttp.Server{Handler: handler})
		for request, body := range map[string]string{
			servertest.Get("/", "Connection: close"): "4\r\nbody\r\n0\r\n\r\n",
			"GET / HTTP/1.0\r\nHost: a\r\n\r\n":      "body",
		} {
			c := ts.Dial()
			if head := openHead(t, c, request); !strings.Contains(head, "Connection: close\r\n") {
				t.Errorf("the head is %q", head)
			}
			p := beginning(t, made)
			// bytes after the last request are discarded
			c.Send("more bytes")
			servertest.Must(t, p.push.SendPiece(fasthttp.NewPushPiece([]byte("body"))))
			p.push.Close()
			wantText(t, c.R, body)
			c.ExpectEnd()
			p.wantEnd(t, isNil)
		}
	})
}

// If the body is not sent, the handler only learns that it has ended.
func TestPushedBodyThatIsNotSent(t *testing.T) {
	t.Parallel()
	forEachEngine(t, func(t *testing.T, start starter) {
		handler, made := pushes(func(ctx *fasthttp.RequestCtx, _ *pushed) {
			switch {
			case ctx.QueryArgs().Has("status"):
				ctx.SetStatusCode(ctx.QueryArgs().GetUintOrZero("status"))
			case ctx.QueryArgs().Has("replaced"):
				ctx.SetBodyString("replaced")
			}
		})
		ts := start(&fasthttp.Server{Handler: handler})
		c := ts.Dial()
		for request, want := range map[string]string{
			"HEAD / HTTP/1.1\r\nHost: a\r\n\r\n": "",
			servertest.Get("/?status=204"):       "",
			servertest.Get("/?status=304"):       "",
			servertest.Get("/?replaced"):         "replaced",
		} {
			c.Send(request)
			if resp := c.Next(strings.Fields(request)[0]); resp.Content != want {
				t.Errorf("the body is %q after %q", resp.Content, request)
			}
			p := servertest.Receive(t, "a pushed body", made)
			p.wantEnd(t, func(err error) bool { return err == fasthttp.ErrPushNotSent })
			if len(p.opened) > 0 {
				t.Errorf("Opened was called after %q", request)
			}
			if err := p.push.Send([]byte("x")); !errors.Is(err, net.ErrClosed) {
				t.Errorf("a piece: %v", err)
			}
		}
		c.Get("/usual")
		c.Expect(200, "/usual")
	})
}

// A client that does not read gets a limited number of bytes, and the others get all pieces.
func TestPushedPiecesWaitUpToALimit(t *testing.T) {
	forEachPush(t, func(t *testing.T, start func(s *fasthttp.Server) *pushClient) {
		handler, made := pushes(func(_ *fasthttp.RequestCtx, p *pushed) { p.push.MaxQueued = 100 << 10 })
		cl := start(&fasthttp.Server{Handler: handler})
		_, leave := cl.open(t, "/")
		slow := beginning(t, made)
		r, _ := cl.open(t, "/")
		other := beginning(t, made)
		piece := servertest.Noise(64 << 10)
		full := 0
		for i := range 2000 {
			switch err := slow.push.Send(piece); err {
			case nil:
				if full > 0 && i%10 == 9 {
					t.Log("there is room again")
				}
			case fasthttp.ErrPushQueueFull:
				full++
			default:
				t.Fatal(err)
			}
			if n := slow.push.Queued(); n > 200<<10 {
				t.Fatalf("%d bytes wait", n)
			}
			if i%100 == 0 {
				servertest.Must(t, other.push.Send([]byte("piece\n")))
				wantText(t, r, "piece\n")
			}
		}
		if full == 0 {
			t.Error("the client has taken everything")
		}
		leave()
		slow.wantEnd(t, func(err error) bool { return err != nil })
		other.push.Close()
		other.wantEnd(t, isNil)
		if rest, err := io.ReadAll(r); len(rest) > 0 || err != nil {
			t.Errorf("the body ends with %q, %v", rest, err)
		}
	})
}

func TestPushedBodyEndsWhenTheClientLeaves(t *testing.T) {
	forEachPush(t, func(t *testing.T, start func(s *fasthttp.Server) *pushClient) {
		handler, made := pushes(nil)
		cl := start(&fasthttp.Server{Handler: handler})
		_, leave := cl.open(t, "/")
		p := beginning(t, made)
		leave()
		p.wantEnd(t, func(err error) bool { return err != nil && err != fasthttp.ErrPushNotSent })
		if err := p.push.Send([]byte("x")); !errors.Is(err, net.ErrClosed) {
			t.Errorf("a piece: %v", err)
		}
	})
}

func TestPushedBodyIsAborted(t *testing.T) {
	forEachPush(t, func(t *testing.T, start func(s *fasthttp.Server) *pushClient) {
		handler, made := pushes(nil)
		cl := start(&fasthttp.Server{Handler: handler})
		r, _ := cl.open(t, "/")
		p := beginning(t, made)
		servertest.Must(t, p.push.Send([]byte("piece\n")))
		wantText(t, r, "piece\n")
		p.push.Abort()
		if rest, err := io.ReadAll(r); err == nil {
			t.Errorf("the body has ended with %q", rest)
		}
		p.wantEnd(t, func(err error) bool { return errors.Is(err, net.ErrClosed) })
	})
}

// The end of the connection is the end of a body without chunks, so that an aborted one needs a reset.
func TestPushedBodyWithoutChunksIsReset(t *testing.T) {
	t.Parallel()
	forEachEngine(t, func(t *testing.T, start starter) {
		handler, made := pushes(nil)
		ts := start(&fasthttp.Server{Handler: handler})
		if !ts.Engine.Sockets {
			t.Skip("no reset")
		}
		c := ts.Dial()
		openHead(t, c, "GET / HTTP/1.0\r\nHost: a\r\n\r\n")
		p := beginning(t, made)
		servertest.Must(t, p.push.Send([]byte("piece\n")))
		wantText(t, c.R, "piece\n")
		p.push.Abort()
		if _, err := c.R.ReadByte(); err == nil || errors.Is(err, io.EOF) {
			t.Errorf("the body has ended with %v", err)
		}
		p.wantEnd(t, func(err error) bool { return errors.Is(err, net.ErrClosed) })
	})
}

func TestPushedBodyEndsAtAShutdown(t *testing.T) {
	forEachPush(t, func(t *testing.T, start func(s *fasthttp.Server) *pushClient) {
		handler, made := pushes(func(_ *fasthttp.RequestCtx, p *pushed) {
			p.stop = func(p *pushed) {
				_ = p.push.Send([]byte("going away\n"))
				p.push.Close()
			}
		})
		cl := start(&fasthttp.Server{Handler: handler})
		r, _ := cl.open(t, "/")
		p := beginning(t, made)
		done := make(chan error, 1)
		go func() { done <- cl.ts.S.Shutdown() }()
		if all, err := io.ReadAll(r); string(all) != "going away\n" || err != nil {
			t.Errorf("got %q, %v", all, err)
		}
		p.wantEnd(t, isNil)
		servertest.Must(t, servertest.Receive(t, "the end of Shutdown", done))
	})
}

// A body that a goroutine sends for another reason than the protocol ends in the same way: if the
// client leaves, and at a shutdown.
func TestPushedBodyOfAGoroutineEnds(t *testing.T) {
	t.Parallel()
	forEachEngine(t, func(t *testing.T, start starter) {
		handler, made := pushes(func(ctx *fasthttp.RequestCtx, _ *pushed) {
			switch ctx.QueryArgs().String() {
			case "trailer":
				servertest.Must(t, ctx.Response.Header.AddTrailerField("X-End", "yes"))
			case "duplex":
				ctx.EnableFullDuplex()
			case "hijack":
				ctx.Hijack(func(net.Conn) {})
			}
		})
		ts := start(&fasthttp.Server{Handler: handler})
		var open []*pushed
		for _, target := range []string{"/?trailer", "/?duplex", "/?hijack"} {
			c := ts.Dial()
			openHead(t, c, servertest.Get(target))
			p := beginning(t, made)
			_ = c.Close()
			p.wantEnd(t, func(err error) bool { return err != nil && err != fasthttp.ErrPushNotSent })
			openHead(t, ts.Dial(), servertest.Get(target))
			open = append(open, beginning(t, made))
		}
		done := make(chan error, 1)
		go func() { done <- ts.S.Shutdown() }()
		for _, p := range open {
			p.wantEnd(t, isNil)
		}
		servertest.Must(t, servertest.Receive(t, "the end of Shutdown", done))
	})
}

func TestPushedBodyTicks(t *testing.T) {
	forEachPush(t, func(t *testing.T, start func(s *fasthttp.Server) *pushClient) {
		handler, made := pushes(func(_ *fasthttp.RequestCtx, p *pushed) {
			n := 0
			p.tick = func(p *pushed) {
				if n++; n == 4 {
					p.push.Close()
					return
				}
				_ = p.push.Send(fmt.Appendf(nil, "tick %d\n", n))
				p.push.SetTick(time.Millisecond)
			}
		})
		cl := start(&fasthttp.Server{Handler: handler})
		r, _ := cl.open(t, "/")
		p := beginning(t, made)
		p.push.SetTick(time.Hour)
		p.push.SetTick(time.Millisecond)
		if all, err := io.ReadAll(r); string(all) != "tick 1\ntick 2\ntick 3\n" || err != nil {
			t.Errorf("got %q, %v", all, err)
		}
		p.wantEnd(t, isNil)
	})
}

func TestPushedPieceHasALimitedTime(t *testing.T) {
	// more than sockets take whose peer reads nothing; Send copies it
	noise := sync.OnceValue(func() []byte { return servertest.Noise(24 << 20) })
	forEachPush(t, func(t *testing.T, start func(s *fasthttp.Server) *pushClient) {
		servertest.Doubling(t, func(limit time.Duration) error {
			handler, made := pushes(func(ctx *fasthttp.RequestCtx, _ *pushed) { ctx.Response.PieceTimeout = limit })
			cl := start(&fasthttp.Server{Handler: handler})
			// the head has the same time
			if _, _, err := cl.tryOpen(t, "/"); err != nil {
				return err
			}
			p := beginning(t, made)
			servertest.Must(t, p.push.Send(noise()))
			p.wantEnd(t, func(err error) bool { return err != nil })
			return nil
		})
	})
}

// On a connection the reason is the timeout itself.
func TestPushedPieceTimeoutIsReported(t *testing.T) {
	t.Parallel()
	piece := fasthttp.NewPushPiece(unreadable())
	forEachEngine(t, func(t *testing.T, start starter) {
		servertest.Doubling(t, func(limit time.Duration) error {
			handler, made := pushes(nil)
			ts := start(&fasthttp.Server{Handler: handler, WriteTimeout: limit})
			if !ts.Engine.Sockets {
				t.Skip("memory takes everything")
			}
			c := ts.Dial()
			c.Get("/")
			// the head has the same time
			if _, err := c.R.ReadString('\n'); err != nil {
				return err
			}
			p := beginning(t, made)
			servertest.Must(t, p.push.SendPiece(piece))
			p.wantEnd(t, func(err error) bool { return errors.Is(err, os.ErrDeadlineExceeded) })
			return nil
		})
	})
}

// Pieces of many goroutines do not mix, and none follows the end.
func TestPushedPiecesOfManyGoroutines(t *testing.T) {
	forEachPush(t, func(t *testing.T, start func(s *fasthttp.Server) *pushClient) {
		handler, made := pushes(func(_ *fasthttp.RequestCtx, p *pushed) { p.push.MaxQueued = 1 << 30 })
		cl := start(&fasthttp.Server{Handler: handler})
		r, _ := cl.open(t, "/")
		p := beginning(t, made)
		shared := fasthttp.NewPushPiece([]byte(strings.Repeat("s", 1999) + "\n"))
		const goroutines, each = 8, 200
		var wg sync.WaitGroup
		var mu sync.Mutex
		sent := 0
		for g := range goroutines {
			wg.Go(func() {
				for i := range each {
					err := error(nil)
					if (g+i)%2 == 0 {
						err = p.push.SendPiece(shared)
					} else {
						err = p.push.Send([]byte(strings.Repeat("c", 99) + "\n"))
					}
					if err != nil && !errors.Is(err, net.ErrClosed) {
						t.Error(err)
					}
					if g == 0 && i == each/2 {
						p.push.Close()
					}
					if err == nil {
						mu.Lock()
						sent++
						mu.Unlock()
					}
				}
			})
		}
		all, err := io.ReadAll(r)
		servertest.Must(t, err)
		wg.Wait()
		lines := strings.Split(string(all), "\n")
		for _, line := range lines[:len(lines)-1] {
			if len(line) != 99 && len(line) != 1999 || strings.Trim(line, line[:1]) != "" {
				t.Fatalf("a line is %.300q", line)
			}
		}
		if len(lines)-1 != sent {
			t.Errorf("%d pieces have arrived, %d were sent", len(lines)-1, sent)
		}
		p.wantEnd(t, isNil)
	})
}

func TestPushBeforeAndBesideItsUse(t *testing.T) {
	var p fasthttp.Push
	if err := p.Send([]byte("x")); err == nil || errors.Is(err, net.ErrClosed) {
		t.Errorf("a piece before PushBody: %v", err)
	}
	p.Close()
	p.Abort()
	p.SetTick(time.Hour)
	var ctx fasthttp.RequestCtx
	own := newPushed()
	ctx.PushBody(&p, own)
	defer func() {
		if recover() == nil {
			t.Error("a Push was used twice")
		}
		ctx.Response.Reset()
		own.wantEnd(t, func(err error) bool { return err == fasthttp.ErrPushNotSent })
	}()
	ctx.PushBody(&p, own)
}
