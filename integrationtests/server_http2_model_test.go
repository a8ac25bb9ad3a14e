package integrationtests

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
)

const (
	// modelTime is how long a model test runs on each engine, unless it is a soak.
	modelTime  = 200 * time.Millisecond
	modelConns = 6
	// modelPatience is how long a stream may take. The machine may be busy.
	modelPatience = time.Minute
	// modelStreams is the largest number of concurrent streams of a client.
	modelStreams = 20
	// How much a client may do before the server ends the connection: see Glitches and Wasted
	// in the limits.
	modelGlitches, modelWaste = 800, 150
)

// TestHTTP2Model runs clients that do random things that the rules permit, and sometimes
// violate the rules, in pieces of any size. They check every byte of the responses, and track
// windows and streams; the server must agree with them.
func TestHTTP2Model(t *testing.T) { servertest.Apart(t, testHTTP2Model) }

func testHTTP2Model(t *testing.T) {
	length, err := time.ParseDuration(os.Getenv(servertest.SoakVariable))
	if err != nil {
		length = modelTime
	}
	seed, err := strconv.ParseUint(os.Getenv(soakSeedVariable), 10, 64)
	if err != nil {
		seed = rand.Uint64()
	}
	for _, e := range servertest.OfEachKind(t, servertest.Engines) {
		t.Run(e.Name, func(t *testing.T) {
			t.Logf("%s=%d", soakSeedVariable, seed)
			// a first round creates permanent resources
			newModelRun(t, e, seed+1).run(length / 4)
			before := servertest.Measure(t)
			r := newModelRun(t, e, seed)
			r.run(length)
			t.Log(r.summary())
			before.ExpectBack(t, soakGrowth)
		})
	}
}

// modelRun is a run of TestHTTP2Model.
type modelRun struct {
	t    *testing.T
	seed uint64
	e    servertest.Engine

	begun, ended atomic.Int64 // handlers
	served       sync.Map     // the served requests of each connection, by its number
	conns        atomic.Int64
	outcomes     [modelOutcomes]atomic.Int64
	faults       atomic.Int64
	bytes        atomic.Int64
}

// modelOutcome is how a stream of a client has ended.
type modelOutcome int

const (
	wholeAnswer modelOutcome = iota // with a whole response, as expected
	cancelled                       // by the client
	broken                          // by the server, as expected
	lost                            // with the connection, which the client has ended by a fault
	modelOutcomes
)

func newModelRun(t *testing.T, e servertest.Engine, seed uint64) *modelRun {
	return &modelRun{t: t, e: e, seed: seed}
}

func (r *modelRun) summary() string {
	return fmt.Sprintf("%d connections, %d of them with a fault; streams: %d answered, %d cancelled, %d broken, %d lost; %d MB",
		r.conns.Load(), r.faults.Load(), r.outcomes[wholeAnswer].Load(), r.outcomes[cancelled].Load(), r.outcomes[broken].Load(), r.outcomes[lost].Load(), r.bytes.Load()>>20)
}

func (r *modelRun) run(length time.Duration) {
	var servers []*testServer
	for _, streams := range []bool{false, true} {
		s := &fasthttp.Server{Handler: r.handle, StreamRequestBody: streams, Logger: noLog{}, MaxIdleWorkerDuration: time.Millisecond}
		s.HTTP2.MaxReceiveBufferPerConnection = 1 << 20
		if streams {
			s.HTTP2.MaxReceiveBufferPerConnection, s.HTTP2.MaxReceiveBufferPerStream = 100_000, 30_000
		}
		servers = append(servers, serveHTTP2(r.t, r.e, s))
	}
	var wg sync.WaitGroup
	end := time.Now().Add(length)
	for i := range modelConns {
		wg.Go(func() {
			rnd := rand.New(rand.NewPCG(r.seed, uint64(i)))
			for time.Now().Before(end) && !r.t.Failed() {
				ts := servers[rnd.IntN(2)]
				nc, err := dialModel(ts)
				if err != nil {
					r.t.Error(err)
					return
				}
				n := r.conns.Add(1)
				newModelClient(r, nc, rand.New(rand.NewPCG(r.seed, uint64(n)<<8)), n, ts.S.HTTP2.MaxReceiveBufferPerConnection).run(end)
			}
		})
	}
	wg.Wait()
	for _, ts := range servers {
		servertest.ShutDown(r.t, ts.S)
	}
	servertest.Eventually(r.t, "the end of all handlers", func() bool { return r.begun.Load() == r.ended.Load() })
}

