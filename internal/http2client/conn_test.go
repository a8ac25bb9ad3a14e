package http2client

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/valyala/fasthttp/internal/clientconn"
	"github.com/valyala/fasthttp/internal/http2"
	"github.com/valyala/fasthttp/internal/netio"
	"github.com/valyala/fasthttp/internal/servertest"
)

func TestReadersFollowEachOther(t *testing.T) {
	const readers = noReader + 1
	allowed := map[[2]reader]bool{
		{readerGoroutine, noReader}:     true,
		{inlineReader, readerGoroutine}: true,
		{inlineReader, noReader}:        true,
		{noReader, readerGoroutine}:     true,
		{noReader, inlineReader}:        true,
	}
	for from := range readers {
		for to := range readers {
			c := &Conn{reader: from, transport: new(clientconn.Conn)}
			c.readerCond.L = &c.mu
			refused := func() (refused bool) {
				defer func() { refused = recover() != nil }()
				c.setReader(to)
				return false
			}()
			if c.resume != nil {
				c.resume.Stop()
			}
			if refused == allowed[[2]reader{from, to}] {
				t.Errorf("from %d to %d: refused is %v", from, to, refused)
			}
			if !refused && c.reader != to || refused && c.reader != from {
				t.Errorf("from %d to %d: the reader is %d", from, to, c.reader)
			}
		}
	}
}

// The life of a connection only advances, and to each phase from some only.
func TestLivesOfConnections(t *testing.T) {
	names := [lives]string{"open", "retired", "closing", "finished"}
	// "=" marks a life that has reached the phase, and stays as it is
	want := [lives]string{
		open:     "=open retired",
		retired:  "=open =retired closing finished",
		closing:  "=open =retired =closing finished",
		finished: "=open =retired =closing =finished",
	}
	for from := range lives {
		var got []string
		for to := range lives {
			c := &Conn{life: from}
			changed, refused := false, true
			func() {
				defer func() { refused = recover() != nil }()
				changed = c.advance(to)
			}()
			switch {
			case changed != (c.life != from) || changed && c.life != to || refused && changed:
				t.Errorf("%s to %s: changed is %v, refused is %v, now %s", names[from], names[to], changed, refused, names[c.life])
			case changed:
				got = append(got, names[to])
			case !refused:
				got = append(got, "="+names[to])
			}
		}
		if got := strings.Join(got, " "); got != want[from] {
			t.Errorf("from %s: %s, want %s", names[from], got, want[from])
		}
	}
}

// Calls make a connection change its reader in every way.
func TestReaders(t *testing.T) {
	servertest.Bubble(t, func(t *testing.T) {
		c, _, p := connect(t, servertest.MemoryPair, nil)
		c.expectReader(t, noReader)
		// a single call leads, and a concurrent one does not
		p.hold()
		first, err := ask(c, nil)
		servertest.Must(t, err)
		second, err := ask(c, nil)
		servertest.Must(t, err)
		c.expectReader(t, inlineReader)
		if !first.leads || second.leads {
			t.Errorf("leads: %v, %v", first.leads, second.leads)
		}
		// the first one leaves early: another reader must serve the second one
		if err := first.await(time.Now().Add(time.Millisecond)); err != errLate {
			t.Errorf("got %v", err)
		}
		c.expectReader(t, readerGoroutine)
		p.release()
		second.succeeds(t)
		c.expectReader(t, noReader)
		// after a rest the thread reads, and completes calls
		time.Sleep(readPause)
		c.expectReader(t, readerGoroutine)
		third, err := ask(c, nil)
		servertest.Must(t, err)
		if third.leads {
			t.Error("a call leads although the thread reads")
		}
		third.succeeds(t)
		c.expectReader(t, noReader)
		_ = c.Close()
		servertest.Receive(t, "the end of the peer", p.over)
	})
}

