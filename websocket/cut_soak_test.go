package websocket_test

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
	"github.com/valyala/fasthttp/internal/ws"
	"github.com/valyala/fasthttp/websocket"
)

const (
	cutClients = 16
	// cutGrowth is the number of bytes by which the heap may have grown in the end.
	cutGrowth = 4 << 20
	// cutTLS is how many bytes a client sends at most for the TLS handshake and a script.
	cutTLS = 1200
)

// TestSoakCuts opens sockets in every way, sends valid and malformed frames, and cuts the
// connections after every number of bytes: in the TLS handshake, in the opening handshake, in
// frames, and in Close frames. Whatever the server sends must be valid. In the end nothing may be
// left.
func TestSoakCuts(t *testing.T) { servertest.Apart(t, testSoakCuts) }

func testSoakCuts(t *testing.T) {
	length := servertest.SoakTime()
	if all, err := time.ParseDuration(os.Getenv(servertest.SoakVariable)); err == nil {
		length = all / 4
	}
	for _, e := range servertest.OfEachKind(t, servertest.SocketEngines) {
		t.Run(e.Name, func(t *testing.T) {
			// a first round creates permanent resources
			newCutSoak(t, e).run(servertest.SoakTime() / 4)
			before := servertest.Measure(t)
			s := newCutSoak(t, e)
			s.run(length)
			t.Log(s.summary())
			before.ExpectBack(t, cutGrowth)
		})
	}
}

// cutSoak is a run of TestSoakCuts.
type cutSoak struct {
	t     *testing.T
	ts    *servertest.Running[*fasthttp.Server]
	trust *tls.Config
	group websocket.Group

	scripts []string // requests and frames of clients
	places  []cutPlace
	next    atomic.Int64 // the place of the next client

	opened, closed, entered, left                         atomic.Int64
	conns, frames, upgraded, answered, whole, cut, waited atomic.Int64
	failures                                              atomic.Int64
}

// cutPlace is the place of a cut: a number of bytes of a script.
type cutPlace struct{ script, at int }

// cutPaths are the ways to open a socket.
var cutPaths = []string{"/serve", "/serve/takeover", "/upgrade", "/upgrade/takeover", "/release", "/timeout"}

func newCutSoak(t *testing.T, e servertest.Engine) *cutSoak {
	s := &cutSoak{t: t, trust: servertest.TrustCertificate()}
	s.trust.ServerName = "127.0.0.1"
	s.trust.CurvePreferences = []tls.CurveID{tls.X25519} // a short handshake
	inTime := fasthttp.TimeoutHandler(s.handle, servertest.Never, "late")
	s.ts = servertest.Start(t, e, &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
		if strings.HasPrefix(string(ctx.Path()), "/timeout") {
			inTime(ctx)
			return
		}
		s.handle(ctx)
	}}, prepareServer)
	for _, path := range cutPaths {
		for _, fields := range [][]string{nil, {"Sec-WebSocket-Extensions: permessage-deflate"}} {
			s.scripts = append(s.scripts, cutScript(path, fields))
		}
	}
	for i, script := range s.scripts {
		size := len(script)
		if e.TLS {
			size = cutTLS
		}
		for at := range size + 1 {
			s.places = append(s.places, cutPlace{i, at})
		}
	}
	// a short run has a part of them, from everywhere
	rand.Shuffle(len(s.places), func(i, j int) { s.places[i], s.places[j] = s.places[j], s.places[i] })
	return s
}

// cutScript returns an opening handshake, and a frame of each kind.
func cutScript(path string, fields []string) string {
	var b strings.Builder
	b.WriteString(socketRequest(path, fields...))
	b.Write(socketFrame(ws.Text, "echo me"))
	b.Write(socketFrame(ws.Ping, "ping"))
	b.Write(ws.AppendFrame(nil, ws.Head{Opcode: ws.Binary, Masked: true, Key: 3}, []byte("a part")))
	b.Write(socketFrame(ws.Pong, ""))
	b.Write(ws.AppendFrame(nil, ws.Head{Opcode: ws.Continuation, Fin: true, Masked: true, Key: 4}, []byte(strings.Repeat("r", 130))))
	if fields != nil {
		b.Write(ws.AppendFrame(nil, ws.Head{Opcode: ws.Text, Fin: true, RSV1: true, Masked: true, Key: 5}, packed(servertest.SampleText(300))))
	}
	b.Write(socketFrame(ws.Close, "\x03\xe8bye"))
	return b.String()
}

