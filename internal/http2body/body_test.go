package http2body

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"

	"github.com/valyala/fasthttp/internal/bodyio"
	"github.com/valyala/fasthttp/internal/field"
	"github.com/valyala/fasthttp/internal/hpack"
	"github.com/valyala/fasthttp/internal/http1"
	"github.com/valyala/fasthttp/internal/http2"
	"github.com/valyala/fasthttp/internal/servertest"
)

// end is one end of a link. Its Wake makes the other end receive the output.
type end struct {
	sync.Mutex
	link *link
	conn http2.Conn
	kick chan struct{} // there is output
	m    http2.Message
	on   func(ev *http2.Event, m *http2.Message) // with the lock
}

func (e *end) HTTP2() *http2.Conn { return &e.conn }
func (e *end) Wakes() bool        { return e.conn.HasOutput() && len(e.kick) == 0 }

func (e *end) Wake() {
	select {
	case e.kick <- struct{}{}:
	default:
	}
}

// link is a client and a server, with a request whose content is on its way.
type link struct {
	client, server end
	stream         *http2.Stream // of the client
	in             Incoming      // of the server
	out            Outgoing      // of the client
	over           chan struct{}
	all            sync.WaitGroup
}

var errCut = errors.New("it was cut")

// newLink returns a link whose server lets the content of a window stay unread.
func newLink(t *testing.T, window int, framing http1.Framing) *link {
	t.Helper()
	l := &link{over: make(chan struct{})}
	limits := http2.Limits{Window: window, Wasted: -1, Glitches: -1}
	limits.Fill()
	begun, limited := make(chan struct{}), make(chan struct{})
	limit := sync.OnceFunc(func() { close(limited) })
	for e, role := range map[*end]http2.Role{&l.client: http2.Client, &l.server: http2.Server} {
		e.link, e.kick = l, make(chan struct{}, 1)
		e.conn.Init(role, &limits, 0)
	}
	var stream *http2.Stream
	l.server.on = func(ev *http2.Event, m *http2.Message) {
		switch ev.Kind {
		case http2.Headers:
			stream = ev.Stream
			l.in.Init(&l.server, stream, framing)
			close(begun)
		case http2.Data:
			if !l.in.Put(ev.Payload, ev.End) {
				l.server.conn.Consumed(stream, len(ev.Payload))
			}
		case http2.Trailers:
			l.in.PutTrailers(m)
		case http2.Reset:
			l.in.Fail(errCut)
		}
	}
	l.client.on = func(ev *http2.Event, _ *http2.Message) {
		switch ev.Kind {
		case http2.Reset:
			l.out.Fail(errCut)
		case http2.Settings:
			limit()
		}
	}
	l.client.Lock()
	s := l.client.conn.Open()
	b := l.client.conn.BeginHeaders()
	for _, f := range [][2]string{{":method", "POST"}, {":scheme", "http"}, {":authority", "h"}, {":path", "/"}} {
		b = l.client.conn.Encoder().AppendField(b, field.Lookup([]byte(f[0])), []byte(f[0]), []byte(f[1]), hpack.Index)
	}
	l.client.conn.EndHeaders(s, b, http2.SendHead)
	l.stream = s
	l.out.Init(&l.client, s)
	l.client.Unlock()
	l.all.Go(func() { l.pump(t, &l.client, &l.server) })
	l.all.Go(func() { l.pump(t, &l.server, &l.client) })
	l.client.Wake()
	l.server.Wake()
	t.Cleanup(func() {
		close(l.over)
		l.all.Wait()
	})
	servertest.Receive(t, "the head", begun)
	// before it arrives, the window is larger
	servertest.Receive(t, "the window of the server", limited)
	return l
}

// pump passes the output of one end to the other.
func (l *link) pump(t *testing.T, from, to *end) {
	var rest []byte
	for {
		select {
		case <-l.over:
			return
		case <-from.kick:
		}
		for {
			from.Lock()
			rest = from.conn.Output(rest, len(rest)+8<<10)
			for from.conn.Drained() != nil {
				l.out.ContentSent()
			}
			more := from.conn.HasOutput()
			from.Unlock()
			to.Lock()
			read := 0
			for {
				n, ev, err := to.conn.Feed(rest[read:], 0, &to.m)
				if err != nil {
					t.Error(err)
					to.Unlock()
					return
				}
				read += n
				to.on(&ev, &to.m)
				if n == 0 && ev.Kind == http2.None {
					break
				}
			}
			wakes := to.Wakes()
			to.Unlock()
			rest = rest[:copy(rest, rest[read:])]
			if wakes {
				to.Wake()
			}
			if !more {
				break
			}
		}
	}
}

