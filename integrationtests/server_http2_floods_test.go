package integrationtests

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
)

const (
	calm         = "ENHANCE_YOUR_CALM"
	protocolFail = "PROTOCOL_ERROR"
	// floodTurns is how often a flood repeats its turn, unless it ends earlier: several times
	// what any limit permits, including the allowance that grows during the flood.
	floodTurns = 20_000
	// floodHeap is by how many bytes the memory in use may grow because of one connection:
	// several times the sum of the limits, since the client's memory counts, too.
	floodHeap = 8 << 20
	// h2Streams is the default of HTTP2Config.MaxConcurrentStreams.
	h2Streams = 250
)

// h2Flood is something that a hostile client does repeatedly.
type h2Flood struct {
	name      string
	configure func(s *fasthttp.Server)
	begin     func(c *h2Conn)           // before the flood
	turn      func(c *h2Conn, i uint32) // i is from 0 on
	turns     int                       // floodTurns, if it is 0
	want      string                    // the codes of GOAWAY; "" if the connection stays open
	gets      string                    // a status or code that streams must get meanwhile, or ""
	heap      int64                     // floodHeap, if it is 0
}

// id returns the id of the stream of a turn.
func id(i uint32) uint32 { return 2*i + 1 }

// each is a flood of streams, and same a flood of equal frames.
func each(f func(c *h2Conn, id uint32)) func(c *h2Conn, i uint32) {
	return func(c *h2Conn, i uint32) { f(c, id(i)) }
}

func same(kind http2.FrameType, flags http2.Flags, id uint32, payload string) func(c *h2Conn, i uint32) {
	return func(c *h2Conn, _ uint32) { c.Frame(kind, flags, id, payload) }
}

// opens begins a flood on a stream that lacks its content.
func opens(c *h2Conn) { c.Post(1, "/") }

// resetsOne begins a flood on a stream that has ended.
func resetsOne(c *h2Conn) { c.Post(1, "/").Reset(1, http2.ErrCodeCancel) }

func smallStreamWindow(s *fasthttp.Server) { s.HTTP2.MaxReceiveBufferPerStream = 1 }

const largeStep = 1<<31 - 1

// resetFloods are aborted streams: streams that the client resets, and streams that it makes
// the server reset ("MadeYouReset", CVE-2025-8671).
var resetFloods = []h2Flood{
	{name: "rapid reset (CVE-2023-44487)", want: calm, turn: each(func(c *h2Conn, id uint32) {
		c.Get(id, "/").Reset(id, http2.ErrCodeCancel)
	})},
	{name: "rapid reset of requests that have content", want: calm, turn: each(func(c *h2Conn, id uint32) {
		c.Post(id, "/").Reset(id, http2.ErrCodeCancel)
	})},
	{name: "rapid reset while handlers wait", want: calm, turn: each(func(c *h2Conn, id uint32) {
		c.Get(id, "/wait").Reset(id, http2.ErrCodeCancel)
	})},
	{name: "rapid reset of large responses", want: calm, turn: each(func(c *h2Conn, id uint32) {
		c.Get(id, "/large").Reset(id, http2.ErrCodeCancel)
	})},
	{name: "a window that is to grow by 0", want: calm, turn: each(func(c *h2Conn, id uint32) { c.Post(id, "/").Window(id, 0) })},
	{name: "a window that grows beyond 2^31-1", want: calm, turn: each(func(c *h2Conn, id uint32) { c.Post(id, "/").Window(id, largeStep) })},
	{name: "DATA on a half-closed stream", want: calm, turn: each(func(c *h2Conn, id uint32) { c.Get(id, "/wait").Data(id, 0, "x") })},
	{name: "HEADERS on a half-closed stream", want: calm, turn: each(func(c *h2Conn, id uint32) { c.Get(id, "/wait").Get(id, "/") })},
	{name: "PRIORITY that depends on itself", want: calm, turn: each(func(c *h2Conn, id uint32) {
		c.Post(id, "/").Frame(http2.FramePriority, 0, id, words(id)+"a")
	})},
	{name: "HEADERS that depend on themselves", want: calm, turn: each(func(c *h2Conn, id uint32) {
		c.Frame(http2.FrameHeaders, whole|http2.FlagHeadersPriority, id, words(id)+"a"+c.Block(requestFields("GET", "/")...))
	})},
	{name: "PRIORITY of 4 bytes", want: calm, turn: each(func(c *h2Conn, id uint32) { c.Post(id, "/").Frame(http2.FramePriority, 0, id, "1234") })},
	{name: "more content than content-length", want: calm, turn: each(func(c *h2Conn, id uint32) {
		c.Post(id, "/", "content-length: 1").Data(id, 0, "xx")
	})},
	{name: "less content than content-length", want: calm, turn: each(func(c *h2Conn, id uint32) {
		c.Post(id, "/", "content-length: 5").Data(id, endStream, "x")
	})},
	{name: "more content than the window of a stream", configure: smallStreamWindow, want: calm, turn: each(func(c *h2Conn, id uint32) {
		c.Post(id, "/").Data(id, 0, "xx")
	})},
	{name: "malformed requests (CVE-2019-9514)", want: calm, turn: each(func(c *h2Conn, id uint32) { c.Get(id, "/", "Upper: case") })},
	{name: "malformed requests that are answered", want: calm, turn: each(func(c *h2Conn, id uint32) { c.Get(id, "*") })},
	{name: "trailers that do not end the stream", want: calm, turn: each(func(c *h2Conn, id uint32) { c.Post(id, "/").Headers(id, endHeaders, "a: b") })},
	{name: "malformed trailers", want: calm, turn: each(func(c *h2Conn, id uint32) { c.Post(id, "/").Headers(id, whole, ":path: b") })},
	{name: "more streams than permitted", want: calm, gets: "REFUSED_STREAM", turn: each(func(c *h2Conn, id uint32) { c.Get(id, "/wait") })},
}

