package integrationtests

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
)

func TestSwitchedConnectionEchoes(t *testing.T) {
	t.Parallel()
	forEachEngine(t, func(t *testing.T, start starter) {
		handler, made := connsOf(echoes)
		ts := start(&fasthttp.Server{Handler: handler})
		c := dialLines(t, ts, "first\nsec")
		c.ExpectLine("first\n")
		c.Send("ond\n")
		c.ExpectLine("second\n")
		for i := range 200 {
			c.Send(fmt.Sprintf("%d\n", i))
			c.ExpectLine(fmt.Sprintf("%d\n", i))
		}
		// a peer sees many answers in order
		var all strings.Builder
		for i := range 5000 {
			_, _ = fmt.Fprintf(&all, "line %d\n", i)
		}
		go func() { _, _ = io.WriteString(c, all.String()) }()
		for i := range 5000 {
			c.ExpectLine(fmt.Sprintf("line %d\n", i))
		}
		own := servertest.Receive(t, "the connection", made)
		if got, want := own.conn.RemoteAddr().String(), c.LocalAddr().String(); ts.Engine.Sockets && got != want {
			t.Errorf("the address of the peer is %s, want %s", got, want)
		}
		if got := own.conn.TLSConnectionState() != nil; got != ts.Engine.TLS {
			t.Errorf("TLS: %v", got)
		}
		_ = c.Close()
		if err := servertest.Receive(t, "the end", own.ended); err != io.EOF {
			t.Errorf("ended with %v", err)
		}
		servertest.Eventually(t, "no connection", func() bool { return ts.S.GetCurrentConcurrency() == 0 })
		if err := own.conn.Append([]byte("late"), nil); !errors.Is(err, net.ErrClosed) {
			t.Errorf("Append after the end: %v", err)
		}
		own.conn.Flush()
		_ = own.conn.Close()
		own.conn.Abort()
	})
}

// A line longer than a buffer arrives whole, and a handler that consumes nothing of
// 64 KiB ends the connection.
func TestSwitchedConnectionGrowsItsBufferUpToALimit(t *testing.T) {
	t.Parallel()
	forEachEngine(t, func(t *testing.T, start starter) {
		handler, made := connsOf(echoes)
		ts := start(&fasthttp.Server{Handler: handler})
		c := dialLines(t, ts, "")
		for _, size := range []int{4095, 4096, 20000, 60000} {
			line := strings.Repeat("a", size) + "\n"
			go c.Send("x\n" + line + "y\n")
			c.ExpectLine("x\n")
			c.ExpectLine(line)
			c.ExpectLine("y\n")
		}
		go func() { _, _ = io.WriteString(c, strings.Repeat("a", 100<<10)) }()
		own := servertest.Receive(t, "the connection", made)
		if err := servertest.Receive(t, "the end", own.ended); err != fasthttp.ErrInputNotConsumed {
			t.Errorf("ended with %v", err)
		}
		_, _ = io.Copy(io.Discard, c.R)
	})
}