// Calls end at any time, alone and concurrently, and the connection stays usable.
func TestCallsWithRandomDeadlines(t *testing.T) {
	c, _, p := connect(t, servertest.TCPPair, nil)
	for _, callers := range []int{1, 2, 7} {
		var all servertest.Crowd
		for k := range callers {
			random := rand.New(rand.NewPCG(uint64(callers), uint64(k)))
			all.Go(func() {
				for range servertest.Times(3000) {
					x, err := ask(c, make([]byte, random.IntN(3000)))
					if err != nil {
						t.Error(err)
						return
					}
					var until time.Time
					if random.IntN(2) == 0 {
						until = time.Now().Add(time.Duration(random.IntN(200)) * time.Microsecond)
					}
					if err := x.await(until); err != nil && (err != errLate || until.IsZero()) {
						t.Errorf("got %v", err)
						return
					}
					all.Step()
				}
			})
		}
		all.Wait(t, "the calls")
		x, err := ask(c, nil)
		servertest.Must(t, err)
		x.succeeds(t)
	}
	if n := c.users.Load(); n != 0 {
		t.Errorf("%d reservations", n)
	}
	c.Lock()
	if n := c.conn.Held(); n != 0 {
		t.Errorf("%d streams", n)
	}
	c.Unlock()
	_ = c.Close()
	servertest.Receive(t, "the end of the peer", p.over)
}

// The leading call may leave once the connection is closed, without having read that: the
// others must still end.
func TestCallsBesideALeaderThatLeavesAreTold(t *testing.T) {
	servertest.Bubble(t, func(t *testing.T) {
		c, o, p := connect(t, servertest.MemoryPair, nil)
		c.expectReader(t, noReader)
		p.hold()
		leader, err := ask(c, nil)
		servertest.Must(t, err)
		other, err := ask(c, nil)
		servertest.Must(t, err)
		if !leader.leads || other.leads {
			t.Fatalf("leads: %v, %v", leader.leads, other.leads)
		}
		_ = c.Close()
		servertest.Receive(t, "the end of the connection", o.ended)
		servertest.Receive(t, "the end of the peer", p.over)
		leader.leave()
		if err := other.await(time.Now().Add(servertest.Patience)); err == nil || err == errLate {
			t.Errorf("got %v", err)
		}
	})
}

// Calls end at any time while the connection is closed, retired, or cut by the peer.
func TestConnectionsEndAtAnyTime(t *testing.T) {
	ends := map[string]func(c *Conn, p *peer){
		"close":  func(c *Conn, _ *peer) { _ = c.Close() },
		"retire": func(c *Conn, _ *peer) { c.Retire() },
		"cut":    func(_ *Conn, p *peer) { p.close() },
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			for i := range servertest.Times(400) {
				c, o, p := connect(t, servertest.TCPPair, nil)
				random := rand.New(rand.NewPCG(1, uint64(i)))
				var all sync.WaitGroup
				for range 1 + i%3 {
					content := make([]byte, random.IntN(20_000))
					all.Go(func() {
						for {
							x, err := ask(c, content)
							if err != nil {
								return
							}
							if x.await(time.Now().Add(servertest.Patience)) == errLate {
								t.Error("a call was not told")
								return
							}
						}
					})
				}
				for range random.IntN(100) {
					runtime.Gosched()
				}
				end(c, p)
				servertest.Receive(t, "the end of the connection", o.ended)
				servertest.Soon(t, "the calls", all.Wait)
				_ = c.Close()
				servertest.Receive(t, "the end of the peer", p.over)
				if len(o.ended) != 0 {
					t.Error("the owner was told of the end twice")
				}
				if c.Reserve() {
					t.Error("there is a reservation")
				}
			}
		})
	}
}

func TestCloseSaysGoAway(t *testing.T) {
	for name, end := range map[string]func(c *Conn){
		"close":             func(c *Conn) { _ = c.Close() },
		"retire, and close": func(c *Conn) { c.Retire(); _ = c.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			c, o, p := connect(t, servertest.TCPPair, nil)
			end(c)
			if code := servertest.Receive(t, "GOAWAY", p.goAway); code != http2.NoError {
				t.Errorf("got %v", code)
			}
			servertest.Receive(t, "the end of the peer", p.over)
			servertest.Receive(t, "the end of the connection", o.ended)
			if settled, ended := c.State(); !settled || !ended {
				t.Errorf("settled %v, ended %v", settled, ended)
			}
		})
	}
}

// A retired connection takes no more calls, and its calls run to their end.
func TestRetireLetsCallsEnd(t *testing.T) {
	c, o, p := connect(t, servertest.TCPPair, nil)
	p.hold()
	x, err := ask(c, []byte("content"))
	servertest.Must(t, err)
	c.Retire()
	servertest.Receive(t, "the end of the connection", o.ended)
	if c.Reserve() {
		t.Error("there is a reservation")
	}
	servertest.Receive(t, "GOAWAY", p.goAway)
	p.release()
	x.succeeds(t)
}

