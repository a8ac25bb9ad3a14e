package integrationtests

import (
	"bytes"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
)

// startHTTP2 starts a server that speaks HTTP/2, and HTTP/1.1 beside it.
func serveHTTP2(t testing.TB, e servertest.Engine, s *fasthttp.Server) *testServer {
	t.Helper()
	s.Protocols.SetHTTP1(true)
	s.Protocols.SetHTTP2(true)
	s.Protocols.SetUnencryptedHTTP2(true)
	return startServer(t, e, s)
}

func forEachHTTP2(t *testing.T, test func(t *testing.T, e servertest.Engine)) {
	for _, e := range servertest.Engines {
		t.Run(e.Name, func(t *testing.T) { test(t, e) })
	}
}

// http2Engines returns the engines of a row of a table: if no soak is asked for, they take
// turns, with TLS and without.
func http2Engines(row int) []servertest.Engine {
	if isSoak() {
		return servertest.Engines
	}
	return servertest.Engines[1+row%2 : 2+row%2]
}

// isSoak reports whether tests may take long.
func isSoak() bool { return os.Getenv(servertest.SoakVariable) != "" }

// The flags of frames that a test sends.
const (
	endStream  = http2.FlagDataEndStream
	endHeaders = http2.FlagHeadersEndHeaders
	whole      = endStream | endHeaders
)

// priorityUpdate is the frame of RFC 9218.
const priorityUpdate = http2.FrameType(0x10)

// h2Conn is the client's side of a connection of HTTP/2. It sends what a test says, right
// or wrong: calls collect frames, which flush writes.
type h2Conn struct {
	*servertest.Conn
	out    bytes.Buffer
	fields bytes.Buffer
	enc    *hpack.Encoder
	fr     *http2.Framer // reads

	firstWindow int     // of streams, as the server says in greetHTTP2
	seen        *h2Seen // of listen
	syncs       int
	uploaded    int // content on all streams
}

// dialHTTP2 opens a connection, and sends nothing.
func dialHTTP2(ts *testServer) *h2Conn {
	ts.T.Helper()
	if !ts.Engine.TLS {
		return newHTTP2(ts.Dial())
	}
	config := servertest.TrustCertificate()
	config.NextProtos = []string{"h2"}
	nc, err := tls.Dial(ts.Listener.Addr().Network(), ts.Listener.Addr().String(), config)
	if err != nil {
		ts.T.Fatal(err)
	}
	if got := nc.ConnectionState().NegotiatedProtocol; got != "h2" {
		ts.T.Fatalf("the protocol is %q", got)
	}
	return newHTTP2(ts.Wrap(nc))
}

func newHTTP2(sc *servertest.Conn) *h2Conn {
	c := &h2Conn{Conn: sc, fr: http2.NewFramer(nil, sc.R)}
	c.enc = hpack.NewEncoder(&c.fields)
	c.fr.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	c.fr.SetMaxReadFrameSize(1 << 14)
	return c
}

// greetHTTP2 opens a connection, and exchanges settings.
func greetHTTP2(ts *testServer, settings ...uint32) *h2Conn {
	ts.T.Helper()
	c := dialHTTP2(ts)
	c.raw(http2.ClientPreface).settings(settings...)
	c.flush()
	f, ok := c.next().(*http2.SettingsFrame)
	if !ok {
		ts.T.Fatal("the server does not begin with SETTINGS")
	}
	window, _ := f.Value(http2.SettingInitialWindowSize)
	c.firstWindow = int(window)
	c.frame(http2.FrameSettings, http2.FlagSettingsAck, 0, "")
	c.flush()
	return c
}

func (c *h2Conn) raw(text string) *h2Conn {
	c.out.WriteString(text)
	return c
}

func (c *h2Conn) frame(kind http2.FrameType, flags http2.Flags, id uint32, payload string) *h2Conn {
	var head [9]byte
	binary.BigEndian.PutUint32(head[:], uint32(len(payload))<<8|uint32(kind))
	head[4] = byte(flags)
	binary.BigEndian.PutUint32(head[5:], id)
	c.out.Write(head[:])
	c.out.WriteString(payload)
	return c
}

// words returns what some fields of frames have, each of 32 bits.
func words(values ...uint32) string {
	var b []byte
	for _, v := range values {
		b = binary.BigEndian.AppendUint32(b, v)
	}
	return string(b)
}

// settings takes pairs of an id and a value.
func (c *h2Conn) settings(pairs ...uint32) *h2Conn {
	var b []byte
	for i := 0; i < len(pairs); i += 2 {
		b = binary.BigEndian.AppendUint16(b, uint16(pairs[i]))
		b = binary.BigEndian.AppendUint32(b, pairs[i+1])
	}
	return c.frame(http2.FrameSettings, 0, 0, string(b))
}

