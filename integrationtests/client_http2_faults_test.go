package integrationtests

import (
	"bytes"
	"io"
	"math/rand/v2"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
)

// unreliableH2 is an HTTP/2 server that makes all kinds of faults at random, and counts how
// often it works on each request.
type unreliableH2 struct {
	*servertest.Peer
	mu   sync.Mutex
	seen map[string]int
}

func startUnreliableH2(t *testing.T) *unreliableH2 {
	u := &unreliableH2{seen: make(map[string]int)}
	u.Peer = servertest.NewPeer(t, func(c *servertest.PeerConn) { u.serve(c.Conn) })
	return u
}

// unreliableConn is one of its connections.
type unreliableConn struct {
	*http2.Framer
	u       *unreliableH2
	nc      net.Conn
	enc     *hpack.Encoder
	block   bytes.Buffer
	paths   map[uint32]string // of unanswered requests
	highest uint32            // of the streams that were processed
	last    uint32            // of the streams that were received
	late    []uint32          // streams whose responses wait for others
}

func (u *unreliableH2) serve(nc net.Conn) {
	preface := make([]byte, len(http2.ClientPreface))
	if _, err := io.ReadFull(nc, preface); err != nil {
		return
	}
	c := &unreliableConn{Framer: http2.NewFramer(nc, nc), u: u, nc: nc, paths: make(map[uint32]string), last: 1<<31 - 1}
	c.enc = hpack.NewEncoder(&c.block)
	c.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	_ = c.settle()
	for {
		frame, err := c.ReadFrame()
		if err != nil || !c.receive(frame) {
			return
		}
	}
}

// settle sends settings at random.
func (c *unreliableConn) settle() error {
	return c.WriteSettings(
		http2.Setting{ID: http2.SettingInitialWindowSize, Val: rand.N[uint32](65536)},
		http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 1 + rand.N[uint32](30)},
		http2.Setting{ID: http2.SettingMaxFrameSize, Val: 16384 + rand.N[uint32](10000)},
	)
}

// receive processes a frame, and reports whether the connection stays open.
func (c *unreliableConn) receive(frame http2.Frame) bool {
	id := frame.Header().StreamID
	switch f := frame.(type) {
	case *http2.SettingsFrame:
		return f.IsAck() || c.WriteSettingsAck() == nil
	case *http2.PingFrame:
		return f.IsAck() || c.WritePing(true, f.Data) == nil
	case *http2.MetaHeadersFrame:
		if id > c.last {
			return true
		}
		path := f.PseudoValue("path")
		if c.paths[id] == "" {
			if rand.N(20) == 0 {
				return c.WriteRSTStream(id, http2.ErrCodeRefusedStream) == nil
			}
			c.paths[id] = path
		}
		if !f.StreamEnded() && rand.N(20) == 0 {
			// an early answer
			c.begin(id)
			return c.answer(id, "200", path, true) && c.WriteRSTStream(id, http2.ErrCodeNo) == nil
		}
		return !f.StreamEnded() || c.work(id)
	case *http2.DataFrame:
		if id > c.last {
			return true
		}
		if n := f.Length; n > 0 {
			_ = c.WriteWindowUpdate(0, n)
			if c.paths[id] != "" && !f.StreamEnded() {
				_ = c.WriteWindowUpdate(id, n+rand.N[uint32](1000))
			}
		}
		return !f.StreamEnded() || c.paths[id] == "" || c.work(id)
	case *http2.RSTStreamFrame:
		delete(c.paths, id)
	}
	return true
}

// begin records that the server processes a request.
func (c *unreliableConn) begin(id uint32) string {
	path := c.paths[id]
	c.highest = max(c.highest, id)
	c.u.mu.Lock()
	c.u.seen[path]++
	c.u.mu.Unlock()
	return path
}

func (c *unreliableConn) fields(id uint32, end bool, fields ...string) bool {
	c.block.Reset()
	for i := 0; i < len(fields); i += 2 {
		_ = c.enc.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]})
	}
	return c.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: c.block.Bytes(), EndHeaders: true, EndStream: end}) == nil
}

func (c *unreliableConn) answer(id uint32, status, content string, end bool) bool {
	delete(c.paths, id)
	return c.fields(id, false, ":status", status, "x", content) && c.WriteData(id, end, []byte(content)) == nil
}