func TestSwitchedConnectionHoldsUpNothingWhileItsHandlerBlocks(t *testing.T) {
	t.Parallel()
	forEachEngine(t, func(t *testing.T, start starter) {
		g := servertest.NewGate()
		handler, made := connsOf(func(c *lines) {
			c.line = func(c *lines, line string) {
				c.say(line)
				if line == "block" {
					g.Pass(line)
				}
			}
		})
		ts := start(&fasthttp.Server{Handler: handler})
		c := dialLines(t, ts, "block\nnext\n")
		own := servertest.Receive(t, "the connection", made)
		servertest.Receive(t, "the handler", g.Entered)
		// the answer from before the wait is sent, and so is output of other goroutines
		c.ExpectLine("block\n")
		for i := range 10 {
			own.say(fmt.Sprint(i))
			c.ExpectLine(fmt.Sprintf("%d\n", i))
		}
		// a peer that sends more than a buffer has to wait
		sent := make(chan error, 1)
		more := strings.Repeat("m", 999) + "\n"
		flood := strings.Repeat(more, 20<<10)
		go func() {
			_, err := io.WriteString(c, flood)
			sent <- err
		}()
		own.say("still")
		c.ExpectLine("still\n")
		if ts.Engine.Sockets {
			select {
			case err := <-sent:
				t.Errorf("the server has taken 20 MiB: %v", err)
			case <-time.After(servertest.Short): // real time: nothing tells that nothing happens
			}
		}
		close(g.Open)
		c.ExpectLine("next\n")
		for range strings.Count(flood, "\n") {
			if line, err := c.R.ReadString('\n'); line != more || err != nil {
				t.Fatalf("got %q, %v", line, err)
			}
		}
		servertest.Must(t, servertest.Receive(t, "the end of the flood", sent))
	})
}

func TestSwitchedConnectionTakesOutputOfManyGoroutines(t *testing.T) {
	t.Parallel()
	forEachEngine(t, func(t *testing.T, start starter) {
		handler, made := connsOf(echoes)
		ts := start(&fasthttp.Server{Handler: handler})
		c := dialLines(t, ts, "")
		own := servertest.Receive(t, "the connection", made)
		const goroutines, each = 8, 300
		shared := []byte("shared " + strings.Repeat("s", 2000) + "\n")
		var wg sync.WaitGroup
		for g := range goroutines {
			wg.Go(func() {
				for i := range each {
					switch i % 3 {
					case 0:
						own.say(fmt.Sprintf("%d %d", g, i))
						continue
					case 1:
						servertest.Must(t, own.conn.Append([]byte(fmt.Sprintf("%d ", g)), []byte(fmt.Sprintf("%d\n", i))))
					default:
						servertest.Must(t, own.conn.AppendShared(shared))
					}
					own.conn.Flush()
				}
			})
		}
		next := [goroutines]int{}
		sharedSeen := 0
		for range goroutines * each {
			line, err := c.R.ReadString('\n')
			servertest.Must(t, err)
			var g, i int
			switch n, _ := fmt.Sscanf(line, "%d %d\n", &g, &i); {
			case line == string(shared):
				sharedSeen++
			case n != 2 || i < next[g]:
				t.Fatalf("got %q after %v", line, next)
			default:
				next[g] = i + 1
			}
		}
		wg.Wait()
		if want := goroutines * each / 3; sharedSeen != want {
			t.Errorf("%d shared lines, want %d", sharedSeen, want)
		}
		servertest.Eventually(t, "no output", func() bool { return own.conn.Queued() == 0 })
	})
}

// A peer that does not read holds up no goroutine; Drained is called once it reads.
func TestSwitchedConnectionNotifiesWhenThePeerReads(t *testing.T) {
	t.Parallel()
	forEachEngine(t, func(t *testing.T, start starter) {
		drained := make(chan int, 10)
		handler, made := connsOf(func(c *lines) {
			c.drained = func(c *lines) { drained <- c.conn.Queued() }
		})
		ts := start(&fasthttp.Server{Handler: handler})
		c := dialLines(t, ts, "")
		own := servertest.Receive(t, "the connection", made)
		line := []byte(strings.Repeat("b", 999) + "\n")
		const n = 32 << 10 // lines, more than sockets take
		for range n {
			servertest.Must(t, own.conn.Append(line, nil))
			own.conn.Flush()
		}
		if own.conn.Queued() == 0 {
			t.Fatal("the peer has read everything")
		}
		own.conn.NotifyDrained(1 << 20)
		for range n {
			if got, err := c.R.ReadString('\n'); got != string(line) || err != nil {
				t.Fatalf("got %q, %v", got, err)
			}
		}
		if got := servertest.Receive(t, "Drained", drained); got > 1<<20 {
			t.Errorf("%d bytes wait", got)
		}
		// at once if nothing waits
		servertest.Eventually(t, "no output", func() bool { return own.conn.Queued() == 0 })
		own.conn.NotifyDrained(0)
		servertest.Receive(t, "Drained", drained)
		if len(drained) > 0 {
			t.Error("Drained was called too often")
		}
	})
}