// block encodes fields, each of which is a line "name: value".
func (c *h2Conn) block(lines ...string) string {
	c.fields.Reset()
	for _, line := range lines {
		name, value, _ := strings.Cut(line[1:], ": ")
		_ = c.enc.WriteField(hpack.HeaderField{Name: line[:1] + name, Value: value})
	}
	return c.fields.String()
}

func (c *h2Conn) headers(id uint32, flags http2.Flags, lines ...string) *h2Conn {
	return c.frame(http2.FrameHeaders, flags, id, c.block(lines...))
}

// requestFields returns the pseudo-fields of a request, and further fields.
func requestFields(method, path string, fields ...string) []string {
	return append([]string{":method: " + method, ":scheme: http", ":authority: a", ":path: " + path}, fields...)
}

// get sends a request without content, and post the head of one that has some.
func (c *h2Conn) get(id uint32, path string, fields ...string) *h2Conn {
	return c.headers(id, whole, requestFields("GET", path, fields...)...)
}

func (c *h2Conn) post(id uint32, path string, fields ...string) *h2Conn {
	return c.headers(id, endHeaders, requestFields("POST", path, fields...)...)
}

func (c *h2Conn) data(id uint32, flags http2.Flags, content string) *h2Conn {
	return c.frame(http2.FrameData, flags, id, content)
}

func (c *h2Conn) window(id, n uint32) *h2Conn {
	return c.frame(http2.FrameWindowUpdate, 0, id, words(n))
}

func (c *h2Conn) reset(id uint32, code http2.ErrCode) *h2Conn {
	return c.frame(http2.FrameRSTStream, 0, id, words(uint32(code)))
}

// write writes what was collected.
func (c *h2Conn) write() error {
	_, err := c.out.WriteTo(c.Conn.Conn)
	c.out.Reset()
	return err
}

func (c *h2Conn) flush() {
	c.T.Helper()
	if err := c.write(); err != nil {
		c.T.Fatalf("cannot send: %v", err)
	}
}

// next reads a frame.
func (c *h2Conn) next() http2.Frame {
	c.T.Helper()
	f, err := c.fr.ReadFrame()
	if err != nil {
		c.T.Fatalf("cannot read a frame: %v", err)
	}
	return f
}

// h2Seen is what the server has sent since listen was called.
type h2Seen struct {
	mu       sync.Mutex
	streams  map[uint32]h2Stream
	brief    bool            // streams that have ended are forgotten, but for their outcomes
	outcomes map[string]int  // how many streams had each: a status, or a code
	goAways  []string        // their codes
	pongs    map[string]bool // the payloads of PING frames that were answered
	windows  map[uint32]int  // what may be sent, above what is permitted at first
	err      error           // why no more frames can be read
	over     chan struct{}
}

// h2Stream is what came on a stream.
type h2Stream struct {
	fields   []hpack.HeaderField // of the final response
	interim  int
	trailers []hpack.HeaderField
	content  []byte
	length   int // of the content
	ended    bool
	reset    string // the code
}

// status is that of the response, or "".
func (s h2Stream) status() string { return s.field(":status") }

func (s h2Stream) field(name string) string {
	for _, f := range s.fields {
		if f.Name == name {
			return f.Value
		}
	}
	return ""
}

// String returns the status and the content, or how the stream has ended before.
func (s h2Stream) String() string {
	switch {
	case s.reset != "" && s.status() == "":
		return s.reset
	case s.reset != "":
		return s.status() + " " + s.reset
	case !s.ended:
		return s.status() + " unfinished"
	}
	return s.status() + " " + string(s.content)
}

// kept is how much content of a stream is kept.
const kept = 64 << 10

// listen reads all that the server sends, from now on.
func (c *h2Conn) listen() *h2Conn {
	c.seen = &h2Seen{streams: map[uint32]h2Stream{}, outcomes: map[string]int{}, pongs: map[string]bool{}, windows: map[uint32]int{}, over: make(chan struct{})}
	go func() {
		defer close(c.seen.over)
		for {
			f, err := c.fr.ReadFrame()
			c.seen.mu.Lock()
			if err != nil {
				c.seen.err = err
				c.seen.mu.Unlock()
				return
			}
			c.seen.note(f)
			c.seen.mu.Unlock()
		}
	}()
	return c
}

