package websocket

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/valyala/fasthttp/fasthttputil"
	"github.com/valyala/fasthttp/internal/netio"
	"github.com/valyala/fasthttp/internal/servertest"
	"github.com/valyala/fasthttp/internal/ws"
)

// bubblePair returns both sides of a connection in memory, for a bubble.
func bubblePair() (client, server net.Conn) {
	p := fasthttputil.NewPipeConns()
	return p.Conn1(), p.Conn2()
}

func settingsOf(d Dialer) options {
	return options{pingInterval: d.PingInterval, pongTimeout: d.PongTimeout, closeTimeout: d.CloseTimeout, compression: &Compression{}}
}

// TestCloseHandshake closes connections while the other side reads, does not read, and does
// not answer.
func TestCloseHandshake(t *testing.T) {
	servertest.Bubble(t, func(t *testing.T) {
		for _, role := range []ws.Role{ws.Client, ws.Server} {
			// the peer answers, and messages that are on their way do not matter
			ours, theirs := bubblePair()
			c := newConn(ours, role, agreement{}, settingsOf(Dialer{}), nil)
			peer := newConn(theirs, ws.Client-role, agreement{}, settingsOf(Dialer{}), nil)
			servertest.Must(t, peer.WriteMessage(TextMessage, []byte("unread")))
			ended := make(chan error, 1)
			go func(peer *Conn) {
				_, _, err := peer.ReadMessage()
				ended <- err
				_ = peer.Close()
			}(peer)
			began := time.Now()
			servertest.Must(t, c.CloseWith(4001, "why"))
			if time.Since(began) != 0 {
				t.Errorf("Close took %v", time.Since(began))
			}
			if err := <-ended; !IsCloseError(err, 4001) {
				t.Errorf("the peer got %v", err)
			}

			// another goroutine reads
			ours, theirs = bubblePair()
			c = newConn(ours, role, agreement{}, settingsOf(Dialer{}), nil)
			peer = newConn(theirs, ws.Client-role, agreement{}, settingsOf(Dialer{}), nil)
			go func() {
				_, _, err := c.ReadMessage()
				ended <- err
			}()
			go func() {
				_, _, _ = peer.ReadMessage()
				_ = peer.Close()
			}()
			synctest.Wait()
			began = time.Now()
			servertest.Must(t, c.Close())
			if err := <-ended; !IsCloseError(err, CloseNormalClosure) || time.Since(began) != 0 {
				t.Errorf("the reader got %v after %v", err, time.Since(began))
			}

			// the peer does not answer
			ours, theirs = bubblePair()
			c = newConn(ours, role, agreement{}, settingsOf(Dialer{CloseTimeout: 3 * time.Second}), nil)
			go func() {
				_, _, err := c.ReadMessage()
				ended <- err
			}()
			began = time.Now()
			servertest.Must(t, c.Close())
			if err := <-ended; !errors.Is(err, net.ErrClosed) || time.Since(began) != 3*time.Second {
				t.Errorf("the reader got %v after %v", err, time.Since(began))
			}
			_ = theirs.Close()

			// it is not waited for
			ours, theirs = bubblePair()
			c = newConn(ours, role, agreement{}, settingsOf(Dialer{CloseTimeout: -1}), nil)
			began = time.Now()
			servertest.Must(t, c.Close())
			if p, err := io.ReadAll(theirs); err != nil || len(p) < 4 || time.Since(began) != 0 {
				t.Errorf("the peer got %q, %v, after %v", p, err, time.Since(began))
			}
			_ = theirs.Close()
		}
	})
	c, s := connPair(t, servertest.TCPPair, &Upgrader{}, &Dialer{})
	if c.CloseWith(CloseAbnormalClosure, "") == nil || c.CloseWith(1000, string(make([]byte, 124))) == nil {
		t.Error("a close message that must not be sent")
	}
	servertest.Must(t, s.CloseNow())
	if _, _, err := c.ReadMessage(); !IsCloseError(err, CloseAbnormalClosure) {
		t.Errorf("after CloseNow of the peer: %v", err)
	}
	if _, _, err := s.ReadMessage(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("after CloseNow: %v", err)
	}
}