// handle opens a socket of the server.
func (s *cutSoak) handle(ctx *fasthttp.RequestCtx) {
	path := string(ctx.Path())
	u := &websocket.Upgrader{
		EnableCompression: true,
		Compression:       websocket.Compression{Threshold: 10, ContextTakeover: strings.HasSuffix(path, "/takeover"), WindowBits: 9},
		CloseTimeout:      servertest.Short, PingInterval: servertest.Short, PongTimeout: servertest.Never,
		ReleaseContext: strings.HasPrefix(path, "/release"),
	}
	if !strings.HasPrefix(path, "/serve") {
		_ = u.Upgrade(ctx, s.serveConn)
		return
	}
	_ = u.Serve(ctx, &websocket.Handler{
		OnOpen: func(socket *websocket.Socket) {
			s.opened.Add(1)
			s.group.Join(socket)
		},
		OnMessage: func(socket *websocket.Socket, m websocket.Message) {
			s.frames.Add(1)
			_ = socket.Send(m.Type, m.Data)
			if len(m.Data)%7 == 0 {
				s.group.Broadcast(m, nil)
			}
			if len(m.Data)%11 == 0 {
				_ = socket.Send(m.Type, make([]byte, 300_000))
			}
		},
		OnClose: func(*websocket.Socket, int, error) { s.closed.Add(1) },
	}, nil)
}

// serveConn echoes, by each method in turn.
func (s *cutSoak) serveConn(c *websocket.Conn) {
	s.entered.Add(1)
	defer s.left.Add(1)
	for n := 0; ; n++ {
		var messageType int
		var p []byte
		var r io.Reader
		var err error
		if n%2 == 0 {
			messageType, p, err = c.ReadMessage()
		} else if messageType, r, err = c.NextReader(); err == nil {
			p, err = io.ReadAll(r)
		}
		if err != nil {
			return
		}
		s.frames.Add(1)
		if len(p)%11 == 0 {
			p = make([]byte, 300_000)
		}
		if n%3 == 0 {
			err = c.WriteMessage(messageType, p)
		} else if w, failed := c.NextWriter(messageType); failed == nil {
			_, err = w.Write(p)
			err = errors.Join(err, w.Close())
		}
		if err != nil {
			return
		}
	}
}

// run runs clients for a while, and checks that nothing of their connections is left.
func (s *cutSoak) run(length time.Duration) {
	var all sync.WaitGroup
	end := time.Now().Add(length)
	for range cutClients {
		all.Go(func() {
			for time.Now().Before(end) && s.failures.Load() < 10 {
				s.connect()
			}
		})
	}
	all.Wait()
	servertest.Eventually(s.t, "the end of all connections", func() bool {
		return s.ts.S.GetOpenConnectionsCount() == 0 && s.ts.S.GetCurrentConcurrency() == 0 && s.entered.Load() == s.left.Load() && s.opened.Load() == s.closed.Load()
	})
	if n := s.group.Len(); n != 0 {
		s.t.Errorf("%d sockets are left in the group", n)
	}
	s.ts.Stop()
	servertest.Must(s.t, servertest.Receive(s.t, "the end of Serve", s.ts.Served))
	for _, line := range s.ts.Log.All() {
		if strings.Contains(line, "panic") {
			s.t.Errorf("in the log: %.3000s", line)
		}
	}
}

func (s *cutSoak) summary() string {
	return fmt.Sprintf("%d connections, at %d of %d places: %d opening handshakes were accepted, the server got %d messages, clients %d; %d connections were cut, %d of them waited for the server, %d ended without a cut",
		s.conns.Load(), min(s.next.Load(), int64(len(s.places))), len(s.places), s.upgraded.Load(), s.frames.Load(), s.answered.Load(), s.cut.Load(), s.waited.Load(), s.whole.Load())
}

