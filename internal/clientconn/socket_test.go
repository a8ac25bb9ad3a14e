package clientconn

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/valyala/fasthttp/internal/bufpool"
	"github.com/valyala/fasthttp/internal/servertest"
)

// asker makes round trips on a connection without other state.
type asker struct{ c Conn }

func (a *asker) RoundTrip(_ net.Conn, b, room []byte) RoundTripResult {
	a.c.Recv.Size = 0
	if len(room) == 0 {
		a.c.Recv.Size = math.MaxUint32
	}
	return a.c.RoundTrip(&bufpool.Buffer{B: b})
}

func newAsker(t testing.TB, c net.Conn) *asker {
	t.Helper()
	a := new(asker)
	a.c.Attach(c, 0)
	if !a.c.CanRoundTrip() {
		if hasRawCalls {
			t.Fatal("no round trips on a TCP connection")
		}
		t.Skip("this system has no round trips")
	}
	return a
}

// echo answers each question, which has size bytes, with itself.
func echo(c net.Conn, size int) {
	b := make([]byte, size)
	for {
		if _, err := io.ReadFull(c, b); err != nil {
			return
		}
		if _, err := c.Write(b); err != nil {
			return
		}
	}
}

// The asker must notice an answer that arrives before its wait begins, as well as a
// later one.
func TestAskerGetsItsAnswers(t *testing.T) {
	client, server := servertest.TCPPair(t)
	a := newAsker(t, client)
	go echo(server, 5)
	for i := range 5000 {
		question := []byte{'a', 'b', 'c', byte(i >> 8), byte(i)}
		b := bytes.Clone(question)
		asked := a.RoundTrip(client, b, b)
		if asked.State != Quiet || asked.Sent != 5 || asked.Got < 1 || asked.SendErr != nil || asked.RecvErr != nil {
			t.Fatalf("%d: %+v", i, asked)
		}
		if _, err := io.ReadFull(client, b[asked.Got:]); err != nil || !bytes.Equal(b, question) {
			t.Fatalf("%d: %q, %v", i, b, err)
		}
	}
	b := []byte("there")
	asked := a.RoundTrip(client, b, nil)
	if asked.Sent != 5 || asked.Got != 0 || asked.RecvErr != nil {
		t.Errorf("without room: %+v", asked)
	}
	b = make([]byte, 5)
	if _, err := io.ReadFull(client, b); err != nil || string(b) != "there" {
		t.Errorf("without room: %q, %v", b, err)
	}
}

func TestAskerSendsNothingUnlessItIsQuiet(t *testing.T) {
	for _, tc := range []struct {
		name  string
		spoil func(client, server net.Conn)
		want  State
	}{
		{"unasked bytes", func(_, server net.Conn) { _, _ = server.Write([]byte("x")) }, Readable},
		{"the peer has closed", func(_, server net.Conn) { _ = servertest.Close(server) }, Ended},
		{"the peer has closed for writing", func(_, server net.Conn) { _ = server.(*net.TCPConn).CloseWrite() }, Ended},
		{"the peer has reset", func(_, server net.Conn) {
			servertest.Reset(server)
		}, Ended},
		{"closed", func(client, _ net.Conn) { _ = client.Close() }, Unknown},
		{"too late", func(client, _ net.Conn) { _ = client.SetReadDeadline(time.Unix(1, 0)) }, Unknown},
	} {
		t.Run(tc.name, func(t *testing.T) {
			client, server := servertest.TCPPair(t)
			a := newAsker(t, client)
			tc.spoil(client, server)
			if tc.want != Unknown {
				var p Probe
				p.Attach(client)
				waitFor(t, &p, tc.want)
			}
			b := []byte("hello")
			if asked := a.RoundTrip(client, b, b); asked.State != tc.want || asked.Sent != 0 || asked.Got != 0 {
				t.Errorf("%+v", asked)
			}
		})
	}
}