// TestHandlersMayClose closes a connection in handlers for control frames.
func TestHandlersMayClose(t *testing.T) {
	servertest.Bubble(t, func(t *testing.T) {
		ours, theirs := bubblePair()
		c := newConn(ours, ws.Server, agreement{}, settingsOf(Dialer{}), nil)
		c.SetPingHandler(func(string) error { return c.Close() })
		peer := newConn(theirs, ws.Client, agreement{}, settingsOf(Dialer{}), nil)
		servertest.Must(t, peer.WriteControl(PingMessage, nil, time.Time{}))
		began := time.Now()
		if _, _, err := c.ReadMessage(); !errors.Is(err, net.ErrClosed) || time.Since(began) != 0 {
			t.Errorf("got %v after %v", err, time.Since(began))
		}
		_ = peer.Close()
		_ = c.CloseHandler()(1000, "")
		_ = c.PingHandler()("")
		_ = c.PongHandler()("")
	})
}

// TestCloseWaitsForAHandler closes a connection while another goroutine runs a handler: messages that
// arrive after that, and the Close frame of the peer, are received nevertheless.
func TestCloseWaitsForAHandler(t *testing.T) {
	servertest.Bubble(t, func(t *testing.T) {
		ours, theirs := bubblePair()
		c := newConn(ours, ws.Server, agreement{}, settingsOf(Dialer{}), nil)
		c.SetPingHandler(func(string) error {
			time.Sleep(time.Second) // in a bubble
			return nil
		})
		peer := newConn(theirs, ws.Client, agreement{}, settingsOf(Dialer{}), nil)
		servertest.Must(t, peer.WriteControl(PingMessage, nil, time.Time{}))
		servertest.Must(t, peer.WriteMessage(TextMessage, []byte("after the ping")))
		messages, ended := 0, make(chan error, 1)
		go func() {
			for {
				if _, _, err := c.ReadMessage(); err != nil {
					ended <- err
					return
				}
				messages++
			}
		}()
		go func() { _, _, _ = peer.ReadMessage() }()
		synctest.Wait()
		began := time.Now()
		servertest.Must(t, c.Close())
		if took := time.Since(began); took != time.Second {
			t.Errorf("Close took %v", took)
		}
		if err := <-ended; !IsCloseError(err, CloseNormalClosure) || messages != 1 {
			t.Errorf("the reader got %d messages and %v", messages, err)
		}
		_ = peer.CloseNow()
	})
}

// halfConn is a connection in memory whose one side can be ended.
type halfConn struct{ net.Conn }

func (halfConn) CloseWrite() error { return nil }

// TestCloseAfterAFaultTakesItsTimeAtMost has peers that have violated the protocol, and then send
// nothing, or more than is discarded.
func TestCloseAfterAFaultTakesItsTimeAtMost(t *testing.T) {
	for _, more := range []int{0, 2 * lingerSize} {
		servertest.Bubble(t, func(t *testing.T) {
			ours, theirs := bubblePair()
			c := newConn(halfConn{ours}, ws.Server, agreement{}, settingsOf(Dialer{CloseTimeout: 100 * time.Millisecond}), nil)
			_, err := theirs.Write(append([]byte("\x83\x80\x00\x00\x00\x00"), make([]byte, more)...))
			servertest.Must(t, err)
			if _, _, err := c.ReadMessage(); !errors.Is(err, ws.ErrOpcode) {
				t.Errorf("got %v", err)
			}
			began := time.Now()
			servertest.Must(t, c.Close())
			if took := time.Since(began); took != 100*time.Millisecond {
				t.Errorf("%d bytes follow: Close took %v", more, took)
			}
			_ = theirs.Close()
		})
	}
}