func TestSwitchedConnectionEndsForManyReasons(t *testing.T) {
	t.Parallel()
	errs := map[string]func(err error) bool{
		"close": func(err error) bool { return err == nil },
		"abort": func(err error) bool { return errors.Is(err, net.ErrClosed) },
		"late":  func(err error) bool { return errors.Is(err, os.ErrDeadlineExceeded) },
		"panic": func(err error) bool { return err != nil && strings.Contains(err.Error(), "panic") },
	}
	forEachEngine(t, func(t *testing.T, start starter) {
		for _, outside := range []bool{false, true} {
			for reason, isRight := range errs {
				var own *lines
				end := func(c *lines) {
					c.say("last words")
					switch reason {
					case "close":
						_ = c.conn.Close()
						c.say("not sent")
					case "abort":
						c.conn.Abort()
					case "late":
						c.conn.EndAfter(time.Hour)
						c.conn.EndAfter(time.Millisecond)
					case "panic":
						panic("as the test wants")
					}
				}
				handler, made := connsOf(func(c *lines) {
					c.line = func(c *lines, line string) { end(c) }
				})
				ts := start(&fasthttp.Server{Handler: handler})
				c := dialLines(t, ts, "")
				own = servertest.Receive(t, "the connection", made)
				if outside && reason != "panic" {
					end(own)
				} else {
					c.Send("end\nand more\n")
				}
				if err := servertest.Receive(t, "the end", own.ended); !isRight(err) {
					t.Errorf("%s: ended with %v", reason, err)
				}
				if reason == "close" {
					c.ExpectLine("last words\n")
					c.ExpectEnd()
				} else {
					_, _ = io.Copy(io.Discard, c.R)
				}
				servertest.Eventually(t, "no connection", func() bool { return ts.S.GetOpenConnectionsCount() == 0 })
				if len(own.ended) > 0 {
					t.Errorf("%s: Ended was called twice", reason)
				}
				if reason == "panic" {
					ts.Log.WaitFor(t, "as the test wants")
				}
			}
		}
	})
}

// A handler that ends its goroutine ends its connection alone.
func TestSwitchedConnectionEndsWithTheGoroutineOfItsHandler(t *testing.T) {
	t.Parallel()
	forEachEngine(t, func(t *testing.T, start starter) {
		handler, made := connsOf(func(c *lines) {
			c.line = func(c *lines, line string) {
				if line == "exit" {
					runtime.Goexit()
				}
				c.say(line)
			}
		})
		ts := start(&fasthttp.Server{Handler: handler})
		for range 3 {
			c, other := dialLines(t, ts, ""), dialLines(t, ts, "")
			own := servertest.Receive(t, "the connection", made)
			servertest.Receive(t, "the other connection", made)
			c.Send("exit\n")
			if err := servertest.Receive(t, "the end", own.ended); err == nil {
				t.Error("ended without an error")
			}
			_, _ = io.Copy(io.Discard, c.R)
			other.Send("still here\n")
			other.ExpectLine("still here\n")
		}
	})
}

