package sender

import (
	"bytes"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp/internal/bodyio"
	"github.com/valyala/fasthttp/internal/bufpool"
	"github.com/valyala/fasthttp/internal/clientconn"
	"github.com/valyala/fasthttp/internal/http1"
	"github.com/valyala/fasthttp/internal/servertest"
)

// fakeOwner sends stream in chunks and counts its calls.
type fakeOwner struct {
	stream                     io.Reader
	answers, drainings, panics int
}

func (o *fakeOwner) WriteStream(w bodyio.Writer) error { return bodyio.WriteChunked(w, o.stream) }

func (o *fakeOwner) LimitResponse() { o.answers++ }

func (o *fakeOwner) LimitDraining() { o.drainings++ }

func (o *fakeOwner) Panicked(any) error {
	o.panics++
	return errPanic
}

var (
	errPanic   = errors.New("panic")
	errTimeout = errors.New("timeout")
)

// trailers is a trailer section.
type trailers struct{ text string }

func (t *trailers) AppendTrailers(dst []byte) []byte { return append(dst, t.text...) }

// rig is a Sender with a connection to a peer.
type rig struct {
	Sender
	line     clientconn.Conn
	peer     net.Conn
	owner    fakeOwner
	trailers *trailers
}

// start starts to send a head, followed by content or by stream.
func start(t *testing.T, r Request, stream io.Reader) *rig {
	t.Helper()
	near, far := net.Pipe()
	t.Cleanup(func() { _, _ = near.Close(), far.Close() })
	g := &rig{peer: far, trailers: &trailers{"T: 1\r\n\r\n"}}
	g.line.Attach(near, 4096)
	r.Conn, r.Out, r.Trailers, r.ErrTimeout = &g.line, bufpool.Get(64), g.trailers, errTimeout
	r.Out.B = append(r.Out.B, "head:"...)
	if stream != nil {
		g.owner.stream = stream
		r.Stream = WrapStream(&g.owner.stream)
	}
	g.Start(r, &g.owner)
	return g
}

// expect checks that the peer receives exactly the text want.
func (g *rig) expect(t *testing.T, want string) {
	t.Helper()
	got := make([]byte, len(want))
	_ = g.peer.SetDeadline(time.Now().Add(servertest.Patience))
	if n, err := io.ReadFull(g.peer, got); err != nil || string(got) != want {
		t.Fatalf("the peer got %q, %v; want %q", got[:n], err, want)
	}
}

func (g *rig) expectPhase(t *testing.T, phase http1.SendPhase, err error) {
	t.Helper()
	if got, why := g.Finish(nil); got != phase || !errors.Is(why, err) {
		t.Errorf("the phase is %v, %v; want %v, %v", got, why, phase, err)
	}
}

func TestEverythingIsSent(t *testing.T) {
	large := strings.Repeat("x", OneWrite+5)
	for name, tt := range map[string]struct {
		r      Request
		stream io.Reader
		want   string
	}{
		"content":            {Request{Content: []byte(large)}, nil, "head:" + large},
		"content in pieces":  {Request{Content: []byte(large), Detaches: true}, nil, "head:" + large},
		"chunked":            {Request{Content: []byte("abc"), Chunked: true}, nil, "head:3\r\nabc\r\n0\r\nT: 1\r\n\r\n"},
		"chunked, in pieces": {Request{Content: []byte("abc"), Chunked: true, Detaches: true}, nil, "head:3\r\nabc\r\n0\r\nT: 1\r\n\r\n"},
		"stream":             {Request{Chunked: true}, strings.NewReader("abc"), "head:3\r\nabc\r\n0\r\nT: 1\r\n\r\n"},
	} {
		t.Run(name, func(t *testing.T) {
			g := start(t, tt.r, tt.stream)
			g.expect(t, tt.want)
			servertest.Receive(t, "the end of sending", g.done)
			g.expectPhase(t, http1.Sent, nil)
			if g.owner.answers != 1 || g.owner.drainings != 0 {
				t.Errorf("the answer was limited %d times, the draining %d times", g.owner.answers, g.owner.drainings)
			}
		})
	}
}