func TestPings(t *testing.T) {
	servertest.Bubble(t, func(t *testing.T) {
		ours, theirs := bubblePair()
		c := newConn(ours, ws.Server, agreement{}, settingsOf(Dialer{PingInterval: 10 * time.Second, PongTimeout: 4 * time.Second}), nil)
		peer := newConn(theirs, ws.Client, agreement{}, settingsOf(Dialer{}), nil)
		began := time.Now()
		var pings []time.Duration
		ctx, stop := context.WithCancel(t.Context())
		peer.SetPingHandler(func(string) error {
			pings = append(pings, time.Since(began))
			return peer.answerPing(nil)
		})
		var all sync.WaitGroup
		all.Go(func() { _, _, _ = peer.ReadContext(ctx) })
		ended := make(chan error, 1)
		read := func() {
			_, _, err := c.ReadMessage()
			ended <- err
		}
		go read()
		time.Sleep(35 * time.Second) // in a bubble
		synctest.Wait()
		if len(pings) != 3 || pings[0] != 10*time.Second || pings[2] != 30*time.Second {
			t.Errorf("pings after %v", pings)
		}
		// an application that does not read is not the fault of the peer
		servertest.Must(t, peer.WriteMessage(TextMessage, nil))
		servertest.Must(t, <-ended)
		time.Sleep(100 * time.Second) // in a bubble
		go read()
		synctest.Wait()
		// the peer does not answer any more
		stop()
		all.Wait()
		began = time.Now()
		if err := <-ended; err != ErrPongTimeout || time.Since(began) > 14*time.Second {
			t.Errorf("the end is %v after %v", err, time.Since(began))
		}
		_ = c.Close()
		_ = peer.CloseNow()
	})
}

// TestPingsOfImpatientReaders has a method that reads again and again, for a short time each: a peer
// that has gone is found nevertheless, and the time between the calls is not the fault of the peer.
func TestPingsOfImpatientReaders(t *testing.T) {
	servertest.Bubble(t, func(t *testing.T) {
		for _, tt := range []struct{ pause, least, most time.Duration }{
			{0, 14 * time.Second, 15 * time.Second},
			{time.Second, 18 * time.Second, 20 * time.Second},
		} {
			ours, theirs := bubblePair()
			c := newConn(ours, ws.Server, agreement{}, settingsOf(Dialer{PingInterval: 10 * time.Second, PongTimeout: 4 * time.Second}), nil)
			began := time.Now()
			var err error
			for calls := 0; calls < 100 && (err == nil || netio.IsTimeout(err)); calls++ {
				_ = c.SetReadDeadline(time.Now().Add(time.Second))
				_, _, err = c.ReadMessage()
				time.Sleep(tt.pause) // in a bubble
			}
			if took := time.Since(began); err != ErrPongTimeout || took < tt.least || took > tt.most+tt.pause {
				t.Errorf("a pause of %v: the end is %v after %v", tt.pause, err, took)
			}
			_ = c.CloseNow()
			_ = theirs.Close()
		}
	})
}

// TestPingsDoNotWaitForAnswers has peers that do not answer, with more time for that than there is
// between the Ping frames.
func TestPingsDoNotWaitForAnswers(t *testing.T) {
	servertest.Bubble(t, func(t *testing.T) {
		for _, tt := range []struct {
			timeout time.Duration
			pings   int
			end     error
		}{
			{35 * time.Second, 4, ErrPongTimeout},
			{-1, 9, net.ErrClosed},
		} {
			ours, theirs := bubblePair()
			c := newConn(ours, ws.Server, agreement{}, settingsOf(Dialer{PingInterval: 10 * time.Second, PongTimeout: tt.timeout}), nil)
			ended := make(chan error, 1)
			go func() {
				_, _, err := c.ReadMessage()
				ended <- err
			}()
			time.Sleep(95 * time.Second) // in a bubble
			_ = c.CloseNow()
			if err := <-ended; err != tt.end {
				t.Errorf("a timeout of %v: the end is %v", tt.timeout, err)
			}
			if sent, _ := io.ReadAll(theirs); len(sent) != 2*tt.pings {
				t.Errorf("a timeout of %v: the pings are %x, want %d", tt.timeout, sent, tt.pings)
			}
		}
	})
}