// frameFloods are frames without a use.
var frameFloods = []h2Flood{
	{name: "SETTINGS (CVE-2019-9515)", want: calm, turn: same(http2.FrameSettings, 0, 0, "")},
	{name: "SETTINGS with windows that change, while streams wait for them", want: calm, begin: func(c *h2Conn) {
		c.Settings(uint32(http2.SettingInitialWindowSize), 0)
		for i := range uint32(100) {
			c.Get(id(i), "/large")
		}
	}, turn: func(c *h2Conn, i uint32) { c.Settings(uint32(http2.SettingInitialWindowSize), i%2) }},
	{name: "SETTINGS acknowledged again and again", want: calm, turn: same(http2.FrameSettings, http2.FlagSettingsAck, 0, "")},
	{name: "33 settings", want: calm, turns: 1, turn: func(c *h2Conn, _ uint32) { c.Settings(make([]uint32, 66)...) }},
	{name: "PING (CVE-2019-9512)", want: calm, turn: same(http2.FramePing, 0, 0, "12345678")},
	{name: "answers to no PING", want: calm, turn: same(http2.FramePing, http2.FlagPingAck, 0, "12345678")},
	{name: "PRIORITY (CVE-2019-9513)", want: calm, turn: func(c *h2Conn, i uint32) {
		c.Frame(http2.FramePriority, 0, id(i), words(id(i)-1)+"a")
	}},
	{name: "PRIORITY_UPDATE", want: calm, turn: func(c *h2Conn, i uint32) { c.Frame(priorityUpdate, 0, 0, words(id(i))+"u=1") }},
	{name: "PRIORITY_UPDATE of streams that wait", want: calm, begin: func(c *h2Conn) {
		c.Settings(uint32(http2.SettingInitialWindowSize), 0)
		for i := range uint32(100) {
			c.Get(id(i), "/large")
		}
	}, turn: func(c *h2Conn, i uint32) {
		c.Frame(priorityUpdate, 0, 0, words(id(i%100))+fmt.Sprintf("u=%d", i%8))
	}},
	{name: "unknown frames", want: calm, turn: same(0xbb, 0xff, 1, "whatever")},
	{name: "GOAWAY", want: calm, turn: same(http2.FrameGoAway, 0, 0, words(0, 0))},
	{name: "empty DATA (CVE-2019-9518)", want: calm, begin: opens, turn: same(http2.FrameData, 0, 1, "")},
	{name: "empty DATA with padding", want: calm, begin: opens, turn: same(http2.FrameData, http2.FlagDataPadded, 1, "\x0212")},
	{name: "DATA of a byte", want: "", begin: opens, turn: same(http2.FrameData, 0, 1, "a")},
	{name: "DATA on a stream that was reset", want: calm, begin: resetsOne, turn: same(http2.FrameData, 0, 1, "a")},
	{name: "RST_STREAM on a stream that was reset", want: calm, begin: resetsOne, turn: same(http2.FrameRSTStream, 0, 1, words(8))},
	{name: "WINDOW_UPDATE of a byte", want: calm, turn: same(http2.FrameWindowUpdate, 0, 0, words(1))},
	{name: "WINDOW_UPDATE of a byte of a stream (CVE-2019-9511)", want: calm, begin: opens, turn: same(http2.FrameWindowUpdate, 0, 1, words(1))},
	{name: "WINDOW_UPDATE of a stream that was reset", want: calm, begin: resetsOne, turn: same(http2.FrameWindowUpdate, 0, 1, words(1000))},
	{name: "WINDOW_UPDATE up to 2^31-1", want: "FLOW_CONTROL_ERROR", turn: same(http2.FrameWindowUpdate, 0, 0, words(1<<24))},
}