// After Detach, the caller may change its memory without an effect on the sent
// bytes.
func TestDetachedSendersNeedNothingOfTheCaller(t *testing.T) {
	for name, stream := range map[string]io.Reader{"content": nil, "stream": strings.NewReader("abc")} {
		t.Run(name, func(t *testing.T) {
			content := []byte("abc")
			g := start(t, Request{Content: content, Chunked: true, Detaches: true}, stream)
			g.Detach()
			clear(content)
			g.trailers.text = "nonsense"
			g.expect(t, "head:3\r\nabc\r\n0\r\nT: 1\r\n\r\n")
			servertest.Receive(t, "the end of sending", g.done)
			g.expectPhase(t, http1.Sent, nil)
		})
	}
}

// closing is a stream that counts its calls of Close.
type closing struct {
	io.Reader
	closed int
}

func (c *closing) Close() error {
	c.closed++
	return nil
}

func TestAbandonedSendersStop(t *testing.T) {
	stream := &closing{Reader: strings.NewReader(strings.Repeat("x", 1<<20))}
	g := start(t, Request{Chunked: true}, stream)
	g.expect(t, "head:")
	if ended, err := g.Ended(); ended || err != nil {
		t.Fatalf("ended: %v, %v", ended, err)
	}
	g.Abandon()
	g.Abandon()
	servertest.Receive(t, "the end of sending", g.done)
	g.expectPhase(t, http1.SendStopped, nil)
	_ = g.Stream.Close()
	if stream.closed != 1 {
		t.Errorf("the stream was closed %d times", stream.closed)
	}
	if n, err := g.Write([]byte("more")); n != 0 || err != ErrAbandoned {
		t.Errorf("writing after the end: %d, %v", n, err)
	}
}

func TestSettleGivesAMoment(t *testing.T) {
	g := start(t, Request{Content: []byte("abc")}, nil)
	moment := make(chan time.Time)
	settled := make(chan http1.SendPhase)
	go func() {
		phase, _ := g.Finish(moment)
		settled <- phase
	}()
	g.expect(t, "head:abc")
	if phase := servertest.Receive(t, "the phase", settled); phase != http1.Sent {
		t.Errorf("the phase is %v", phase)
	}
}

func TestFailuresOfTheConnection(t *testing.T) {
	g := start(t, Request{Content: []byte("abc")}, nil)
	_ = g.peer.Close()
	servertest.Receive(t, "the end of sending", g.done)
	g.expectPhase(t, http1.SendFailed, io.ErrClosedPipe)
	if g.owner.drainings != 1 {
		t.Errorf("the draining was limited %d times", g.owner.drainings)
	}

	g = start(t, Request{Content: []byte("abc")}, nil)
	_ = g.line.Guard.LimitWrite(clientconn.PastDeadline)
	servertest.Receive(t, "the end of sending", g.done)
	g.expectPhase(t, http1.SendFailed, errTimeout)
	if err := g.line.Guard.Err(); err != errTimeout {
		t.Errorf("the connection was canceled because of %v", err)
	}
}

// panicking is a stream whose Read panics.
type panicking struct{}

func (panicking) Read([]byte) (int, error) { panic("read") }

func TestPanicsAreErrors(t *testing.T) {
	g := start(t, Request{Chunked: true}, panicking{})
	go func() { _, _ = io.Copy(io.Discard, g.peer) }()
	servertest.Receive(t, "the end of sending", g.done)
	g.expectPhase(t, http1.SendFailed, errPanic)
	if g.owner.panics != 1 {
		t.Errorf("%d panics", g.owner.panics)
	}
}

func TestStreamsAreTakenFromBelow(t *testing.T) {
	source := &closing{Reader: bytes.NewReader([]byte("abc"))}
	place := io.Reader(bodyio.NewExact(source, 3))
	s := WrapStream(&place)
	if s.Reader != io.Reader(source) || s.Waits() || s.SendsPieces() || s.SupportsBodyWriteTo() {
		t.Errorf("taken: %v", s.Reader)
	}
	if got, err := io.ReadAll(place); err != nil || string(got) != "abc" {
		t.Errorf("read %q, %v", got, err)
	}
}