// Even if its handler blocks, a connection can be ended; Ended waits for the handler.
func TestSwitchedConnectionIsAbortedWhileItsHandlerBlocks(t *testing.T) {
	forEachEngine(t, func(t *testing.T, start starter) {
		g := servertest.NewGate()
		handler, made := connsOf(func(c *lines) {
			c.line = func(c *lines, line string) { g.Pass(line) }
		})
		ts := start(&fasthttp.Server{Handler: handler})
		c := dialLines(t, ts, "block\n")
		own := servertest.Receive(t, "the connection", made)
		servertest.Receive(t, "the handler", g.Entered)
		own.conn.Abort()
		if _, err := c.R.ReadByte(); err == nil {
			t.Error("there is a byte")
		}
		select {
		case err := <-own.ended:
			t.Errorf("Ended was called while the handler runs, with %v", err)
		default:
		}
		close(g.Open)
		if err := servertest.Receive(t, "the end", own.ended); !errors.Is(err, net.ErrClosed) {
			t.Errorf("ended with %v", err)
		}
	})
}

func TestSwitchedConnectionNoticesAReset(t *testing.T) {
	forEachEngine(t, func(t *testing.T, start starter) {
		handler, made := connsOf(echoes)
		ts := start(&fasthttp.Server{Handler: handler})
		if !ts.Engine.Sockets || ts.Engine.TLS {
			t.Skip("no reset")
		}
		c := dialLines(t, ts, "")
		own := servertest.Receive(t, "the connection", made)
		c.Send("hello\n")
		c.ExpectLine("hello\n")
		servertest.Reset(c.Conn)
		if err := servertest.Receive(t, "the end", own.ended); err == nil || err == io.EOF {
			t.Errorf("ended with %v", err)
		}
	})
}

// Output at the end of the input is still sent.
func TestSwitchedConnectionAnswersAfterTheEndOfTheInput(t *testing.T) {
	t.Parallel()
	forEachEngine(t, func(t *testing.T, start starter) {
		handler, made := connsOf(echoes)
		ts := start(&fasthttp.Server{Handler: handler})
		if !ts.Engine.Sockets {
			t.Skip("no half of a connection can be closed")
		}
		c := dialLines(t, ts, "")
		c.Send(strings.Repeat("answer me\n", 1000) + "cut off")
		c.EndWrites()
		for range 1000 {
			c.ExpectLine("answer me\n")
		}
		c.ExpectEnd()
		if err := servertest.Receive(t, "the end", servertest.Receive(t, "the connection", made).ended); err != io.EOF {
			t.Errorf("ended with %v", err)
		}
	})
}

func TestShutdownInformsSwitchedConnections(t *testing.T) {
	t.Parallel()
	forEachEngine(t, func(t *testing.T, start starter) {
		g := servertest.NewGate()
		handler, made := connsOf(func(c *lines) {
			c.line = func(c *lines, line string) {
				if line == "block" {
					g.Pass(line)
				}
				c.say(line)
			}
			c.stop = func(c *lines) {
				c.say("going away")
				_ = c.conn.Close()
			}
		})
		ts := start(&fasthttp.Server{Handler: handler})
		idle, busy := dialLines(t, ts, ""), dialLines(t, ts, "block\n")
		servertest.Receive(t, "the handler", g.Entered)
		done := make(chan error, 1)
		go func() { done <- ts.S.Shutdown() }()
		idle.ExpectLine("going away\n")
		idle.ExpectEnd()
		select {
		case err := <-done:
			t.Errorf("Shutdown has returned %v while a handler runs", err)
		default:
		}
		// the message being handled is answered first
		close(g.Open)
		busy.ExpectLine("block\n")
		busy.ExpectLine("going away\n")
		busy.ExpectEnd()
		servertest.Must(t, servertest.Receive(t, "end of Shutdown", done))
		for range 2 {
			if err := servertest.Receive(t, "the end", servertest.Receive(t, "a connection", made).ended); err != nil {
				t.Errorf("ended with %v", err)
			}
		}
	})
}

