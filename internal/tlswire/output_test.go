package tlswire

import (
	"crypto/rand"
	"crypto/tls"
	"io"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/valyala/fasthttp/internal/servertest"
)

// countedSocket counts calls of WriteNow.
type countedSocket struct {
	*socket
	writes int
}

func (s *countedSocket) WriteNow(p []byte) (int, error) {
	s.writes++
	return s.socket.WriteNow(p)
}

// However many records there are, one call sends them, up to the limit for sealing at
// once. A single record needs no buffer in between.
func TestSendWritesOnce(t *testing.T) {
	forEachVersion(t, func(t *testing.T, p *pair) {
		s := &countedSocket{socket: p.socket}
		p.v.Move(s)
		// the first records of a connection are small, the later ones are not
		for range 200 {
			for _, size := range [][2]int{{1, 0}, {100, 0}, {1024, 0}, {1150, 0}, {8000, 0}, {16 << 10, 0}, {50_000, 0}, {100, 20}, {100, 10_000}, {0, 5}} {
				head, tail := strings.Repeat("h", size[0]), strings.Repeat("t", size[1])
				s.writes = 0
				if n, err := p.v.Send([]byte(head), []byte(tail)); n != size[0]+size[1] || err != nil {
					t.Fatal(n, err)
				}
				if s.writes != 1 || p.v.wire.gathered != nil {
					t.Fatalf("%v bytes: %d calls, and %v is held", size, s.writes, p.v.wire.gathered)
				}
				p.receive(head + tail)
			}
		}
	})
}

// The rest of a record that was sent without a buffer is kept, wherever it ends.
func TestSendKeepsTheRestOfARecord(t *testing.T) {
	forEachVersion(t, func(t *testing.T, p *pair) {
		for room := range 40 {
			p.socket.room = room
			if n, err := p.v.Send([]byte("text"), nil); n != 0 || err != syscall.EAGAIN || !p.v.Sending() {
				// a record has more than 20 bytes besides its data
				if room > 4+minOverhead && n == 4 && err == nil {
					break
				}
				t.Fatalf("room for %d bytes: %d, %v", room, n, err)
			}
			p.socket.room = 1 << 30
			if n, err := p.v.Send([]byte("text"), nil); n != 4 || err != nil || p.v.wire.gathered != nil {
				t.Fatalf("with room: %d, %v, held: %v", n, err, p.v.wire.gathered)
			}
			p.receive("text")
		}
		p.socket.out.Reset()
	})
}

// panicking is a source of random numbers that panics if now is set.
type panicking struct{ now bool }

func (r *panicking) Read(p []byte) (int, error) {
	if r.now {
		panic("no numbers")
	}
	return rand.Read(p)
}

// After a panic of the application's code nothing is read or written without waiting: the
// descriptor may belong to another connection by then.
func TestSendThatPanicsLeavesNoCall(t *testing.T) {
	source := new(panicking)
	config := serverConfig(t)
	config.Rand, config.MaxVersion = source, tls.VersionTLS12
	config.CipherSuites = []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA, tls.TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA}
	p := newPairWith(t, config, &tls.Config{InsecureSkipVerify: true, CipherSuites: config.CipherSuites})
	if _, err := p.v.Send([]byte("text"), nil); err != nil {
		t.Fatal(err)
	}
	p.receive("text")
	source.now = true
	func() {
		defer func() {
			if recover() == nil {
				t.Error("Send has not asked for random numbers")
			}
		}()
		_, _ = p.v.Send([]byte("text"), nil)
	}()
	if w := p.v.wire; w.waitless.Load() != 0 || w.output.Load() != 0 {
		t.Error("a call is left")
	}
}

// While output is encrypted, a response of TLS itself may be waiting, from a concurrent
// read: the records stay in order.
func TestOutputComesBehindWhatIsHeld(t *testing.T) {
	p := newPair(t, 0)
	w := p.v.wire
	first := "output" + strings.Repeat(".", minOverhead)
	p.socket.out.Reset()
	w.waitless.Add(2)
	for i, text := range []string{"answer ", first, " and more"} {
		if i == 1 {
			w.output.Store(6)
		}
		if _, err := io.WriteString(w, text); err != nil {
			t.Fatal(err)
		}
	}
	if p.socket.out.Len() > 0 {
		t.Error("a record was sent before its turn")
	}
	w.endOutput(false)
	w.endOutput(false)
	if err := p.v.Push(); err != nil {
		t.Fatal(err)
	}
	if got := p.socket.out.String(); got != "answer "+first+" and more" {
		t.Errorf("%q was sent", got)
	}
}

// Another goroutine that writes after the output was written sends nothing without waiting.
func TestWriteBehindTheOutputWaits(t *testing.T) {
	p := newPair(t, 0)
	w := p.v.wire
	p.socket.out.Reset()
	w.waitless.Add(1)
	w.output.Store(6)
	record := "output" + strings.Repeat(".", minOverhead)
	for range 2 {
		if _, err := io.WriteString(w, record); err != nil {
			t.Fatal(err)
		}
	}
	if got := p.socket.out.String(); got != record || w.unsent() != len(record) {
		t.Errorf("%q was sent, and %d bytes were kept", got, w.unsent())
	}
	w.endOutput(false)
	if err := p.v.Push(); err != nil || p.socket.out.Len() != 2*len(record) {
		t.Errorf("%v, and %d bytes were sent", err, p.socket.out.Len())
	}
}

// slowSocket lets a test take a look while it writes.
type slowSocket struct {
	*socket
	writing func()
}

func (s *slowSocket) WriteNow(p []byte) (int, error) {
	s.writing()
	return len(p), nil
}

// If crypto/tls fails before it waits for a goroutine that writes, as it does after Close,
// the loop waits for the bytes that the goroutine sends instead of the output.
func TestOutputThatFailsWaitsForAnotherWriter(t *testing.T) {
	p := newPair(t, 0)
	var over atomic.Bool
	entered, left := make(chan struct{}), make(chan struct{})
	p.v.Move(&slowSocket{p.socket, func() {
		close(entered)
		for range 1000 {
			runtime.Gosched()
		}
		if over.Load() {
			t.Error("the output is over, and a record is still being sent")
		}
	}})
	w := p.v.wire
	w.waitless.Add(1)
	w.output.Store(6)
	go func() {
		defer close(left)
		_, _ = io.WriteString(w, "record"+strings.Repeat(".", minOverhead))
	}()
	servertest.Receive(t, "the write", entered)
	w.endOutput(true)
	over.Store(true)
	servertest.Receive(t, "the end of the write", left)
	if w.waitless.Load() != 0 {
		t.Error("a call is left")
	}
}