// TestPingsFindAPeerThatDoesNotClose has peers that send nothing more, and an application that reads
// on after its Close frame.
func TestPingsFindAPeerThatDoesNotClose(t *testing.T) {
	servertest.Bubble(t, func(t *testing.T) {
		for _, tt := range []struct{ timeout, closes, end time.Duration }{
			{4 * time.Second, 0, 14 * time.Second},
			{35 * time.Second, 12 * time.Second, 45 * time.Second},
		} {
			ours, theirs := bubblePair()
			c := newConn(ours, ws.Server, agreement{}, settingsOf(Dialer{PingInterval: 10 * time.Second, PongTimeout: tt.timeout}), nil)
			began := time.Now()
			_ = c.SetReadDeadline(began.Add(time.Hour))
			time.AfterFunc(tt.closes, func() { _ = c.WriteControl(CloseMessage, nil, time.Time{}) })
			if _, _, err := c.ReadMessage(); err != ErrPongTimeout || time.Since(began) != tt.end {
				t.Errorf("a timeout of %v: the end is %v after %v", tt.timeout, err, time.Since(began))
			}
			_ = c.CloseNow()
			_ = theirs.Close()
		}
		// the closing handshake of Close has a limit of its own
		ours, theirs := bubblePair()
		c := newConn(ours, ws.Server, agreement{}, settingsOf(Dialer{PingInterval: time.Second, CloseTimeout: time.Minute}), nil)
		began := time.Now()
		if err := c.Close(); err != nil || time.Since(began) != time.Minute {
			t.Errorf("Close returned %v after %v", err, time.Since(began))
		}
		_ = theirs.Close()
	})
}

// TestShutdown shuts a server down whose connections read, write, do both or neither.
func TestShutdown(t *testing.T) {
	t.Parallel()
	handlers := map[string]func(c *Conn){
		"echo": echo,
		"reads": func(c *Conn) {
			for {
				if _, _, err := c.ReadMessage(); err != nil {
					return
				}
			}
		},
		"writes": func(c *Conn) {
			for c.WriteMessage(TextMessage, servertest.SampleText(2000)) == nil {
			}
		},
		"writes fragments": func(c *Conn) {
			for {
				w, err := c.NextWriter(TextMessage)
				if err != nil {
					return
				}
				for range 10 {
					_, _ = w.Write(servertest.SampleText(5000))
				}
				if w.Close() != nil {
					return
				}
			}
		},
	}
	for name, handler := range handlers {
		t.Run(name, func(t *testing.T) {
			forEachEngine(t, func(t *testing.T, start starter) {
				entered := make(chan struct{}, 10)
				left := make(chan error, 10)
				s := start(serving(&Upgrader{ReleaseContext: name == "echo"}, func(c *Conn) {
					entered <- struct{}{}
					handler(c)
					left <- nil
				}))
				results := make(chan error, 10)
				for range 3 {
					c := dial(t, s, Dialer{})
					servertest.Receive(t, "the handler", entered)
					go func() {
						for {
							_, p, err := c.ReadMessage()
							if err == nil && len(p) != 2000 && len(p) != 50_000 {
								err = errors.New("a message was cut")
							}
							if err != nil {
								_ = c.Close()
								results <- err
								return
							}
						}
					}()
				}
				done := make(chan error, 1)
				go func() { done <- s.S.Shutdown() }()
				for range 3 {
					if err := servertest.Receive(t, "the end of a client", results); !IsCloseError(err, CloseGoingAway) {
						t.Errorf("a client got %v", err)
					}
				}
				servertest.Must(t, servertest.Receive(t, "the end of Shutdown", done))
				for range 3 {
					servertest.Receive(t, "the end of a handler", left)
				}
			})
		})
	}
}