func TestSwitchedConnectionsTick(t *testing.T) {
	t.Parallel()
	forEachEngine(t, func(t *testing.T, start starter) {
		handler, _ := connsOf(func(c *lines) {
			n := 0
			c.opened = func(c *lines) { c.conn.SetTick(time.Millisecond) }
			c.tick = func(c *lines) {
				n++
				c.say(fmt.Sprintf("tick %d", n))
				if n < 5 {
					c.conn.SetTick(time.Duration(n) * time.Millisecond)
				}
			}
			c.line = func(c *lines, line string) {
				c.say(line)
				c.conn.SetTick(time.Hour)
				// an earlier one replaces it
				go c.conn.SetTick(time.Millisecond)
			}
		})
		ts := start(&fasthttp.Server{Handler: handler})
		c := dialLines(t, ts, "")
		for i := range 5 {
			c.ExpectLine(fmt.Sprintf("tick %d\n", i+1))
		}
		for i := range 3 {
			c.Send("again\n")
			c.ExpectLine("again\n")
			c.ExpectLine(fmt.Sprintf("tick %d\n", i+6))
		}
	})
}

func TestSwitchedConnectionEndsIfThePeerReadsNothing(t *testing.T) {
	t.Parallel()
	forEachEngine(t, func(t *testing.T, start starter) {
		handler, made := connsOf(func(c *lines) {
			c.opened = func(c *lines) {
				c.conn.SetWriteTimeout(servertest.Short)
				if err := c.conn.AppendShared(unreadable()); err != nil {
					t.Error(err)
				}
				c.conn.Flush()
			}
		})
		ts := start(&fasthttp.Server{Handler: handler})
		if !ts.Engine.Sockets {
			t.Skip("memory takes everything")
		}
		dialLines(t, ts, "")
		own := servertest.Receive(t, "the connection", made)
		if err := servertest.Receive(t, "the end", own.ended); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("ended with %v", err)
		}
	})
}

func TestSwitchProtocolsIsDroppedIfTheConnectionEnds(t *testing.T) {
	t.Parallel()
	forEachEngine(t, func(t *testing.T, start starter) {
		handler, made := connsOf(echoes)
		ts := start(&fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
			handler(ctx)
			switch string(ctx.Path()) {
			case "/close":
				ctx.SetConnectionClose()
			case "/hijack":
				ctx.Hijack(func(c net.Conn) { _, _ = io.WriteString(c, "hijacked\n") })
			}
		}})
		for _, request := range []string{servertest.Get("/", "Connection: close"), servertest.Get("/close"), servertest.Get("/hijack")} {
			c := ts.Dial()
			c.Send(request)
			if resp := c.Next("GET"); resp.StatusCode != 101 {
				t.Errorf("status %d", resp.StatusCode)
			}
			if strings.Contains(request, "hijack ") {
				c.ExpectLine("hijacked\n")
			}
			c.ExpectEnd()
			if own := servertest.Receive(t, "the connection", made); len(own.ended) > 0 {
				t.Error("Ended was called")
			}
		}
	})
}

// The request of a switched connection is over: its values are closed, and its context serves
// others.
func TestSwitchProtocolsEndsTheRequest(t *testing.T) {
	t.Parallel()
	forEachEngine(t, func(t *testing.T, start starter) {
		closed := make(chan struct{}, 1)
		handler, _ := connsOf(echoes)
		around := fasthttp.TimeoutHandler(handler, servertest.Never, "late")
		ts := start(&fasthttp.Server{StreamRequestBody: true, Handler: func(ctx *fasthttp.RequestCtx) {
			ctx.SetUserValue("key", servertest.CloserFunc(func() { closed <- struct{}{} }))
			around(ctx)
		}})
		c := ts.Dial()
		c.Send(servertest.Post("/", "body") + "hello\n")
		if resp := c.Next("POST"); resp.StatusCode != 101 {
			t.Errorf("status %d", resp.StatusCode)
		}
		c.ExpectLine("hello\n")
		servertest.Receive(t, "the end of user values", closed)
	})
}

