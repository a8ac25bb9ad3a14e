package bench

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/bench/internal/await"
	"github.com/valyala/fasthttp/bench/internal/fakeh2"
	"github.com/valyala/fasthttp/bench/internal/protocols"
	"github.com/valyala/fasthttp/fasthttputil"
)

// wires is the kind of connection between client and server.
type wires int

const (
	inMemory wires = iota
	overTCP
)

// String returns the kind as names of rows have it.
func (w wires) String() string { return [...]string{"Memory", "TCP"}[w] }

// dialing connects to the server of a row.
type dialing = func(string) (net.Conn, error)

type message = fakeh2.Message

// answering returns a way to connect to servers that find the ends of requests and repeat one
// response.
func answering(b testing.TB, w wires) dialing {
	b.Helper()
	if w == inMemory {
		return dialAnswering
	}
	return serveTCP(b, func(nc net.Conn) {
		buf, n := make([]byte, 4096), 0
		for {
			k, err := nc.Read(buf[n:])
			if err != nil {
				return
			}
			if n += k; requestEnd(buf[:n]) {
				n = 0
				if _, err := nc.Write(clientAnswerBytes); err != nil {
					return
				}
			}
		}
	})
}

// mostConnections is the largest number of connections of a row: each takes two descriptors,
// and many systems allow a process 20,000 or fewer.
const mostConnections = 4000

// serving starts a real server, and returns a way to connect to it.
func serving(b *testing.B, w wires, serve serve) dialing {
	b.Helper()
	var ln net.Listener
	var dial dialing
	if w == inMemory {
		memory := fasthttputil.NewInmemoryListener()
		ln, dial = memory, func(string) (net.Conn, error) { return memory.Dial() }
	} else {
		var err error
		if ln, err = net.Listen("tcp4", "127.0.0.1:0"); err != nil {
			b.Fatal(err)
		}
		dial = func(string) (net.Conn, error) { return net.Dial("tcp4", ln.Addr().String()) }
	}
	served := make(chan error, 1) // the error after the listener is closed does not matter
	go func() { served <- serve(ln) }()
	b.Cleanup(func() {
		_ = ln.Close()
		await.Receive(b, "the end of Serve", served)
	})
	return dial
}

func answerItem(ctx *fasthttp.RequestCtx) {
	if string(ctx.Path()) != "/item" {
		ctx.Error("not found", fasthttp.StatusNotFound)
		return
	}
	ctx.SetContentType(contentType)
	ctx.SetBodyString(answer)
}

func serveNetHTTPItem(ln net.Listener) error {
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/item" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", contentType)
		_, _ = io.WriteString(w, answer)
	})}
	defer s.Close()
	return s.Serve(ln)
}

// calling describes the calls of a row of clients.
type calling struct {
	kind     callKind
	varied   bool // no two calls in a row are alike
	http2    bool
	parallel int
	conns    int // 0 for a connection for each caller; callers beyond that wait
	dial     func(b *testing.B) dialing
	// dialNetHTTP is for rows whose server is net/http's if the client is.
	dialNetHTTP func(b *testing.B) dialing
}

// rows returns the row of this fasthttp and, where there is one, of net/http.
func (r calling) rows(name string) []row {
	all := []row{{name, r.ours}}
	if r.kind != getTimeoutCall {
		all = append(all, row{netHTTP + name, r.netHTTP})
	}
	return all
}

// most returns how many connections HTTP/1 may have.
func (r calling) most() int {
	switch {
	case r.http2:
		return 0
	case r.conns > 0:
		return r.conns
	}
	return r.parallel
}

// ours measures calls of one Client. The published fasthttp has no HTTP/2.
func (r calling) ours(b *testing.B) {
	client := &fasthttp.Client{Dial: r.dial(b), MaxConnsPerHost: r.most()}
	if r.conns > 0 {
		client.MaxConnWaitTimeout = 10 * time.Minute
	}
	if r.http2 && !protocols.OnlyHTTP2(client) {
		b.Skip("this fasthttp has no HTTP/2")
	}
	defer client.CloseIdleConnections()
	r.call(b, client)
}