// bogus are frames that must end a connection at once.
var bogus = []h2Flood{
	{name: "MAX_FRAME_SIZE 0 (CVE-2026-33814)", want: protocolFail, turn: setting(http2.SettingMaxFrameSize, 0)},
	{name: "MAX_FRAME_SIZE 2^14-1", want: protocolFail, turn: setting(http2.SettingMaxFrameSize, 1<<14-1)},
	{name: "MAX_FRAME_SIZE 2^24", want: protocolFail, turn: setting(http2.SettingMaxFrameSize, 1<<24)},
	{name: "INITIAL_WINDOW_SIZE 2^31", want: "FLOW_CONTROL_ERROR", turn: setting(http2.SettingInitialWindowSize, 1<<31)},
	{name: "ENABLE_PUSH 2", want: protocolFail, turn: setting(http2.SettingEnablePush, 2)},
	{name: "ENABLE_CONNECT_PROTOCOL 2", want: protocolFail, turn: setting(8, 2)},
	{name: "NO_RFC7540_PRIORITIES 2", want: protocolFail, turn: setting(9, 2)},
	{name: "PUSH_PROMISE", want: protocolFail, turn: same(http2.FramePushPromise, endHeaders, 1, words(2))},
	{name: "a window of the connection that is to grow by 0", want: protocolFail, turn: same(http2.FrameWindowUpdate, 0, 0, words(0))},
	{name: "a window of the connection beyond 2^31-1", want: "FLOW_CONTROL_ERROR", turn: same(http2.FrameWindowUpdate, 0, 0, words(largeStep))},
	{name: "a frame of 2^14+1 bytes", want: "FRAME_SIZE_ERROR", turn: same(http2.FramePing, 0, 0, strings.Repeat("a", 1<<14+1))},
	{name: "a frame that says it is 2^24-1 bytes long", want: "FRAME_SIZE_ERROR", turn: func(c *h2Conn, _ uint32) { c.Raw("\xff\xff\xff\x00\x00\x00\x00\x00\x01") }},
}

func setting(id http2.SettingID, value uint32) func(c *h2Conn, i uint32) {
	return func(c *h2Conn, _ uint32) { c.Settings(uint32(id), value) }
}

// begun is a header block without its end, and goesOn a frame that continues it.
func begun(c *h2Conn) {
	c.Frame(http2.FrameHeaders, endStream, 1, c.Block(requestFields("GET", "/")...))
}

func goesOn(payload string) func(c *h2Conn, i uint32) {
	return same(http2.FrameContinuation, 0, 1, payload)
}

// indexed adds a field of 4000 bytes to the table, with the first request: from then on it is
// byte 0xbe in blocks.
func indexed(c *h2Conn) { c.Get(1, "/", "a: "+strings.Repeat("b", 4000)) }

// bomb returns the block of a request with that field n times.
func bomb(c *h2Conn, path string, n int) string {
	// indexed names, and values that are not added to a table
	return "\x82\x86\x01\x01a" + "\x04" + string(rune(len(path))) + path + strings.Repeat("\xbe", n)
}