func TestAskerStopsWaiting(t *testing.T) {
	for _, tc := range []struct {
		name string
		end  func(client, server net.Conn)
		err  error // result of the next Read
		recv error // result of RoundTrip
	}{
		{"deadline", func(client, _ net.Conn) { _ = client.SetReadDeadline(time.Unix(1, 0)) }, os.ErrDeadlineExceeded, nil},
		{"close", func(client, _ net.Conn) { _ = client.Close() }, net.ErrClosed, nil},
		{"end", func(_, server net.Conn) { _ = servertest.Close(server) }, io.EOF, io.EOF},
		{"reset", func(_, server net.Conn) {
			servertest.Reset(server)
		}, io.EOF, syscall.ECONNRESET},
	} {
		t.Run(tc.name, func(t *testing.T) {
			client, server := servertest.TCPPair(t)
			a := newAsker(t, client)
			go func() {
				b := make([]byte, 5)
				_, _ = io.ReadFull(server, b)
				tc.end(client, server)
			}()
			b := []byte("hello")
			asked := a.RoundTrip(client, b, b)
			if asked.Sent != 5 || asked.Got != 0 || asked.SendErr != nil || !errors.Is(asked.RecvErr, tc.recv) {
				t.Errorf("%+v", asked)
			}
			if _, isErrno := tc.recv.(syscall.Errno); isErrno {
				if _, ok := errors.AsType[*net.OpError](asked.RecvErr); !ok {
					t.Errorf("the error is a %T", asked.RecvErr)
				}
			}
			if n, err := client.Read(b); n != 0 || !errors.Is(err, tc.err) {
				t.Errorf("read: %d, %v", n, err)
			}
		})
	}
}

func TestAskerLeavesTheRest(t *testing.T) {
	client, _ := servertest.TCPPair(t)
	a := newAsker(t, client)
	// more than the buffers of both sockets hold while no program reads
	b := make([]byte, 64<<20)
	asked := a.RoundTrip(client, b, b)
	if asked.State != Quiet || asked.Sent == 0 || asked.Sent == len(b) || asked.SendErr != nil || asked.RecvErr != nil {
		t.Errorf("%+v", asked)
	}
	// the system may still move bytes from one socket to the other, which makes room
	servertest.Eventually(t, "no room", func() bool {
		asked = a.RoundTrip(client, b, b)
		if asked.State != Quiet || asked.SendErr != nil || asked.RecvErr != nil {
			t.Fatalf("later: %+v", asked)
		}
		return asked.Sent == 0
	})
}

// An asker must not look below a wrapper, which may count, log or change the bytes.
func TestAskersAreForBareConnectionsOnly(t *testing.T) {
	client, _ := servertest.TCPPair(t)
	tcp := client.(*net.TCPConn)
	for _, c := range []net.Conn{struct{ *net.TCPConn }{tcp}, struct{ net.Conn }{tcp}, nil} {
		if newRoundTripper(c) != nil {
			t.Errorf("round trips on a %T", c)
		}
	}
}

func TestProbe(t *testing.T) {
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	c, err := net.Dial("tcp4", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	server, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	var p Probe
	if p.Check() != Unknown || p.CanCheck() {
		t.Error("a Probe of nothing knows something")
	}
	p.Attach(c)
	if !canPeek {
		t.Skip("sockets cannot be looked at on this system")
	}
	if s := p.Check(); s != Quiet {
		t.Errorf("new connection: %v", s)
	}
	if n := testing.AllocsPerRun(100, func() { p.Check() }); n != 0 {
		t.Errorf("a look allocates %v times", n)
	}
	if _, err := server.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	waitFor(t, &p, Readable)
	var b [1]byte
	if n, err := c.Read(b[:]); n != 1 || err != nil {
		t.Errorf("the check has read bytes: %v", err)
	}
	if s := p.Check(); s != Quiet {
		t.Errorf("after reading: %v", s)
	}
	_ = servertest.Close(server)
	waitFor(t, &p, Ended)
	_ = c.Close()
	if s := p.Check(); s != Ended {
		t.Errorf("closed connection: %v", s)
	}
	a, _ := net.Pipe()
	p.Attach(a)
	if s := p.Check(); s != Unknown {
		t.Errorf("a pipe: %v", s)
	}
}

// BenchmarkLook measures the check of a connection at each reuse.
func BenchmarkLook(b *testing.B) {
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer ln.Close()
	c, err := net.Dial("tcp4", ln.Addr().String())
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	var p Probe
	p.Attach(c)
	b.ReportAllocs()
	for b.Loop() {
		if s := p.Check(); s == Ended {
			b.Fatal("the connection has ended")
		}
	}
}

func waitFor(t *testing.T, p *Probe, want State) {
	t.Helper()
	servertest.Eventually(t, fmt.Sprint("the state ", want), func() bool { return p.Check() == want })
}