func (s *h2Seen) note(f http2.Frame) {
	id := f.Header().StreamID
	st := s.streams[id]
	switch f := f.(type) {
	case *http2.GoAwayFrame:
		s.goAways = append(s.goAways, f.ErrCode.String())
		return
	case *http2.WindowUpdateFrame:
		s.windows[id] += int(f.Increment)
		return
	case *http2.PingFrame:
		if f.IsAck() {
			s.pongs[string(f.Data[:])] = true
		}
		return
	case *http2.RSTStreamFrame:
		st.reset = f.ErrCode.String()
	case *http2.MetaHeadersFrame:
		switch status := f.PseudoValue("status"); {
		case st.fields != nil:
			st.trailers = f.Fields
		case strings.HasPrefix(status, "1"):
			st.interim++
		default:
			st.fields = f.Fields
		}
		st.ended = f.StreamEnded()
	case *http2.DataFrame:
		st.length += len(f.Data())
		st.content = append(st.content, f.Data()[:min(len(f.Data()), kept-len(st.content))]...)
		st.ended = f.StreamEnded()
	default:
		return
	}
	s.streams[id] = st
	switch {
	case st.reset != "":
		s.outcomes[st.reset]++
	case st.ended:
		s.outcomes[st.status()]++
	default:
		return
	}
	if s.brief {
		delete(s.streams, id)
	}
}

func (s *h2Seen) setBrief() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.brief = true
}

// isOver reports whether the server has said that the connection ends, or ended it.
func (s *h2Seen) isOver() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err != nil || len(s.goAways) > 0
}

// stream returns what came on a stream so far.
func (s *h2Seen) stream(id uint32) h2Stream {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.streams[id]
}

// isAnswered reports whether a PING with the payload was answered.
func (s *h2Seen) isAnswered(payload string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pongs[payload]
}

// count returns how many streams had an outcome.
func (s *h2Seen) count(outcome string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.outcomes[outcome]
}

// await waits until a stream has ended.
func (c *h2Conn) await(id uint32) h2Stream {
	c.T.Helper()
	var s h2Stream
	servertest.Eventually(c.T, fmt.Sprintf("the end of stream %d", id), func() bool {
		s = c.seen.stream(id)
		if s.ended || s.reset != "" {
			return true
		}
		c.seen.mu.Lock()
		defer c.seen.mu.Unlock()
		if c.seen.err != nil {
			c.T.Fatalf("stream %d: %v; the connection has ended: %v %v", id, s, c.seen.goAways, c.seen.err)
		}
		return false
	})
	return s
}

// end waits for the end of the connection, and returns the codes of GOAWAY.
func (c *h2Conn) end() string {
	c.T.Helper()
	servertest.Receive(c.T, "the end of the connection", c.seen.over)
	return c.verdict()
}

// verdict returns the codes of GOAWAY so far.
func (c *h2Conn) verdict() string {
	c.seen.mu.Lock()
	defer c.seen.mu.Unlock()
	if len(c.seen.goAways) == 0 && c.seen.err != nil {
		return "cut: " + c.seen.err.Error()
	}
	return strings.Join(c.seen.goAways, " ")
}

// summary tells what came.
func (s *h2Seen) summary() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var parts []string
	for _, outcome := range slices.Sorted(maps.Keys(s.outcomes)) {
		parts = append(parts, fmt.Sprintf("%d x %s", s.outcomes[outcome], outcome))
	}
	if len(s.goAways) > 0 {
		parts = append(parts, "GOAWAY "+strings.Join(s.goAways, " "))
	}
	if s.err != nil && !errors.Is(s.err, io.EOF) {
		parts = append(parts, s.err.Error())
	}
	return strings.Join(parts, ", ")
}

// sync waits until the server has read all that was sent.
func (c *h2Conn) sync() {
	c.T.Helper()
	c.syncs++
	payload := fmt.Sprintf("sync%04d", c.syncs)
	c.frame(http2.FramePing, 0, 0, payload)
	_ = c.write()
	servertest.Eventually(c.T, "an answer to PING", func() bool { return c.seen.isAnswered(payload) || c.seen.isOver() })
}

// upload sends content as the windows permit, until the stream is reset.
func (c *h2Conn) upload(id uint32, size int) {
	c.T.Helper()
	content := strings.Repeat("x", 8<<10)
	for sent, begun := 0, time.Now(); sent < size && c.seen.stream(id).reset == ""; {
		c.seen.mu.Lock()
		may := min(65535+c.seen.windows[0]-c.uploaded, c.firstWindow+c.seen.windows[id]-sent, size-sent, len(content))
		c.seen.mu.Unlock()
		if may <= 0 {
			if time.Since(begun) > servertest.Patience {
				c.T.Fatalf("no window after %d bytes", sent)
			}
			time.Sleep(50 * time.Microsecond)
			continue
		}
		c.data(id, 0, content[:may]).flush()
		sent += may
		c.uploaded += may
	}
}

// ask sends a request without content, and waits for the response.
func (c *h2Conn) ask(id uint32, path string, fields ...string) h2Stream {
	c.T.Helper()
	c.get(id, path, fields...).flush()
	return c.await(id)
}
