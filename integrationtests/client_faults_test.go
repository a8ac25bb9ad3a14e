package integrationtests

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
)

// unreliable is a server that makes all kinds of faults at random, and counts how
// often it gets each request.
type unreliable struct {
	*servertest.Peer
	mu   sync.Mutex
	seen map[string]int
}

func startUnreliable(t *testing.T) *unreliable {
	u := &unreliable{seen: make(map[string]int)}
	u.Peer = servertest.NewPeer(t, func(c *servertest.PeerConn) { u.serve(c.Conn) })
	return u
}

// serve responds to requests until a fault ends the connection.
func (u *unreliable) serve(c net.Conn) {
	r := bufio.NewReader(c)
	for {
		req, err := http.ReadRequest(r)
		if err != nil {
			return
		}
		id := req.URL.Path
		u.mu.Lock()
		u.seen[id]++
		u.mu.Unlock()
		if !u.answer(c, req, id) {
			return
		}
	}
}

// answer responds to one request with a fault, and reports whether the connection stays open.
func (u *unreliable) answer(c net.Conn, req *http.Request, id string) bool {
	say := func(text string) { _, _ = io.WriteString(c, text) }
	good := fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(id), id)
	chunked := fmt.Sprintf("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", len(id), id)
	fault := rand.N(24)
	if fault == 0 {
		// the server has not read the content
		say(strings.Replace(good, "200 OK", "413 Large\r\nConnection: close", 1))
		return false
	}
	if fault == 1 {
		servertest.Reset(c)
		return false
	}
	if _, err := io.Copy(io.Discard, req.Body); err != nil {
		return false
	}
	switch fault {
	case 2:
		return false
	case 3:
		yield(3000)
		servertest.Reset(c)
		return false
	case 4:
		say(good[:rand.N(len(good))])
		return false
	case 5:
		say(chunked[:rand.N(len(chunked))])
		servertest.Reset(c)
		return false
	case 6:
		say("HTTP/1.1 103 Early Hints\r\nX: y\r\n\r\n")
		return false
	case 7:
		_, _ = io.Copy(io.Discard, c) // it sends nothing else
		return false
	case 8:
		say(good[:len(good)-1])
		_, _ = io.Copy(io.Discard, c)
		return false
	case 9:
		say(good)
		return false
	case 10:
		say(good)
		yield(1000)
		return false
	case 11:
		say("nonsense\r\n\r\n")
		return false
	case 12:
		say(strings.Replace(good, "\r\n", "\r\nConnection: close\r\n", 1))
		return false
	case 13:
		for i := range len(chunked) {
			say(chunked[i : i+1])
		}
	case 14, 15:
		say(chunked)
	case 16:
		say(strings.Repeat("HTTP/1.1 102 Processing\r\n\r\n", rand.N(4)) + good)
	default:
		say(good)
	}
	return true
}

// brittle is a body stream that may fail.
type brittle struct{ left int }

var errBrittle = errors.New("the stream broke")

func (b *brittle) Read(p []byte) (int, error) {
	if b.left <= 0 {
		if rand.N(4) == 0 {
			return 0, errBrittle
		}
		return 0, io.EOF
	}
	n := min(len(p), b.left)
	b.left -= n
	return n, nil
}

// faultyCalls makes calls at random.
type faultyCalls struct {
	t     *testing.T
	addr  string
	do    func(ctx context.Context, req *fasthttp.Request, resp *fasthttp.Response) error
	next  atomic.Int64
	good  atomic.Int64
	sends []string // methods of the client
}