// Whichever goroutine calls a method that blocks, the peer waits, and no input is lost.
func TestSwitchedConnectionPausesWhileAnotherGoroutineCallsItsHandler(t *testing.T) {
	t.Parallel()
	forEachEngine(t, func(t *testing.T, start starter) {
		g := servertest.NewGate()
		handler, made := connsOf(func(c *lines) {
			echoes(c)
			c.drained = func(*lines) { g.Pass("drained") }
		})
		ts := start(&fasthttp.Server{Handler: handler})
		c := dialLines(t, ts, "hello\n")
		c.ExpectLine("hello\n")
		own := servertest.Receive(t, "the connection", made)
		own.conn.NotifyDrained(1 << 20)
		servertest.Receive(t, "Drained", g.Entered)
		line := strings.Repeat("p", 999) + "\n"
		sent := make(chan error, 1)
		go func() {
			_, err := io.WriteString(c, strings.Repeat(line, 2000))
			sent <- err
		}()
		own.say("meanwhile")
		c.ExpectLine("meanwhile\n")
		close(g.Open)
		for range 2000 {
			c.ExpectLine(line)
		}
		servertest.Must(t, servertest.Receive(t, "the end of the lines", sent))
	})
}

// A peer that reads nothing does not hold a closed connection forever: also if a write that has no
// limit has begun before.
func TestSwitchedConnectionLeavesPeersThatReadNothing(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"close", "close later", "no EndAfter"} {
		t.Run(how, func(t *testing.T) {
			forEachEngine(t, func(t *testing.T, start starter) {
				handler, made := connsOf(func(c *lines) {
					c.line = func(c *lines, line string) {
						_ = c.conn.AppendShared(unreadable())
						switch how {
						case "no EndAfter":
							c.conn.EndAfter(time.Hour)
							_ = c.conn.Close()
							c.conn.EndAfter(0)
						case "close":
							_ = c.conn.Close()
						}
					}
				})
				ts := start(&fasthttp.Server{
					Handler:      handler,
					WriteTimeout: servertest.Short,
					// the response that switches has more time
					HeaderReceived: func(*fasthttp.RequestHeader) fasthttp.RequestConfig {
						return fasthttp.RequestConfig{WriteTimeout: time.Hour}
					},
				})
				if !ts.Engine.Sockets {
					t.Skip("memory takes everything")
				}
				c := dialLines(t, ts, "line\n")
				own := servertest.Receive(t, "the connection", made)
				// some of the output has arrived, and the rest waits, unless the time is over
				_, _ = c.R.Discard(1000)
				if how == "close later" {
					_ = own.conn.Close()
				}
				if err := servertest.Receive(t, "the end", own.ended); !errors.Is(err, os.ErrDeadlineExceeded) {
					t.Errorf("ended with %v", err)
				}
				servertest.Eventually(t, "no connection", func() bool { return ts.S.GetOpenConnectionsCount() == 0 })
			})
		})
	}
}

// Abort ends a connection whose peer reads nothing, without any limit for that.
func TestAbortedConnectionLeavesPeersThatReadNothing(t *testing.T) {
	t.Parallel()
	forEachEngine(t, func(t *testing.T, start starter) {
		handler, made := connsOf(func(c *lines) {
			c.line = func(c *lines, line string) { _ = c.conn.AppendShared(unreadable()) }
		})
		ts := start(&fasthttp.Server{Handler: handler})
		if !ts.Engine.Sockets {
			t.Skip("memory takes everything")
		}
		c := dialLines(t, ts, "line\n")
		own := servertest.Receive(t, "the connection", made)
		_, _ = c.R.Discard(1000)
		// until the system takes no more
		queued := -1
		servertest.Eventually(t, "output that waits", func() bool {
			before := queued
			queued = own.conn.Queued()
			return queued > 0 && queued == before
		})
		own.conn.Abort()
		servertest.Receive(t, "the end", own.ended)
		servertest.Eventually(t, "no connection", func() bool { return ts.S.GetOpenConnectionsCount() == 0 })
	})
}
