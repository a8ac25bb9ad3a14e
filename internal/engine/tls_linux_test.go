package engine

import (
	"bytes"
	"crypto/tls"
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

	"github.com/valyala/fasthttp/internal/netloop"
	"github.com/valyala/fasthttp/internal/servertest"
	"github.com/valyala/fasthttp/internal/tlswire"
)

// tlsHost is a Host of TLS connections.
type tlsHost struct {
	linesHost
	stuck  chan struct{} // a handshake waits for it unless it is nil
	stacks chan string   // of the goroutines of handshakes, unless nil
}

func (*tlsHost) KindOf(net.Conn) (opening, isTLS bool) { return true, true }

func (h *tlsHost) Handshake(c *Conn) (serve func() error, err error) {
	if h.stuck != nil {
		<-h.stuck
	}
	if h.stacks != nil {
		stack := make([]byte, 1<<10)
		h.stacks <- string(stack[:runtime.Stack(stack, false)])
	}
	if err := c.NC.(*tls.Conn).Handshake(); err != nil {
		return nil, err
	}
	c.EndOpening()
	return nil, nil
}

// tlsServer is a server of lines over TLS on the event engine.
type tlsServer struct {
	t    *testing.T
	addr string
	set  *Set
}

func newTLSServer(t *testing.T, h Host, limits Limits) *tlsServer {
	t.Helper()
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	cert, key := servertest.Certificate()
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	if limits.Handshake == 0 {
		limits.Handshake = servertest.Never
	}
	s := &Set{Host: h, Limits: limits}
	s.Renew()
	serveUntilEnd(t, s, ln, func() error {
		_, err := s.ServeEvents(ln, tlswire.With(&tls.Config{Certificates: []tls.Certificate{pair}}))
		return err
	})
	return &tlsServer{t, ln.Addr().String(), s}
}

// dial opens a connection without TLS, and dialTLS one with it.
func (s *tlsServer) dial() net.Conn {
	s.t.Helper()
	nc, err := net.Dial("tcp4", s.addr)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = nc.Close() })
	_ = nc.SetDeadline(time.Now().Add(servertest.Patience))
	return nc
}

func clientConfig() *tls.Config {
	config := servertest.TrustCertificate()
	config.ServerName = "127.0.0.1"
	return config
}

func (s *tlsServer) dialTLS() *tls.Conn {
	s.t.Helper()
	c := tls.Client(s.dial(), clientConfig())
	if err := c.Handshake(); err != nil {
		s.t.Fatal(err)
	}
	return c
}

// ask sends a line, and checks that the server sends it back.
func ask(t *testing.T, nc net.Conn, line string) {
	t.Helper()
	line += "\n"
	_ = nc.SetDeadline(time.Now().Add(servertest.Patience))
	go func() { _, _ = io.WriteString(nc, line) }()
	got := make([]byte, len(line))
	if _, err := io.ReadFull(nc, got); err != nil || string(got) != line {
		t.Fatalf("%.20q came back as %.20q, %v", line, got, err)
	}
}

func TestTLSRunsOnEventLoops(t *testing.T) {
	s := newTLSServer(t, new(tlsHost), Limits{})
	c := s.dialTLS()
	for _, size := range []int{1, 1000, 20_000, 1 << 20} {
		ask(t, c, strings.Repeat("x", size))
	}
	// a record for each byte: the bytes read ahead last for many turns
	go func() {
		for range 2000 {
			_, _ = io.WriteString(c, "x")
		}
		_, _ = io.WriteString(c, "\n")
	}()
	got := make([]byte, 2001)
	if _, err := io.ReadFull(c, got); err != nil {
		t.Fatal(err)
	}
	if err := c.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if rest, err := io.ReadAll(c); len(rest) > 0 || err != nil {
		t.Errorf("the connection ended with %q, %v", rest, err)
	}
}

// A part of a record that arrives at the end of the time for a request does not count.
func TestPartOfARecordDoesNotTakeTheDeadlineAway(t *testing.T) {
	s := newTLSServer(t, new(tlsHost), Limits{Idle: time.Hour})
	nc := s.dial()
	client := tls.Client(nc, clientConfig())
	ask(t, client, "once")
	c := acquired(t, s.set, (*eventConn).Waiting)
	if _, err := nc.Write([]byte("\x17\x03\x03\x01")); err != nil {
		t.Fatal(err)
	}
	servertest.Eventually(t, "the bytes are there", c.hasInput)
	// as the wheel does
	if c.Expire() {
		c.net.Release()
	}
	servertest.Eventually(t, "the connection is closed", func() bool { return s.set.Open() == 0 })
}