// TestShutdownWithoutAnAnswer has clients that do not answer, and a limit of the shutdown.
func TestShutdownWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	forEachEngine(t, func(t *testing.T, start starter) {
		for _, byContext := range []bool{false, true} {
			u := &Upgrader{CloseTimeout: servertest.Short}
			if byContext {
				u.CloseTimeout = servertest.Never
			}
			entered, left := make(chan struct{}), make(chan struct{})
			s := start(serving(u, func(c *Conn) {
				close(entered)
				_, _, _ = c.ReadMessage()
				close(left)
				_ = c.CloseNow()
			}))
			c := dial(t, s, Dialer{})
			servertest.Receive(t, "the handler", entered)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			done := make(chan error, 1)
			go func() { done <- s.S.ShutdownWithContext(ctx) }()
			if byContext {
				// its Close frame is there
				_ = c.SetReadDeadline(time.Now().Add(servertest.Patience))
				if _, err := c.nc.Read(make([]byte, 1)); err != nil {
					t.Error(err)
				}
				cancel()
			}
			err := servertest.Receive(t, "the end of Shutdown", done)
			// the connection may be gone before Shutdown looks at its context
			if err != nil && !(byContext && err == context.Canceled) {
				t.Errorf("Shutdown returned %v", err)
			}
			servertest.Receive(t, "the end of the handler", left)
		}
	})
}

// TestFloodOfPings has a peer that sends Ping frames and does not read the answers.
func TestFloodOfPings(t *testing.T) {
	servertest.Bubble(t, func(t *testing.T) {
		ours, theirs := bubblePair()
		c := newConn(ours, ws.Server, agreement{}, settingsOf(Dialer{}), nil)
		peer := newConn(theirs, ws.Client, agreement{}, settingsOf(Dialer{}), nil)
		go func() {
			for range 20_000 {
				_ = peer.WriteControl(PingMessage, make([]byte, 125), time.Time{})
			}
			_ = peer.WriteMessage(TextMessage, []byte("the end"))
		}()
		expectMessage(t, c, TextMessage, []byte("the end"))
		if cap(c.pong) > 256 || c.in != nil {
			t.Errorf("the answers need %d bytes", cap(c.pong))
		}
		_ = c.Close()
		_ = peer.CloseNow()
	})
}

// TestHandlersSetLimits has handlers that change the connection while a method reads.
func TestHandlersSetLimits(t *testing.T) {
	servertest.Bubble(t, func(t *testing.T) {
		ours, theirs := bubblePair()
		c := newConn(ours, ws.Server, agreement{}, settingsOf(Dialer{}), nil)
		peer := newConn(theirs, ws.Client, agreement{}, settingsOf(Dialer{}), nil)
		c.SetPingHandler(func(string) error {
			c.SetReadLimit(3)
			return c.SetReadDeadline(time.Now().Add(time.Minute))
		})
		servertest.Must(t, peer.WriteControl(PingMessage, nil, time.Time{}))
		servertest.Must(t, peer.WriteMessage(TextMessage, []byte("abc")))
		expectMessage(t, c, TextMessage, []byte("abc"))
		began := time.Now()
		if _, _, err := c.ReadMessage(); err == nil || time.Since(began) != time.Minute {
			t.Errorf("got %v after %v", err, time.Since(began))
		}
		// the context of a call counts although a handler sets a deadline
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		c.SetPingHandler(func(string) error {
			<-ctx.Done()
			time.Sleep(time.Second) // in a bubble
			return c.SetReadDeadline(time.Time{})
		})
		servertest.Must(t, peer.WriteControl(PingMessage, nil, time.Time{}))
		servertest.Must(t, c.SetReadDeadline(time.Time{}))
		if _, _, err := c.ReadContext(ctx); err != context.DeadlineExceeded {
			t.Errorf("the end of the context: %v", err)
		}
		servertest.Must(t, peer.WriteMessage(TextMessage, []byte("abcd")))
		if _, _, err := c.ReadMessage(); err != ErrReadLimit {
			t.Errorf("a message over the limit: %v", err)
		}
		_ = c.CloseNow()
		_ = peer.CloseNow()
	})
}