func TestReservationsAreThoseOfThePeer(t *testing.T) {
	client, server := servertest.TCPPair(t)
	p := newPeer(server)
	p.limits.Streams = 3
	p.conn.Init(http2.Server, &p.limits, 0)
	go p.run()
	c, _ := begin(t, client, nil)
	n := 0
	for c.Reserve() {
		n++
	}
	if n != 3 {
		t.Errorf("%d reservations", n)
	}
	if c.ReleaseReservation(); !c.Reserve() || c.Reserve() {
		t.Error("what was given back is not one")
	}
}

// A PING checks whether a quiet peer is there: if it is, the connection stays; if not, its
// calls fail.
func TestQuietPeersAreAsked(t *testing.T) {
	t.Run("it answers", func(t *testing.T) {
		servertest.Bubble(t, func(t *testing.T) {
			c, o, p := connect(t, servertest.MemoryPair, &Config{Ping: time.Minute, Pong: time.Minute})
			p.hold()
			x, err := ask(c, nil)
			servertest.Must(t, err)
			if err := x.await(time.Now().Add(time.Hour)); err != errLate {
				t.Errorf("got %v", err)
			}
			if len(o.ended) != 0 {
				t.Error("the connection has ended")
			}
			p.release()
			x, err = ask(c, nil)
			servertest.Must(t, err)
			x.succeeds(t)
		})
	})
	t.Run("it does not", func(t *testing.T) {
		servertest.Bubble(t, func(t *testing.T) {
			client, server := servertest.MemoryPair(t)
			p := newPeer(server)
			_, err := server.Write(p.conn.Output(nil, 64<<10))
			servertest.Must(t, err)
			codes := make(chan http2.Code, 10)
			c, o := begin(t, client, &Config{Ping: time.Second, Pong: time.Second, Count: func(code http2.Code) { codes <- code }})
			x, err := ask(c, nil)
			servertest.Must(t, err)
			if err := x.result(t); !errors.Is(err, http2.ErrNoPong) {
				t.Errorf("got %v", err)
			}
			servertest.Receive(t, "the end of the connection", o.ended)
			servertest.Receive(t, "a code", codes)
			text, err := io.ReadAll(server)
			servertest.Must(t, err)
			if !bytes.Contains(text, []byte("alive?")) {
				t.Error("the peer was not asked")
			}
		})
	})
}

// TestPeersGreetInTime has peers that take too long for their SETTINGS, or for their
// acknowledgement of ours, and that receive the reason.
func TestPeersGreetInTime(t *testing.T) {
	for name, greeting := range map[string][]byte{"nothing": nil, "no answer": {0, 0, 0, 4, 0, 0, 0, 0, 0}} {
		t.Run(name, func(t *testing.T) {
			servertest.Bubble(t, func(t *testing.T) {
				client, server := servertest.MemoryPair(t)
				_, err := server.Write(greeting)
				servertest.Must(t, err)
				codes := make(chan http2.Code, 10)
				c, o := beginUnsettled(client, &Config{
					Limits: http2.Limits{Greeting: 30}, Ping: time.Second, Pong: time.Minute,
					Count: func(code http2.Code) { codes <- code },
				})
				x, err := ask(c, nil)
				servertest.Must(t, err)
				if err := x.result(t); !errors.Is(err, http2.ErrGreetingTimeout) {
					t.Errorf("got %v", err)
				}
				servertest.Receive(t, "the end of the connection", o.ended)
				text, err := io.ReadAll(server)
				servertest.Must(t, err)
				goAway := string([]byte{7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, byte(http2.SettingsTimeout)})
				if !strings.HasSuffix(string(text), goAway) {
					t.Errorf("the last words are %q", text)
				}
				if len(codes) != 1 || <-codes != http2.SettingsTimeout {
					t.Errorf("%d faults are counted, want one", len(codes))
				}
			})
		})
	}
}

// silent is a peer that has sent all that it must, and reads nothing.
func silent(t *testing.T, server net.Conn) {
	t.Helper()
	p := newPeer(server)
	// so that the client has a window for its content
	p.limits.Window, p.limits.ConnWindow = 1<<30, 1<<30
	p.conn.Init(http2.Server, &p.limits, 0)
	_, err := server.Write(p.conn.Output(nil, 64<<10))
	servertest.Must(t, err)
}