// The alert at the end is sent when there is room for it, or the connection is closed.
func TestFarewellWaitsForRoom(t *testing.T) {
	for _, expires := range []bool{false, true} {
		s := newTLSServer(t, new(tlsHost), Limits{})
		c, nc, size := unsentFarewell(t, s)
		if expires {
			if c.Expire() {
				t.Error("the connection is alive after the time for its end")
			}
		} else {
			c.net.SetDeadline(servertest.Never)
			c.net.Release()
		}
		got, err := io.ReadAll(nc)
		if err != nil {
			t.Fatal(err)
		}
		if alert := got[size:]; expires != (len(alert) == 0) || !expires && int(alert[4])+tlswire.HeaderSize != len(alert) {
			t.Errorf("expires: %v, and behind the junk is %q", expires, alert)
		}
		_ = nc.Close()
		servertest.Eventually(t, "the connection is closed", func() bool { return s.set.Open() == 0 })
	}
}

// unsentFarewell returns a connection whose alert waits for room, its peer, and the number of bytes
// before the alert. The caller owns the connection.
func unsentFarewell(t *testing.T, s *tlsServer) (c *eventConn, nc net.Conn, size int) {
	t.Helper()
	servertest.Eventually(t, "an alert that waits for room", func() bool {
		nc, size = s.dial(), 0
		ask(t, tls.Client(nc, clientConfig()), "once")
		c = acquired(t, s.set, (*eventConn).Waiting)
		for junk := make([]byte, 1<<16); ; {
			n, err := c.net.Write(junk, nil)
			size += n
			if err == netloop.ErrAgain {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		alive := c.beginCloseNotify(true)
		if alive && c.phase == eventCloseNotify {
			return true
		}
		// the junk has moved on to the peer, and has left room behind
		if alive {
			c.net.Release()
		}
		_ = nc.Close()
		servertest.Eventually(t, "the connection is closed", func() bool { return s.set.Open() == 0 })
		return false
	})
	return c, nc, size
}

// failingHost is a tlsHost whose hooks fail as an application's may.
type failingHost struct {
	tlsHost
	fail func()
	logs chan string
}

func (h *failingHost) Handshake(*Conn) (serve func() error, err error) {
	h.fail()
	return nil, nil
}

func (h *failingHost) Logf(format string, args ...any) { h.logs <- fmt.Sprintf(format, args...) }

func TestHandshakeWhoseHookFails(t *testing.T) {
	hello := helloOf(t)
	for name, fail := range map[string]func(){"panic": func() { panic("at the disco") }, "Goexit": runtime.Goexit} {
		t.Run(name, func(t *testing.T) {
			// more often than there are places
			attempts := HandshakesPerProc*runtime.GOMAXPROCS(0) + 1
			h := &failingHost{logs: make(chan string, attempts), fail: fail}
			s := newTLSServer(t, h, Limits{})
			for range attempts {
				nc := s.dial()
				if _, err := nc.Write(hello); err != nil {
					t.Fatal(err)
				}
				if _, err := nc.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
					t.Errorf("the connection ended with %v", err)
				}
			}
			servertest.Eventually(t, "the connections are closed", func() bool { return s.set.Open() == 0 })
			if name == "panic" {
				if line := servertest.Receive(t, "a line", h.logs); !strings.Contains(line, "at the disco") {
					t.Errorf("logged %q", line)
				}
			}
		})
	}
}

// recorder keeps the bytes written to a connection.
type recorder struct {
	net.Conn
	mu   sync.Mutex
	sent []byte
}

func (r *recorder) Write(p []byte) (int, error) {
	r.mu.Lock()
	r.sent = append(r.sent, p...)
	r.mu.Unlock()
	return r.Conn.Write(p)
}

// A client may go away at any point of its handshake. The server forgets it.
func TestHandshakeThatIsCutAnywhere(t *testing.T) {
	s := newTLSServer(t, new(tlsHost), Limits{})
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		config := clientConfig()
		config.MaxVersion = version
		whole := &recorder{Conn: s.dial()}
		if err := tls.Client(whole, config).Handshake(); err != nil {
			t.Fatal(err)
		}
		_ = whole.Close()
		size := len(whole.sent)
		for n := range size {
			nc := s.dial()
			cut := &cutConn{Conn: nc, left: n}
			if err := tls.Client(cut, config).Handshake(); err == nil {
				t.Fatalf("a handshake of %d bytes succeeded with %d", size, n)
			}
			if n%2 == 0 {
				servertest.Reset(nc)
			}
			_ = nc.Close()
		}
	}
	servertest.Eventually(t, "the connections are closed", func() bool { return s.set.Open() == 0 })
	ask(t, s.dialTLS(), "others are served")
}