// pipelined measures calls of one PipelineClient with one connection.
func (r calling) pipelined(b *testing.B) {
	r.call(b, &fasthttp.PipelineClient{
		Addr: "shop.example.com:80", Dial: r.dial(b),
		MaxPendingRequests: r.parallel, MaxIdleConnDuration: 50 * time.Millisecond,
	})
}

// doer is a client.
type doer interface {
	Do(*fasthttp.Request, *fasthttp.Response) error
	DoTimeout(*fasthttp.Request, *fasthttp.Response, time.Duration) error
}

func (r calling) call(b *testing.B, client doer) {
	b.Helper()
	var started atomic.Int64
	callers(b, r.parallel, func() (func() error, func()) {
		req, resp := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
		next := inTurn(&started)
		if r.kind == postCall {
			req.Header.SetMethod(fasthttp.MethodPost)
			req.Header.SetContentType(r.contentType())
			req.SetBodyString(postBody)
		}
		call := func() (err error) {
			url := clientURL
			if r.varied {
				c := next()
				url = c.URL
				req.Header.Set("X-Request-Id", c.ID)
				if r.kind == postCall {
					req.SetBody(c.Body)
				}
			}
			req.SetRequestURI(url)
			if r.kind == getTimeoutCall {
				err = client.DoTimeout(req, resp, time.Minute)
			} else {
				err = client.Do(req, resp)
			}
			if err == nil && !r.isAnswer(resp.StatusCode(), resp.Header.ContentLength(), resp.Body()) {
				err = errWrongAnswer
			}
			return err
		}
		return call, func() {
			fasthttp.ReleaseRequest(req)
			fasthttp.ReleaseResponse(resp)
		}
	})
}

func (r calling) contentType() string {
	if r.varied || r.http2 {
		return "application/json"
	}
	return "application/x-www-form-urlencoded"
}

func (r calling) isAnswer(status, length int, body []byte) bool {
	if r.varied {
		return wholeAnswer(status, length, body)
	}
	return status == 200 && bytes.Equal(body, answerBytes)
}

// netHTTP measures calls of one client of net/http.
func (r calling) netHTTP(b *testing.B) {
	dial := r.dial
	if r.dialNetHTTP != nil {
		dial = r.dialNetHTTP
	}
	connect := dial(b)
	transport := &http.Transport{
		DialContext:         func(_ context.Context, _, addr string) (net.Conn, error) { return connect(addr) },
		MaxIdleConnsPerHost: r.most(),
		MaxConnsPerHost:     r.most(),
		DisableCompression:  true,
	}
	if r.http2 {
		protocols.OnlyHTTP2(transport)
	}
	client := &http.Client{Transport: transport}
	defer client.CloseIdleConnections()
	var started atomic.Int64
	callers(b, r.parallel, func() (func() error, func()) {
		next := inTurn(&started)
		call := func() error {
			url, id, content := clientURL, "", postBodyBytes
			if r.varied {
				c := next()
				url, id, content = c.URL, c.ID, c.Body
			}
			method, body := http.MethodGet, io.Reader(nil)
			if r.kind == postCall {
				method, body = http.MethodPost, bytes.NewReader(content)
			}
			req, err := http.NewRequest(method, url, body)
			if err != nil {
				return err
			}
			if id != "" {
				req.Header.Set("X-Request-Id", id)
			}
			if r.kind == postCall {
				req.Header.Set("Content-Type", r.contentType())
			}
			resp, err := client.Do(req)
			if err != nil {
				return err
			}
			defer resp.Body.Close()
			got, err := io.ReadAll(resp.Body)
			if err == nil && !r.isAnswer(resp.StatusCode, int(resp.ContentLength), got) {
				err = errWrongAnswer
			}
			return err
		}
		return call, func() {}
	})
}