// work answers a request with a fault, and reports whether the connection stays open.
func (c *unreliableConn) work(id uint32) bool {
	if rand.N(40) == 0 {
		// the client sends it to another server
		return c.answer(id, "421", c.paths[id], true)
	}
	path := c.begin(id)
	for _, late := range c.late {
		if was := c.paths[late]; was != "" && !c.answer(late, "200", was, true) {
			return false
		}
	}
	c.late = c.late[:0]
	good := func() bool { return c.answer(id, "200", path, true) }
	switch rand.N(40) {
	case 0:
		return c.WriteRSTStream(id, http2.ErrCodeInternal) == nil
	case 1:
		servertest.Reset(c.nc)
		return false
	case 2:
		return false
	case 3:
		return c.answer(id, "200", path[:1], false) && c.WriteRSTStream(id, http2.ErrCode(rand.N[uint32](14))) == nil
	case 4:
		c.answer(id, "200", path, false)
		return false
	case 5:
		return c.fields(id, false, ":status", "200")
	case 6:
		return true // no answer
	case 7:
		return c.fields(id, false, ":status", "103", "x", "y") && c.fields(id, false, ":status", "102") && good()
	case 8, 9:
		c.last = c.highest
		return c.WriteGoAway(c.highest, http2.ErrCodeNo, nil) == nil && good()
	case 10:
		return c.WriteRawFrame(http2.FrameHeaders, whole, id, []byte("\xff\xff\xff\xff\xff")) == nil
	case 11:
		return c.fields(id, false, ":status", "200", "content-length", "7000") && c.WriteData(id, true, []byte(path)) == nil
	case 12, 13:
		return c.answer(id, "200", path, false) && c.fields(id, true, "x-end", "yes")
	case 14:
		return c.fields(id, false, ":status", "200") && c.WriteDataPadded(id, true, []byte(path), make([]byte, rand.N(256))) == nil
	case 15, 16, 17:
		return c.settle() == nil && good()
	case 18, 19, 20, 21:
		c.late = append(c.late, id)
		return true
	case 22:
		return good() && c.WriteRSTStream(id, http2.ErrCodeNo) == nil
	case 23:
		_ = c.WriteGoAway(c.highest, http2.ErrCodeInternal, nil)
		return false
	case 24:
		return c.WriteRawFrame(http2.FrameWindowUpdate, 0, 0, []byte(words(0))) == nil
	case 25:
		for i := range len(path) {
			if i == 0 && !c.fields(id, false, ":status", "200") || c.WriteData(id, i == len(path)-1, []byte(path[i:i+1])) != nil {
				return false
			}
		}
	case 26:
		yield(2000)
		return good()
	default:
		return good()
	}
	return true
}

// TestHTTP2ClientWithFaultsOfAllKinds is TestClientsWithFaultsOfAllKinds for HTTP/2.
func TestHTTP2ClientWithFaultsOfAllKinds(t *testing.T) {
	servertest.Apart(t, testHTTP2ClientWithFaultsOfAllKinds)
}

func testHTTP2ClientWithFaultsOfAllKinds(t *testing.T) {
	before := runtime.NumGoroutine()
	u := startUnreliableH2(t)
	hc := &fasthttp.HostClient{Addr: u.Addr(), MaxConns: 4, ReadTimeout: 500 * time.Millisecond, WriteTimeout: 500 * time.Millisecond}
	hc.Protocols.SetUnencryptedHTTP2(true)
	calls := &faultyCalls{t: t, addr: hc.Addr, do: hc.DoContext, sends: []string{fasthttp.MethodGet, fasthttp.MethodPost, fasthttp.MethodPost}}
	var running sync.WaitGroup
	for range 32 {
		running.Go(func() {
			req, resp := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
			defer fasthttp.ReleaseRequest(req)
			defer fasthttp.ReleaseResponse(resp)
			for calls.next.Load() < int64(servertest.Times(10_000)) {
				calls.call(req, resp)
			}
		})
	}
	running.Wait()
	servertest.Eventually(t, "the end of all connections", func() bool {
		hc.CloseIdleConnections()
		return hc.ConnsCount() == 0 && hc.PendingRequests() == 0
	})
	u.Stop()
	for id, n := range u.seen {
		if n > 1 && strings.HasPrefix(id, "/post") {
			t.Errorf("%s was seen %d times", id, n)
		}
	}
	if calls.good.Load() == 0 {
		t.Error("no call succeeded")
	}
	t.Logf("%d of %d calls succeeded", calls.good.Load(), calls.next.Load())
	servertest.Eventually(t, "the end of all goroutines", func() bool { return runtime.NumGoroutine() <= before })
}