// cutConn ends after some bytes.
type cutConn struct {
	net.Conn
	left int
}

func (c *cutConn) Write(p []byte) (int, error) {
	n := min(c.left, len(p))
	c.left -= n
	_, _ = c.Conn.Write(p[:n])
	if n < len(p) {
		return n, io.ErrShortWrite
	}
	return n, nil
}

// helloOf returns the first message of a client.
func helloOf(t *testing.T) []byte {
	t.Helper()
	r := &recorder{Conn: &servertest.FakeConn{}}
	_ = tls.Client(r, clientConfig()).Handshake()
	if len(r.sent) == 0 {
		t.Fatal("there is no message")
	}
	return r.sent
}

// Clients that have not sent their first message have no goroutine, and clients that stop
// in the middle of a handshake do not delay others.
func TestHalfOpenHandshakesHoldNobodyUp(t *testing.T) {
	s := newTLSServer(t, new(tlsHost), Limits{})
	old := s.dialTLS()
	ask(t, old, "one")
	hello := helloOf(t)
	before := runtime.NumGoroutine()
	const clients = 200
	for i := range clients {
		if _, err := s.dial().Write(hello[:i*(len(hello)-1)/clients]); err != nil {
			t.Fatal(err)
		}
	}
	ask(t, s.dialTLS(), "two")
	servertest.Eventually(t, "the connections are there", func() bool { return s.set.Open() == clients+2 })
	if n := runtime.NumGoroutine(); n > before+clients/4 {
		t.Errorf("%d goroutines, %d before", n, before)
	}
	// these have a goroutine, and no place in the queue
	for range clients {
		nc := s.dial()
		if _, err := nc.Write(hello); err != nil {
			t.Fatal(err)
		}
		if _, err := nc.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
	}
	ask(t, old, "three")
	ask(t, s.dialTLS(), "four")
}

func TestHandshakesEndInTime(t *testing.T) {
	s := newTLSServer(t, new(tlsHost), Limits{Handshake: servertest.Short})
	hello := helloOf(t)
	for _, n := range []int{0, 3, len(hello) - 1, len(hello)} {
		begun := time.Now()
		nc := s.dial()
		_, _ = nc.Write(hello[:n])
		_, err := io.Copy(io.Discard, nc)
		if took := time.Since(begun); errors.Is(err, os.ErrDeadlineExceeded) || took < servertest.Short {
			t.Errorf("%d bytes of %d: %v after %v", n, len(hello), err, took)
		}
	}
	servertest.Eventually(t, "the connections are closed", func() bool { return s.set.Open() == 0 })
}

// A hook of a handshake may wait for long.
func TestLineOfHandshakesMovesOn(t *testing.T) {
	h := &tlsHost{stuck: make(chan struct{})}
	s := newTLSServer(t, h, Limits{})
	hello := helloOf(t)
	waiting := HandshakesPerProc*runtime.GOMAXPROCS(0) + 3
	for range waiting {
		if _, err := s.dial().Write(hello); err != nil {
			t.Fatal(err)
		}
	}
	servertest.Eventually(t, "all handshakes have begun", func() bool {
		return strings.Count(string(servertest.Stacks()), "(*tlsHost).Handshake") >= waiting
	})
	close(h.stuck)
}

func TestHandshakesReuseGoroutines(t *testing.T) {
	h := &tlsHost{stacks: make(chan string, 1)}
	s := newTLSServer(t, h, Limits{})
	names := map[string]bool{}
	// a goroutine may not be done with one when the next one begins, or may have waited too long
	servertest.Eventually(t, "handshakes of goroutines that had one before", func() bool {
		ask(t, s.dialTLS(), "hello")
		name, _, _ := strings.Cut(servertest.Receive(t, "a stack", h.stacks), "[")
		reused := names[name]
		names[name] = true
		return reused
	})
	servertest.Eventually(t, "no goroutine waits for handshakes", func() bool {
		return !strings.Contains(string(servertest.Stacks()), "(*eventConn).handshake") &&
			!strings.Contains(string(servertest.Stacks()), "/workers.(*Pool")
	})
}