func trailers(dst []byte, enc *hpack.Encoder) []byte {
	return enc.AppendField(dst, 0, []byte("sum"), []byte("7"), hpack.Index)
}

func TestContentGoesThrough(t *testing.T) {
	for _, size := range []int{0, 1, smallPiece, piece, piece + 1, 200_000} {
		for _, window := range []int{1, 1000, 65_535, 1 << 20} {
			if window == 1 && size > 1 {
				continue
			}
			for _, trails := range []bool{false, true} {
				for _, known := range []bool{false, true} {
					framing := http1.Framing{Kind: http1.UntilClose}
					if known {
						framing = http1.Framing{Kind: http1.Length, Length: int64(size)}
					}
					l := newLink(t, window, framing)
					text := servertest.Noise(size)
					var all sync.WaitGroup
					all.Go(func() {
						random := rand.New(rand.NewPCG(1, uint64(size)))
						for rest := text; len(rest) > 0; {
							n := min(len(rest), 1+random.IntN(50_000))
							if k, err := l.out.Write(rest[:n]); k != n || err != nil {
								t.Errorf("%d, %v", k, err)
							}
							if rest = rest[n:]; random.IntN(3) == 0 {
								if err := l.out.Flush(); err != nil {
									t.Error(err)
								}
							}
						}
						var end func([]byte, *hpack.Encoder) []byte
						if trails {
							end = trailers
						}
						if err := l.out.End(end); err != nil {
							t.Error(err)
						}
						l.client.Wake()
					})
					got, err := io.ReadAll(&l.in)
					all.Wait()
					if err != nil || !bytes.Equal(got, text) || !l.in.Ended() {
						t.Errorf("%d bytes, window %d, trailers %v: %d bytes, %v", size, window, trails, len(got), err)
					}
					if passed := l.out.Passed(); passed != int64(size) {
						t.Errorf("%d bytes were passed on of %d", passed, size)
					}
					section := l.in.Section()
					if trails && (len(section.Entries) != 1 || string(section.Name(0)) != "Sum" || string(section.Value(0)) != "7") || !trails && len(section.Entries) > 0 {
						t.Errorf("trailers %v: %d", trails, len(section.Entries))
					}
					l.server.Lock()
					if left, ok := l.in.Remaining(); ok != known || known && left != 0 {
						t.Errorf("%d left, %v", left, ok)
					}
					l.server.Unlock()
					l.out.Release()
				}
			}
		}
	}
}

var errOther = errors.New("something else")

// The end of content that Read waits for, and the results of Read then and later.
func TestIncomingEndsEarly(t *testing.T) {
	locked := func(f func(in *Incoming)) func(l *link) {
		return func(l *link) {
			l.server.Lock()
			defer l.server.Unlock()
			f(&l.in)
		}
	}
	for name, tt := range map[string]struct {
		end  func(l *link)
		want error
		text string // of the bytes that have arrived
	}{
		"close":           {func(l *link) { _ = l.in.Close() }, bodyio.ErrClosed, ""},
		"fail":            {locked(func(in *Incoming) { in.Fail(errOther) }), errOther, "text"},
		"fail twice":      {locked(func(in *Incoming) { in.Fail(errOther); in.Fail(errCut) }), errOther, "text"},
		"leave":           {locked(func(in *Incoming) { in.Detach(errOther) }), errOther, ""},
		"end, and leave":  {locked(func(in *Incoming) { in.Put([]byte("t"), true); in.Detach(errOther) }), errOther, ""},
		"end, and fail":   {locked(func(in *Incoming) { in.Put(nil, true); in.Fail(errOther) }), io.EOF, "text"},
		"close, and fail": {func(l *link) { _ = l.in.Close(); locked(func(in *Incoming) { in.Fail(errOther) })(l) }, bodyio.ErrClosed, ""},
	} {
		for _, waits := range []bool{true, false} {
			l := newLink(t, 1000, http1.Framing{Kind: http1.UntilClose})
			if !waits {
				_, err := l.out.Write([]byte("text"))
				servertest.Must(t, err)
				servertest.Must(t, l.out.Flush())
				servertest.Eventually(t, "the text", func() bool {
					l.server.Lock()
					defer l.server.Unlock()
					return l.in.Unread() == 4
				})
			}
			text := tt.text
			if waits {
				text = ""
			}
			read := make(chan error, 1)
			var got []byte
			go func() {
				if waits {
					// the end may arrive before or after Read has begun to wait
					var err error
					got, err = io.ReadAll(&l.in)
					if err == nil {
						err = io.EOF
					}
					read <- err
				}
			}()
			tt.end(l)
			if !waits {
				var err error
				if got, err = io.ReadAll(&l.in); err == nil {
					err = io.EOF
				}
				read <- err
			}
			if err := servertest.Receive(t, "the end of reading", read); err != tt.want || string(got) != text {
				t.Errorf("%s, waits %v: %q, %v, want %q, %v", name, waits, got, err, text, tt.want)
			}
			if n, err := l.in.Read(make([]byte, 5)); n != 0 || err != tt.want {
				t.Errorf("%s: later %d, %v", name, n, err)
			}
			l.server.Lock()
			if tt.want != io.EOF && l.in.Put([]byte("more"), false) {
				t.Errorf("%s: more is wanted", name)
			}
			l.server.Unlock()
		}
	}
}