// headFloods are heads whose cost exceeds their size.
var headFloods = []h2Flood{
	{name: "CONTINUATION of a byte", want: calm, begin: begun, turn: goesOn("\x90")},
	{name: "empty CONTINUATION (CVE-2019-9518)", want: calm, begin: begun, turn: goesOn("")},
	{name: "CONTINUATION without end", want: calm, begin: begun, turn: goesOn(strings.Repeat("\x90", 1<<14))},
	{name: "empty blocks", want: calm, turn: each(func(c *h2Conn, id uint32) { c.Frame(http2.FrameHeaders, whole, id, "") })},
	{name: "HPACK bomb", want: calm, begin: indexed, turns: 1, turn: func(c *h2Conn, _ uint32) {
		c.Frame(http2.FrameHeaders, whole, 3, bomb(c, "/", 33))
	}},
	{name: "HPACK bomb, below the limit of a head, and no window (CVE-2026-49975)", gets: "REFUSED_STREAM", turns: 5000, begin: func(c *h2Conn) {
		c.Settings(uint32(http2.SettingInitialWindowSize), 0)
		indexed(c)
	}, turn: func(c *h2Conn, i uint32) {
		c.Frame(http2.FrameHeaders, whole, id(i+1), bomb(c, "/large", 15))
	}},
	{name: "a head above the limit", turns: 1000, gets: "431", begin: indexed, turn: func(c *h2Conn, i uint32) {
		c.Frame(http2.FrameHeaders, whole, id(i+1), bomb(c, "/", 17))
	}},
	{name: "501 fields", turns: 1, gets: "431", turn: func(c *h2Conn, _ uint32) { c.Get(1, "/", repeatedFields(501, "x%d: y")...) }},
	{name: "501 empty values", turns: 1, gets: "431", turn: func(c *h2Conn, _ uint32) { c.Get(1, "/", repeatedFields(501, "x%d: ")...) }},
	{name: "501 crumbs of cookies", turns: 1, gets: "431", turn: func(c *h2Conn, _ uint32) {
		c.Get(1, "/", slices.Repeat([]string{"cookie: a"}, 501)...)
	}},
	{name: "a table of 4 GiB", turns: 500, gets: "200", begin: func(c *h2Conn) {
		c.Settings(uint32(http2.SettingHeaderTableSize), 1<<32-1)
	}, turn: func(c *h2Conn, i uint32) { c.Get(id(i), fmt.Sprint("/varied/", i)).Sync() }},
	{name: "fields without end", want: calm, turns: 1, turn: func(c *h2Conn, _ uint32) { c.Get(1, "/", repeatedFields(1001, "x%d: y")...) }},
	{name: "crumbs of cookies without end (CVE-2026-49975)", want: calm, turns: 1, turn: func(c *h2Conn, _ uint32) {
		c.Frame(http2.FrameHeaders, whole, 1, c.Block(requestFields("GET", "/", "cookie: a")...)+strings.Repeat("\xbe", 1000))
	}},
	{name: "empty names (CVE-2019-9516)", want: calm, turn: each(func(c *h2Conn, id uint32) {
		c.Frame(http2.FrameHeaders, whole, id, c.Block(requestFields("GET", "/")...)+"\x00\x00\x00")
	})},
	{name: "table sizes", want: "COMPRESSION_ERROR", turns: 1, turn: func(c *h2Conn, _ uint32) {
		c.Frame(http2.FrameHeaders, whole, 1, strings.Repeat("\x20\x3f\xe1\x1f", 1000)+c.Block(requestFields("GET", "/")...))
	}},
	{name: "an index without end", want: "COMPRESSION_ERROR", turns: 1, turn: func(c *h2Conn, _ uint32) {
		c.Frame(http2.FrameHeaders, whole, 1, strings.Repeat("\xff", 1000))
	}},
}

func TestFloodsOfHTTP2(t *testing.T) { servertest.Apart(t, testFloodsOfHTTP2) }

func testFloodsOfHTTP2(t *testing.T) {
	for i, f := range slices.Concat(resetFloods, frameFloods, bogus, headFloods) {
		for _, e := range http2Engines(i) {
			t.Run(f.name+"/"+e.Name, func(t *testing.T) { f.run(t, e) })
		}
	}
}

// floodServer is the handler of a flooded server.
type floodServer struct {
	gate          *servertest.Gate
	large         []byte
	running, most atomic.Int32
	all           atomic.Int64
	served        chan struct{} // gets a value for each request, unless it is nil
}

func newFloodServer() *floodServer {
	return &floodServer{gate: servertest.NewGate(), large: make([]byte, 1<<20)}
}

func (f *floodServer) handle(ctx *fasthttp.RequestCtx) {
	f.all.Add(1)
	if f.served != nil {
		f.served <- struct{}{}
	}
	n := f.running.Add(1)
	defer f.running.Add(-1)
	for most := f.most.Load(); n > most && !f.most.CompareAndSwap(most, n); most = f.most.Load() {
	}
	switch string(ctx.Path()) {
	case "/wait":
		<-f.gate.Open
	case "/large":
		ctx.Response.SetBodyRaw(f.large)
	case "/heads":
		ctx.Response.Header.Set("X-Large", largeField)
	default:
		if path := ctx.Path(); bytes.HasPrefix(path, []byte("/varied")) {
			ctx.Response.Header.SetBytesV("X-Varied", path)
		}
		ctx.SetBodyString("ok")
	}
}