// An idle connection has no goroutine, and needs little memory.
func TestIdleTLSConnectionsAreSmall(t *testing.T) {
	if servertest.RaceDetector {
		t.Skip("the race detector needs memory of its own")
	}
	const (
		clients = 300
		limit   = 30 << 10 // for both ends; crypto/tls uses nearly all of it
	)
	s := newTLSServer(t, new(tlsHost), Limits{})
	ask(t, s.dialTLS(), "first")
	goroutines, before := runtime.NumGoroutine(), memoryInUse()
	all := make([]*tls.Conn, clients)
	for i := range all {
		all[i] = s.dialTLS()
		ask(t, all[i], "once")
	}
	if n := runtime.NumGoroutine(); n > goroutines+clients/10 {
		t.Errorf("%d goroutines, %d before", n, goroutines)
	}
	if both := (memoryInUse() - before) / clients; both > limit {
		t.Errorf("%d bytes for both ends of a connection, want %d", both, limit)
	}
	runtime.KeepAlive(all)
}

func memoryInUse() int {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapInuse + m.StackInuse)
}

// bigAnswers is a Protocol that answers a line with more bytes than the system has room
// for.
type bigAnswers struct{ lines }

const bigAnswer = 16 << 20

func (p *bigAnswers) Step() Action {
	if bytes.IndexByte(p.in, '\n') >= 0 {
		p.in, p.out = p.in[:0], make([]byte, bigAnswer)
	}
	return p.lines.Step()
}

func (p *bigAnswers) Written(n int64, _ error) { p.out = p.out[n:] }

type bigAnswersHost struct{ tlsHost }

func (*bigAnswersHost) AcquireProtocol(c *Conn, _ Link, _ Protocol) Protocol {
	return &bigAnswers{lines{c: c}}
}

// A response that ends with its connection is incomplete without the closing alert.
func TestPeersThatReadSlowlyGetTheEnd(t *testing.T) {
	s := newTLSServer(t, new(bigAnswersHost), Limits{})
	c := s.dialTLS()
	servertest.Must(t, c.NetConn().(*net.TCPConn).SetReadBuffer(64<<10))
	var served *eventConn
	servertest.Eventually(t, "the connection is on its loop", func() bool {
		s.set.All(func(found *Conn) { served = transportOf(found.NC).(*eventConn) })
		return served != nil
	})
	_, err := io.WriteString(c, "a line\n")
	servertest.Must(t, errors.Join(err, c.CloseWrite()))
	rests := func(phase func() bool) bool {
		if !served.net.TryAcquire() {
			return false
		}
		defer served.net.Release()
		return phase()
	}
	servertest.Eventually(t, "the server waits for room", func() bool {
		return rests(func() bool { return served.phase == eventUnsent })
	})
	b := make([]byte, 10_000)
	for at := 0; ; {
		n, err := c.Read(b)
		at += n
		if err == io.EOF && at == bigAnswer {
			return
		}
		if err != nil {
			t.Fatal(fmt.Errorf("after %d of %d bytes: %w", at, bigAnswer, err))
		}
		if at%(1<<20) < n {
			_ = c.SetDeadline(time.Now().Add(servertest.Patience))
			servertest.Eventually(t, "the server has filled the room that there is now", func() bool {
				return rests(func() bool { return true }) || s.set.Open() == 0
			})
		}
	}
}

// Bytes that are not read since answers of TLS wait for room neither take the deadline of a first
// request away, nor hold a shutdown up.
func TestUnreadBytesOfAPeerThatTakesNothingDoNotCount(t *testing.T) {
	for name, end := range map[string]func(c *eventConn){
		"deadline": func(c *eventConn) {
			// as the wheel does
			if c.Expire() {
				c.net.Release()
			}
		},
		"shutdown": func(c *eventConn) {
			c.net.Release()
			c.Set.closeIdle(t.Context())
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newTLSServer(t, new(tlsHost), Limits{First: time.Hour, RespondsOnTimeout: true})
			nc := s.dial()
			servertest.Must(t, tls.Client(nc, clientConfig()).Handshake())
			c := acquired(t, s.set, (*eventConn).Waiting)
			_, err := nc.Write([]byte("\x17\x03\x03\x01"))
			servertest.Must(t, err)
			servertest.Eventually(t, "the bytes are there", c.isReadable)
			owned, junk := true, make([]byte, 1<<16)
			servertest.Eventually(t, "the connection is closed", func() bool {
				owned = owned || c.net.TryAcquire()
				// the junk moves on to the peer for a while, and leaves room behind
				if owned && choke(c, junk) {
					owned = false
					end(c)
				}
				return s.set.Open() == 0
			})
		})
	}
}

// choke fills the room for output, and then makes TLS wait for room, so that nothing is read. It
// reports whether there is still none.
func choke(c *eventConn, junk []byte) bool {
	for {
		if _, err := c.net.Write(junk, nil); err != nil {
			break
		}
	}
	_, _ = c.tls().Send(junk, nil)
	return c.tls().Choked()
}