// connect opens a connection, and cuts it at the next place.
func (s *cutSoak) connect() {
	place := s.places[int(s.next.Add(1)-1)%len(s.places)]
	script := s.scripts[place.script]
	if rand.IntN(3) == 0 {
		script = malform(script)
	}
	tcp, err := net.Dial("tcp", s.ts.Listener.Addr().String())
	if err != nil {
		s.fail(place, err)
		return
	}
	defer tcp.Close()
	_ = tcp.SetDeadline(time.Now().Add(servertest.Patience))
	s.conns.Add(1)
	cut := &cutConn{Conn: tcp, left: place.at}
	nc := net.Conn(cut)
	if s.ts.Engine.TLS {
		nc = tls.Client(cut, s.trust)
	}
	ended := make(chan error, 1)
	reads := rand.IntN(4) > 0
	if reads {
		// TLS reads do their handshake, too
		go func() { ended <- s.read(nc) }()
	}
	for script != "" && err == nil {
		n := min(1+rand.IntN(len(script)+50), len(script))
		_, err = io.WriteString(nc, script[:n])
		script = script[n:]
	}
	switch {
	case rand.IntN(3) == 0:
		_ = tcp.(*net.TCPConn).SetLinger(0)
	case reads:
		// the server ends the connection by itself
		_ = tcp.(*net.TCPConn).CloseWrite()
		s.waited.Add(1)
		err := <-ended
		if ended <- err; netTimeout(err) {
			s.fail(place, errors.New("the server does not end a connection that its peer has ended"))
		}
	}
	_ = tcp.Close()
	if reads {
		if fault, ok := errors.AsType[*ws.Error](<-ended); ok {
			s.fail(place, fmt.Errorf("the server has sent something malformed: %w", fault))
		}
	}
	if cut.isCut {
		s.cut.Add(1)
	} else {
		s.whole.Add(1)
	}
}

func netTimeout(err error) bool { return errors.Is(err, os.ErrDeadlineExceeded) }

func (s *cutSoak) fail(place cutPlace, err error) {
	s.failures.Add(1)
	s.t.Errorf("a cut after %d bytes of script %d: %v", place.at, place.script, err)
}

// malform changes some of the bytes after the opening handshake.
func malform(script string) string {
	b := []byte(script)
	from := strings.Index(script, "\r\n\r\n") + 4
	for range 1 + rand.IntN(3) {
		b[from+rand.IntN(len(b)-from)] = byte(rand.Uint32())
	}
	if rand.IntN(4) == 0 {
		noise := make([]byte, 200)
		for i := range noise {
			noise[i] = byte(rand.Uint32())
		}
		b = append(b[:from+rand.IntN(len(b)-from)], noise...)
	}
	return string(b)
}

// read reads until the end, and returns the reason, which is a *ws.Error if the server has sent
// anything malformed.
func (s *cutSoak) read(nc net.Conn) error {
	r := bufio.NewReader(nc)
	resp, err := http.ReadResponse(r, nil)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusSwitchingProtocols {
		_, err = io.Copy(io.Discard, resp.Body)
		return err
	}
	s.upgraded.Add(1)
	limits := &ws.Limits{Message: -1}
	limits.Fill()
	var state ws.Conn
	state.Init(ws.Client, limits, ws.Extensions{Compression: resp.Header.Get("Sec-WebSocket-Extensions") != ""})
	b := make([]byte, 4<<10)
	var in []byte
	for {
		n, err := r.Read(b)
		in = append(in, b[:n]...)
		for {
			var ev ws.Event
			n, fault := state.Feed(in, &ev)
			if in = in[n:]; fault != nil {
				return fault
			}
			if ev.Opcode == ws.Continuation {
				break
			}
			if !ev.Opcode.IsControl() && ev.End {
				s.answered.Add(1)
			}
		}
		if err != nil {
			return err
		}
	}
}

// cutConn is a connection that is cut when it has sent a number of bytes.
type cutConn struct {
	net.Conn
	left  int
	isCut bool
}

var errCut = errors.New("the connection was cut")

// Write implements net.Conn.
func (c *cutConn) Write(p []byte) (int, error) {
	if c.isCut {
		return 0, errCut
	}
	if len(p) < c.left {
		c.left -= len(p)
		return c.Conn.Write(p)
	}
	c.isCut = true
	n, err := c.Conn.Write(p[:c.left])
	if err == nil {
		err = errCut
	}
	return n, err
}