var largeField = strings.Repeat("f", 8<<10)

// floodBatch is how many bytes a flood writes at once.
const floodBatch = 16 << 10

func (f *h2Flood) run(t *testing.T, e servertest.Engine) {
	fs := newFloodServer()
	s := &fasthttp.Server{Handler: fs.handle}
	if f.configure != nil {
		f.configure(s)
	}
	ts := serveHTTP2(t, e, s)
	// handlers that wait end before the server does
	t.Cleanup(func() { close(fs.gate.Open) })
	other := greetHTTP2(ts)
	c := greetHTTP2(ts).Listen()
	c.SetBrief()
	before := servertest.Measure(t)
	asker, busy, begun := startAsking(other), cpuTime(), time.Now()

	if f.begin != nil {
		f.begin(c)
	}
	turns := f.turns
	if turns == 0 {
		turns = floodTurns
	}
	// a flood that must end the connection continues until then: a server that waits for its
	// processor permits more, since its limits grow with time
	goesOn := func() bool { return f.want != "" && f.turns == 0 && time.Since(begun) < servertest.Patience }
	done := 0
	for ; !c.IsOver() && (done < turns || goesOn()); done++ {
		f.turn(c, uint32(done))
		if c.Out.Len() > floodBatch {
			asker.due()
			if c.TryFlush() != nil {
				break
			}
		}
	}
	_ = c.TryFlush()
	got := f.outcome(c)
	busy = cpuTime() - busy
	after := servertest.Measure(t)
	served, slowest := asker.end()

	t.Logf("%d turns in %v of processor time, %v each; %s; %d handlers, %d at a time; before: %v, after: %v; others: %d, at most %v",
		done, busy, (busy / time.Duration(max(done, 1))).Round(time.Nanosecond), c.Summary(), fs.all.Load(), fs.most.Load(), before, after, served, slowest.Round(time.Microsecond))
	if got != f.want {
		t.Errorf("the connection ends with %q, want %q", got, f.want)
	}
	if f.gets != "" && c.Count(f.gets) == 0 {
		t.Errorf("no stream has got %s", f.gets)
	}
	if served == 0 && !t.Failed() {
		t.Error("another client has got no answer")
	}
	// the other client adds one stream
	if most := int(fs.most.Load()); most > h2Streams+1 {
		t.Errorf("%d handlers run at a time", most)
	}
	limit := f.heap
	if limit == 0 {
		limit = floodHeap
	}
	if grown := after.Heap - before.Heap; grown > limit {
		t.Errorf("%d bytes more than before are in use", grown)
	}
}

// outcome waits until the connection has ended, or the server has read all input.
func (f *h2Flood) outcome(c *h2Conn) string {
	c.T.Helper()
	if f.want != "" {
		servertest.Eventually(c.T, "the end of the connection", c.IsOver)
		return c.Verdict()
	}
	c.Sync()
	return c.Verdict()
}

// asker is a client that sends requests while another one floods the server.
type asker struct {
	c       *h2Conn
	ask     chan struct{} // requests are due
	ended   chan struct{}
	n       int
	slowest time.Duration
}

func startAsking(c *h2Conn) *asker {
	a := &asker{c: c, ask: make(chan struct{}, 1), ended: make(chan struct{})}
	a.due()
	go func() {
		defer close(a.ended)
		for id := uint32(1); ; id += 2 {
			if _, ok := <-a.ask; !ok {
				return
			}
			if err := a.askOnce(id); err != nil {
				c.T.Errorf("another client: %v after %d answers", err, a.n)
				return
			}
		}
	}()
	return a
}

// askOnce sends a request, and reads the response.
func (a *asker) askOnce(id uint32) error {
	begun := time.Now()
	_ = a.c.SetDeadline(begun.Add(servertest.Patience))
	if err := a.c.Get(id, "/").TryFlush(); err != nil {
		return err
	}
	for {
		f, err := a.c.ReadFrame()
		if err != nil {
			return err
		}
		switch f := f.(type) {
		case *http2.GoAwayFrame, *http2.RSTStreamFrame:
			return fmt.Errorf("got %v", f)
		case *http2.DataFrame:
			if f.StreamID == id && f.StreamEnded() {
				a.n++
				a.slowest = max(a.slowest, time.Since(begun))
				return nil
			}
		}
	}
}