// modelBlock is the block from which contents are taken.
var modelBlock = servertest.Noise(1 << 20)

// modelContent returns content determined by a number.
func modelContent(n, size int) []byte {
	from := n * 7919 % (len(modelBlock) - modelMost)
	return modelBlock[from : from+size]
}

// modelMost is the largest size of contents.
const modelMost = 1 << 19

// modelServed is how often requests of a connection were served, by their names.
type modelServed struct {
	mu    sync.Mutex
	times map[string]int
}

func (s *modelServed) add(name string, n int) (times int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.times[name] += n
	return s.times[name]
}

// serve counts a request, which must not be served twice.
func (r *modelRun) serve(name string) {
	number, _, _ := strings.Cut(name, ".")
	if s, ok := r.served.Load(number); ok && s.(*modelServed).add(name, 1) != 1 {
		r.t.Errorf("request %s was served again", name)
	}
}

// handle answers as the path selects, with the content that the fields X-Number and X-Size
// select.
func (r *modelRun) handle(ctx *fasthttp.RequestCtx) {
	r.begun.Add(1)
	defer r.ended.Add(1)
	h := &ctx.Request.Header
	r.serve(string(h.Peek("X-Name")))
	ctx.Response.Header.SetBytesV("X-Name", h.Peek("X-Name"))
	number, _ := strconv.Atoi(string(h.Peek("X-Number")))
	size, _ := strconv.Atoi(string(h.Peek("X-Size")))
	body := modelContent(number, size)
	switch kind := string(ctx.Path()[1:]); kind {
	case "echo":
		ctx.SetBody(ctx.Request.Body())
	case "pipe":
		if s := ctx.RequestBodyStream(); s != nil {
			ctx.Response.SetBodyStream(s, -1)
		} else {
			ctx.SetBody(ctx.Request.Body())
		}
	case "raw":
		ctx.Response.SetBodyRaw(body)
	case "stream":
		ctx.Response.SetBodyStream(bytes.NewReader(body), size)
	case "trailers":
		_ = ctx.Response.Header.AddTrailer("X-End")
		ctx.Response.Header.SetBytesV("X-End", h.Peek("X-Name"))
		ctx.Response.SetBodyStream(bytes.NewReader(body), -1)
	case "hints":
		ctx.Response.Header.Set("Link", "</a>")
		_ = ctx.EarlyHints()
		ctx.SetBody(body)
	case "waits":
		yield(5000)
		ctx.SetBody(body)
	case "panics":
		panic("this one ends")
	}
}

// modelKinds are the kinds of requests. Requests of the first kinds have content.
var modelKinds = []string{"echo", "pipe", "raw", "stream", "trailers", "hints", "waits", "panics"}

// modelStream is a stream as a client sees it.
type modelStream struct {
	id                     uint32
	name, kind             string
	want                   []byte // the content of the response
	unsent                 []byte
	sendWindow, recvWindow int64
	got                    int
	toReturn               int64
	head, trailers         bool // received sections
	hasEnded               bool // the client's side
	breaks                 string
	since                  time.Time
}

// modelClient is a simple client based on golang.org/x/net's Framer. One goroutine reads, and
// one acts.
type modelClient struct {
	r      *modelRun
	nc     io.ReadWriteCloser
	rnd    *rand.Rand
	number int64
	most   int64 // the window that the server has for the connection
	served *modelServed

	mu      sync.Mutex
	out     bytes.Buffer
	fr      *http2.Framer
	block   bytes.Buffer
	enc     *hpack.Encoder
	open    map[uint32]*modelStream
	over    map[uint32]bool // streams that were reset, and may still have frames on their way
	next    uint32
	changed chan struct{} // something was received

	sendWindow, recvWindow, toReturn int64
	firstSend, firstRecv             int64
	acks                             []int64 // windows that the server has not acknowledged
	pings                            int
	table                            uint32
	glitches, waste                  int
	fault                            string // the expected code
	goAway                           string // the received code
	err                              error  // of reading
	readerDone                       chan struct{}
}

func newModelClient(r *modelRun, nc io.ReadWriteCloser, rnd *rand.Rand, number int64, window int) *modelClient {
	c := &modelClient{
		r: r, nc: nc, rnd: rnd, number: number, most: int64(window), served: &modelServed{times: map[string]int{}}, open: map[uint32]*modelStream{}, over: map[uint32]bool{},
		next: 1, changed: make(chan struct{}, 1), readerDone: make(chan struct{}),
		sendWindow: 65535, recvWindow: 65535, firstSend: 65535, firstRecv: 65535, table: 4096,
	}
	c.fr = http2.NewFramer(&c.out, nc)
	c.fr.AllowIllegalWrites = true
	c.fr.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	c.enc = hpack.NewEncoder(&c.block)
	c.out.WriteString(http2.ClientPreface)
	r.served.Store(strconv.FormatInt(number, 10), c.served)
	return c
}