// A writer that waits for a window gets an error when the content is cut.
func TestOutgoingIsCut(t *testing.T) {
	for name, write := range map[string]func(w *Outgoing) error{
		"write": func(w *Outgoing) (err error) {
			for err == nil {
				_, err = w.Write(make([]byte, piece))
			}
			return err
		},
		"end": func(w *Outgoing) error {
			_, err := w.Write(make([]byte, 2000))
			return errors.Join(err, w.End(trailers))
		},
	} {
		l := newLink(t, 1000, http1.Framing{Kind: http1.UntilClose})
		got := make(chan error, 1)
		go func() { got <- write(&l.out) }()
		servertest.Eventually(t, "a writer that waits", func() bool {
			l.client.Lock()
			defer l.client.Unlock()
			return l.stream.Unsent() > 0
		})
		l.client.Lock()
		l.out.Fail(errOther)
		l.out.Fail(errCut)
		err := l.out.Err()
		l.client.conn.Reset(l.stream, http2.Cancel)
		l.client.Unlock()
		l.client.Wake()
		if err != errOther {
			t.Errorf("%s: Err is %v", name, err)
		}
		if err := servertest.Receive(t, "the end of writing", got); !errors.Is(err, errOther) {
			t.Errorf("%s: %v", name, err)
		}
		l.out.Release()
	}
}

// Content that was cut is not reported as sent, even if Fail was not called yet.
func TestOutgoingHasNoEndAfterAReset(t *testing.T) {
	for name, section := range map[string]func([]byte, *hpack.Encoder) []byte{"content": nil, "trailers": trailers} {
		for _, size := range []int{0, 1000} {
			l := newLink(t, 65_535, http1.Framing{Kind: http1.UntilClose})
			_, err := l.out.Write(make([]byte, size))
			servertest.Must(t, err)
			l.client.Lock()
			l.client.conn.Reset(l.stream, http2.Cancel)
			l.client.Unlock()
			if err := l.out.End(section); err == nil {
				t.Errorf("%s after %d bytes: all was sent", name, size)
			}
			if passed := l.out.Passed(); passed != 0 {
				t.Errorf("%s: %d bytes were passed on", name, passed)
			}
			l.client.Wake()
			l.out.Release()
		}
	}
}

// Both ends may be closed at any time, by goroutines other than the ones that read and
// write.
func TestContentWithEndsAtAnyTime(t *testing.T) {
	for i := range servertest.Times(2000) {
		random := rand.New(rand.NewPCG(7, uint64(i)))
		l := newLink(t, 500+random.IntN(70_000), http1.Framing{Kind: http1.UntilClose})
		text := servertest.Noise(random.IntN(100_000))
		var all sync.WaitGroup
		all.Go(func() {
			_, err := l.out.Write(text)
			if err == nil {
				err = l.out.End(nil)
			}
			l.client.Wake()
			if err != nil && err != errCut {
				t.Errorf("writing: %v", err)
			}
		})
		all.Go(func() {
			got, err := io.ReadAll(&l.in)
			if err == nil && !bytes.Equal(got, text) || !bytes.HasPrefix(text, got) {
				t.Errorf("%d bytes of %d, %v", len(got), len(text), err)
			}
			if err != nil && err != errCut && err != bodyio.ErrClosed {
				t.Errorf("reading: %v", err)
			}
		})
		steps := random.IntN(500)
		all.Go(func() {
			for range steps {
				runtime.Gosched()
			}
			switch i % 4 {
			case 0:
				_ = l.in.Close()
			case 1:
				l.client.Lock()
				l.out.Fail(errCut)
				l.client.conn.Reset(l.stream, http2.Cancel)
				l.client.Unlock()
				l.client.Wake()
			case 2:
				l.server.Lock()
				l.in.Detach(errCut)
				l.server.conn.All(func(s *http2.Stream) bool {
					l.server.conn.Reset(s, http2.Cancel)
					return true
				})
				l.server.Unlock()
				l.server.Wake()
			}
		})
		all.Wait()
	}
}