// due makes it send one more request, unless it still waits for a response.
func (a *asker) due() {
	select {
	case a.ask <- struct{}{}:
	default:
	}
}

// end returns the number of responses, and the time of the slowest.
func (a *asker) end() (n int, slowest time.Duration) {
	close(a.ask)
	servertest.Receive(a.c.T, "the last answer", a.ended)
	return a.n, a.slowest
}

// The server stops reading from a client that makes it answer, and reads nothing.
func TestServerStopsReadingIfNothingIsRead(t *testing.T) {
	servertest.Apart(t, testServerStopsReadingIfNothingIsRead)
}

func testServerStopsReadingIfNothingIsRead(t *testing.T) {
	for i, timeout := range []time.Duration{0, servertest.Short} {
		for _, e := range http2Engines(i) {
			t.Run(fmt.Sprint(timeout, "/", e.Name), func(t *testing.T) { checkStopsReading(t, e, timeout) })
		}
	}
}

func checkStopsReading(t *testing.T, e servertest.Engine, timeout time.Duration) {
	const batch, most = 200, 20_000
	fs := newFloodServer()
	fs.served = make(chan struct{}, most+batch)
	s := &fasthttp.Server{Handler: fs.handle, Logger: noLog{}}
	s.HTTP2.WriteByteTimeout = timeout
	// a stream is refused while too many served ones have not ended
	s.HTTP2.CountError = func(string) { fs.served <- struct{}{} }
	ts := serveHTTP2(t, e, s)
	before := servertest.Measure(t)
	c := dialHTTP2(ts)
	readNothing(c)
	var sent atomic.Int64
	stopped, over := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(over)
		for sent.Load() < most {
			for range batch {
				c.Get(id(uint32(sent.Add(1)-1)), "/heads")
			}
			if c.TryFlush() != nil {
				return
			}
			for range batch {
				select {
				case <-fs.served:
				case <-stopped:
					return
				}
			}
		}
	}()
	stopsForAWhile(fs.all.Load)
	// on a busy machine the handlers may continue after a pause, each with its own memory
	var after servertest.Usage
	servertest.Eventually(t, "a server that needs little memory", func() bool {
		after = servertest.Measure(t)
		return after.Heap-before.Heap <= floodHeap
	})
	t.Logf("%d of %d handlers; before: %v, after: %v", fs.all.Load(), sent.Load(), before, after)
	if sent.Load() >= most {
		t.Errorf("the server has read all %d requests", sent.Load())
	}
	if timeout > 0 {
		servertest.Eventually(t, "the end of the connection", func() bool { return s.GetOpenConnectionsCount() == 0 })
	}
	close(stopped)
	_ = c.Close()
	servertest.Receive(t, "the end of writing", over)
}

// The buffered bodies of a connection have a common limit: above it streams wait for others,
// one at a time continues, and none is refused.
func TestBodiesOfAConnectionAreBounded(t *testing.T) {
	servertest.Apart(t, testBodiesOfAConnectionAreBounded)
}

func testBodiesOfAConnectionAreBounded(t *testing.T) {
	for i := range 2 {
		for _, e := range http2Engines(i) {
			t.Run(e.Name, func(t *testing.T) { checkBodies(t, e) })
		}
	}
}

func checkBodies(t *testing.T, e servertest.Engine) {
	// window is the window of a stream, which may be used up before it waits
	const size, streams, room, window = 2 << 20, 12, 16 << 20, 256 << 10
	fs := newFloodServer()
	ts := serveHTTP2(t, e, &fasthttp.Server{Handler: fs.handle})
	before := servertest.Measure(t)
	c := greetHTTP2(ts).Listen()
	for i := range uint32(room / size) {
		c.Post(id(i), "/").Upload(id(i), size-1)
	}
	for i := uint32(room / size); i < streams; i++ {
		c.Post(id(i), "/").Upload(id(i), window)
	}
	c.Sync()
	after := servertest.Measure(t)
	t.Logf("before: %v, after: %v", before, after)
	// a buffer may have room for more
	if grown := after.Heap - before.Heap; grown > 2*room {
		t.Errorf("%d bytes more than before are in use", grown)
	}
	for i := range uint32(streams) {
		if i >= room/size {
			c.Upload(id(i), size-window)
		}
		c.Data(id(i), endStream, "").Flush()
		if got := c.Await(id(i)).String(); got != "200 ok" {
			t.Errorf("stream %d: %s", id(i), got)
		}
	}
	if n := c.Count("REFUSED_STREAM"); n > 0 {
		t.Errorf("%d streams are refused", n)
	}
}