func (c *modelClient) fail(format string, args ...any) {
	c.r.t.Errorf("connection %d: "+format, append([]any{c.number}, args...)...)
	_ = c.nc.Close()
}

// run acts until a time, completes the open streams, and disconnects.
func (c *modelClient) run(end time.Time) {
	c.settings()
	go c.read()
	streams := 1 + c.rnd.IntN(300)
	faulty := c.rnd.IntN(4) == 0
	for c.step(time.Now().Before(end) && streams > 0, &streams) {
	}
	if faulty && !c.r.t.Failed() {
		c.mu.Lock()
		c.breakRules()
		c.mu.Unlock()
		c.flush()
		c.r.faults.Add(1)
		c.awaitEnd()
	}
	c.leave()
}

// step acts once, and reports whether there is more to do.
func (c *modelClient) step(mayBegin bool, streams *int) bool {
	c.mu.Lock()
	if c.err != nil || c.goAway != "" {
		if c.fault == "" {
			c.fail("it has ended: %s %v", c.goAway, c.err)
		}
		c.mu.Unlock()
		return false
	}
	for range 1 + c.rnd.IntN(10) {
		begun := c.next
		c.act(mayBegin && len(c.open) < modelStreams)
		if c.next != begun {
			*streams--
		}
	}
	for _, s := range c.open {
		if time.Since(s.since) > modelPatience {
			c.fail("stream %d, %s, does not end: %d of %d bytes, %d unsent, windows %d and %d", s.id, s.kind, s.got, len(s.want), len(s.unsent), s.sendWindow, c.sendWindow)
			c.mu.Unlock()
			return false
		}
	}
	idle := c.out.Len() == 0
	more := mayBegin || len(c.open) > 0 || len(c.acks) > 0 || c.pings > 0
	c.mu.Unlock()
	if idle {
		select {
		case <-c.changed:
		case <-time.After(time.Millisecond): // real time: then it may do something else
		}
		return more
	}
	return c.flush() && more
}

// flush writes the pending output, in pieces of any size.
func (c *modelClient) flush() bool {
	c.mu.Lock()
	b := slices.Clone(c.out.Bytes())
	c.out.Reset()
	c.mu.Unlock()
	most := 20_000
	if c.rnd.IntN(4) == 0 {
		most = 40
	}
	for pieces := 0; len(b) > 0; pieces++ {
		n := min(1+c.rnd.IntN(most), len(b))
		if pieces > 50 {
			n = len(b)
		}
		if _, err := c.nc.Write(b[:n]); err != nil {
			// the reader knows why
			<-c.readerDone
			return c.fault != ""
		}
		b = b[n:]
	}
	return true
}

// awaitEnd waits for the end of a connection that was broken by a fault.
func (c *modelClient) awaitEnd() {
	select {
	case <-c.readerDone:
	case <-time.After(modelPatience):
		c.fail("it does not end after a fault: %s", c.fault)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.goAway != c.fault {
		c.fail("GOAWAY %q, want %q: %v", c.goAway, c.fault, c.err)
	}
}

// leave closes the connection, and checks the tracked windows and streams.
func (c *modelClient) leave() {
	defer c.r.served.Delete(strconv.FormatInt(c.number, 10))
	if c.r.t.Failed() {
		_ = c.nc.Close()
		<-c.readerDone
		return
	}
	// the server updates the window when half of it has been received, and returns unread
	// content when it is done with the request
	late := time.NewTimer(modelPatience)
	defer late.Stop()
	for c.fault == "" && !c.windowIsWhole() {
		select {
		case <-c.changed:
		case <-c.readerDone:
		case <-late.C:
			c.mu.Lock()
			c.fail("the window of the connection is %d", c.sendWindow)
			c.mu.Unlock()
			<-c.readerDone
			return
		}
	}
	c.mu.Lock()
	for range c.open {
		c.r.outcomes[lost].Add(1)
	}
	c.mu.Unlock()
	_ = c.nc.Close()
	<-c.readerDone
}

func (c *modelClient) windowIsWhole() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sendWindow >= c.most/2 || c.err != nil
}