func TestPeerThatReadsNothing(t *testing.T) {
	servertest.Bubble(t, func(t *testing.T) {
		client, server := servertest.MemoryPair(t)
		silent(t, server)
		c, o := begin(t, client, &Config{Write: time.Second})
		var calls []*call
		for range 10 {
			x, err := ask(c, make([]byte, 4<<20))
			if err != nil {
				break
			}
			calls = append(calls, x)
		}
		servertest.Receive(t, "the end of the connection", o.ended)
		for _, x := range calls {
			if err := x.result(t); !netio.IsTimeout(err) {
				t.Errorf("got %v", err)
			}
		}
	})
}

// Close does not wait for a peer that reads nothing.
func TestCloseOfAFullConnection(t *testing.T) {
	client, server := servertest.TCPPair(t)
	silent(t, server)
	c, o := begin(t, client, nil)
	x, err := ask(c, make([]byte, 16<<20))
	servertest.Must(t, err)
	_ = c.Close()
	servertest.Receive(t, "the end of the connection", o.ended)
	if err := x.await(time.Now().Add(servertest.Patience)); err == nil || err == errLate {
		t.Errorf("got %v", err)
	}
}

// When the socket is full a goroutine waits for it, and all content arrives in order.
func TestWritersHandOver(t *testing.T) {
	for _, secure := range []bool{false, true} {
		t.Run(map[bool]string{false: "plain", true: "TLS"}[secure], func(t *testing.T) {
			client, server := servertest.TCPPair(t)
			servertest.Must(t, client.(*net.TCPConn).SetWriteBuffer(32<<10))
			line := new(clientconn.Conn)
			line.Attach(client, 4096)
			if secure {
				cert, _ := servertest.CertificateFor(t, []string{"localhost"})
				server = tls.Server(server, &tls.Config{Certificates: []tls.Certificate{cert}})
			}
			p := newPeer(server)
			p.limits.Window, p.limits.ConnWindow = 1<<20, 1<<24
			p.conn.Init(http2.Server, &p.limits, 0)
			go p.run()
			if secure {
				_, err := line.Handshake(t.Context(), &tls.Config{InsecureSkipVerify: true}, time.Time{}, func(*tls.ConnectionState) error { return nil })
				servertest.Must(t, err)
			}
			cfg := &Config{Write: servertest.Patience}
			cfg.Limits.Fill()
			o := newOwner()
			c := Begin(line, cfg, o)
			c.Wake()
			c.ReleaseReservation()
			t.Cleanup(func() { c.lose(net.ErrClosed) })
			servertest.Receive(t, "the settings of the peer", o.settled)
			const callers, size = 8, 300_000
			rounds := servertest.Times(60)
			var all servertest.Crowd
			var waited atomic.Bool
			for range callers {
				all.Go(func() {
					for range rounds {
						x, err := ask(c, make([]byte, size))
						c.mu.Lock()
						if c.writer == writerGoroutine {
							waited.Store(true)
						}
						c.mu.Unlock()
						if err == nil {
							err = x.await(time.Now().Add(servertest.Patience))
						}
						if err != nil {
							t.Error(err)
							return
						}
						all.Step()
					}
				})
			}
			all.Wait(t, "the calls")
			if !waited.Load() {
				t.Error("the connection has taken everything at once")
			}
			p.mu.Lock()
			defer p.mu.Unlock()
			if want := callers * size * rounds; p.got != want {
				t.Errorf("the peer has received %d bytes, want %d", p.got, want)
			}
		})
	}
}

// The hook may use the connection: the lock is not held.
func TestFaultsAreCountedWithoutTheLock(t *testing.T) {
	counted := make(chan http2.Code, 10)
	var conn atomic.Pointer[Conn]
	c, _, p := connect(t, servertest.TCPPair, &Config{Count: func(code http2.Code) {
		_, _ = conn.Load().State()
		counted <- code
	}})
	conn.Store(c)
	p.hold()
	x, err := ask(c, []byte("content"))
	servertest.Must(t, err)
	ended := make(chan error, 1)
	go func() { ended <- x.await(time.Time{}) }()
	servertest.Eventually(t, "the request", func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return len(p.held) == 1
	})
	p.mu.Lock()
	// a window that does not grow
	_, err = p.nc.Write([]byte{0, 0, 4, 8, 0, 0, 0, 0, byte(p.held[0].ID()), 0, 0, 0, 0})
	p.mu.Unlock()
	servertest.Must(t, err)
	if code := servertest.Receive(t, "the count", counted); code != http2.ProtocolError {
		t.Errorf("counted %v", code)
	}
	if err := servertest.Receive(t, "the end of the call", ended); err != errReset {
		t.Errorf("the error of the call is %v", err)
	}
}