// call makes one call. It checks that the call ends in time, and with its own
// response.
func (f *faultyCalls) call(req *fasthttp.Request, resp *fasthttp.Response) {
	id := fmt.Sprintf("/%d", f.next.Add(1))
	method := f.sends[rand.N(len(f.sends))]
	req.Reset()
	resp.Reset()
	req.Header.SetMethod(method)
	if method == fasthttp.MethodPost {
		id = "/post" + id
		f.fill(req)
	}
	req.SetRequestURI("http://" + f.addr + id)
	limit := 30*time.Millisecond + rand.N(100*time.Millisecond)
	ctx, cancel := context.Background(), func() {}
	switch rand.N(4) {
	case 0:
		ctx, cancel = context.WithCancel(ctx)
		time.AfterFunc(rand.N(2*time.Millisecond), cancel)
	case 1:
		limit = rand.N(3 * time.Millisecond)
	}
	req.SetTimeout(limit)
	resp.StreamBody = rand.N(3) == 0
	watchdog := time.AfterFunc(limit+servertest.Patience, func() { panic(fmt.Sprintf("%s hangs, which had %v", id, limit)) })
	defer watchdog.Stop()
	err := f.do(ctx, req, resp)
	var body []byte
	switch {
	case err != nil:
	case !resp.IsBodyStream():
		body = resp.Body()
	case rand.N(3) == 0:
		_, err = resp.BodyStream().Read(make([]byte, 1))
		err = errors.Join(err, resp.CloseBodyStream(), errors.New("not read to its end"))
	default:
		if body, err = io.ReadAll(resp.BodyStream()); err == nil {
			err = resp.CloseBodyStream()
		}
	}
	if err == nil {
		f.good.Add(1)
		if string(body) != id {
			f.t.Errorf("%s got %q", id, body)
		}
	}
	cancel()
}

// fill gives the request random content.
func (f *faultyCalls) fill(req *fasthttp.Request) {
	switch rand.N(4) {
	case 0:
		req.SetBodyString("small")
	case 1:
		req.SetBodyRaw(make([]byte, rand.N(300<<10)))
	case 2:
		req.SetBodyStream(&brittle{rand.N(200 << 10)}, -1)
	case 3:
		size := rand.N(100 << 10)
		req.SetBodyStream(&brittle{size}, size)
	}
}

// Whatever a server does, every call ends in time with its own response or an error.
// No request that must not be repeated is sent twice, and no connection or goroutine
// is left. With FASTHTTP_SOAK set, each client makes 20,000 calls.
func TestClientsWithFaultsOfAllKinds(t *testing.T) {
	servertest.Apart(t, testClientsWithFaultsOfAllKinds)
}

func testClientsWithFaultsOfAllKinds(t *testing.T) {
	hc := &fasthttp.HostClient{MaxConns: 16, ReadTimeout: 500 * time.Millisecond, WriteTimeout: 500 * time.Millisecond}
	pc := &fasthttp.PipelineClient{MaxConns: 8, MaxIdleConnDuration: 50 * time.Millisecond, ReadTimeout: 100 * time.Millisecond, WriteTimeout: 100 * time.Millisecond}
	pc.Logger = servertest.LoggerFunc(func(string, ...any) {})
	for name, tt := range map[string]struct {
		do   func(ctx context.Context, req *fasthttp.Request, resp *fasthttp.Response) error
		addr *string
		rest func() int
	}{
		"HostClient": {hc.DoContext, &hc.Addr, func() int {
			busy := hc.ConnsCount() - hc.IdleConnsCount() + hc.PendingRequests()
			hc.CloseIdleConnections()
			return busy + hc.ConnsCount()
		}},
		"PipelineClient": {pc.DoContext, &pc.Addr, pc.PendingRequests},
	} {
		t.Run(name, func(t *testing.T) {
			before := runtime.NumGoroutine()
			u := startUnreliable(t)
			*tt.addr = u.Addr()
			calls := &faultyCalls{t: t, addr: *tt.addr, do: tt.do, sends: []string{fasthttp.MethodGet, fasthttp.MethodPost, fasthttp.MethodPost}}
			const callers = 32
			var running sync.WaitGroup
			for range callers {
				running.Go(func() {
					req, resp := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
					defer fasthttp.ReleaseRequest(req)
					defer fasthttp.ReleaseResponse(resp)
					for calls.next.Load() < int64(servertest.Times(20_000)) {
						calls.call(req, resp)
					}
				})
			}
			running.Wait()
			servertest.Eventually(t, "the end of all connections", func() bool { return tt.rest() == 0 })
			u.Stop()
			for id, n := range u.seen {
				if n > 1 && strings.HasPrefix(id, "/post") {
					t.Errorf("%s was seen %d times", id, n)
				}
			}
			if calls.good.Load() == 0 {
				t.Error("no call succeeded")
			}
			servertest.Eventually(t, "the end of all goroutines", func() bool { return runtime.NumGoroutine() <= before })
		})
	}
}
