package bench

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/valyala/fasthttp/bench/internal/cputime"
	"github.com/valyala/fasthttp/bench/internal/fakenet"
)

const (
	contentType = "text/plain"
	answer      = "Hello, World!"
	postBody    = "name=Ada+Lovelace&year=1843"

	browserHead = "Host: shop.example.com\r\n" +
		"User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0\r\n" +
		"Referer: https://shop.example.com/\r\n" +
		"Cookie: session=5f2b9c1d7a3e; lang=en; theme=dark\r\n"
)

var (
	getRequest  = []byte("GET /item?id=1729 HTTP/1.1\r\n" + browserHead + "\r\n")
	postRequest = []byte("POST /order HTTP/1.1\r\n" + browserHead +
		"Content-Type: application/x-www-form-urlencoded\r\n" +
		"Content-Length: " + strconv.Itoa(len(postBody)) + "\r\n\r\n" + postBody)

	answerBytes   = []byte(answer)
	postBodyBytes = []byte(postBody)
)

const (
	manyClients = 10_000
	// manyBatch is the number of requests that a client among many sends in a turn. Waking the
	// goroutine of a connection costs the harness about as much as a request costs a fast
	// server, so some requests share that cost.
	manyBatch = 10
)

// fewClients is the number of clients that keep all processors busy.
func fewClients() int { return 2 * runtime.GOMAXPROCS(0) }

func drive(b *testing.B, serve func(net.Listener) error, cfg fakenet.Config) {
	b.Helper()
	cfg.ContentType, cfg.Body, cfg.Requests = contentType, answer, b.N
	ln, err := fakenet.New(cfg)
	if err != nil {
		b.Fatal(err)
	}
	driveClients(b, ln, serve)
}

// clients are a listener of fakenet or of fakeh2.
type clients interface {
	Drive(serve func(net.Listener) error, start, stop func()) error
}

func driveClients(b *testing.B, ln clients, serve func(net.Listener) error) {
	b.Helper()
	b.ReportAllocs()
	var begin, used time.Duration
	start := func() {
		begin = cputime.Used()
		b.ResetTimer()
	}
	stop := func() {
		b.StopTimer()
		used = cputime.Used() - begin
	}
	if err := ln.Drive(serve, start, stop); err != nil {
		b.Fatal(err)
	}
	reportCPU(b, used)
}

// reportCPU adds the processor time of all operations to the figures of the
// benchmark, if the system reports it.
func reportCPU(b *testing.B, used time.Duration) {
	if used > 0 {
		b.ReportMetric(float64(used)/float64(b.N), "cpu-ns/op")
	}
}

// with and withNetHTTP return servers with a handler.
func with(h fasthttp.RequestHandler) serve {
	return func(ln net.Listener) error {
		s := &fasthttp.Server{Handler: h}
		return s.Serve(ln)
	}
}

func withNetHTTP(h http.HandlerFunc) serve {
	return func(ln net.Listener) error {
		s := &http.Server{Handler: h}
		return s.Serve(ln)
	}
}

func answerGet(ctx *fasthttp.RequestCtx) {
	if !ctx.IsGet() {
		ctx.Error("not a GET", fasthttp.StatusMethodNotAllowed)
		return
	}
	ctx.Success(contentType, answerBytes)
}

func answerPost(ctx *fasthttp.RequestCtx) {
	if !ctx.IsPost() || !bytes.Equal(ctx.PostBody(), postBodyBytes) {
		ctx.Error("not the POST that was sent", fasthttp.StatusBadRequest)
		return
	}
	ctx.Success(contentType, answerBytes)
}

func answerNetHTTPGet(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet {
		http.Error(w, "not a GET", http.StatusMethodNotAllowed)
		return
	}
	w.Header().Set("Content-Type", contentType)
	_, _ = w.Write(answerBytes)
}

func answerNetHTTPPost(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil || r.Method != http.MethodPost || !bytes.Equal(body, postBodyBytes) {
		http.Error(w, "not the POST that was sent", http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", contentType)
	_, _ = w.Write(answerBytes)
}

const (
	bareBuffer = 4096
	bareAnswer = "HTTP/1.1 200 OK\r\nServer: bare\r\nDate: Tue, 15 Nov 1994 08:12:31 GMT\r\n" +
		"Content-Type: text/plain\r\nContent-Length: 13\r\n\r\n" + answer
)

// bareAnswers are the responses to as many requests as can end in one buffer.
var bareAnswers = bytes.Repeat([]byte(bareAnswer), bareBuffer/len(getRequest)+1)

// serveBare serves each connection on a separate goroutine. It trusts that every request has
// the length of getRequest.
func serveBare(ln net.Listener) error {
	workers := make(chan net.Conn)
	for {
		c, err := ln.Accept()
		if err != nil {
			close(workers)
			return nil
		}
		select {
		case workers <- c:
		default:
			go bareWorker(c, workers)
		}
	}
}

func bareWorker(c net.Conn, next <-chan net.Conn) {
	buf := make([]byte, bareBuffer)
	for ok := true; ok; c, ok = <-next {
		pending := 0
		for {
			n, err := c.Read(buf)
			if err != nil {
				break
			}
			pending += n
			answers := pending / len(getRequest)
			pending %= len(getRequest)
			if answers > 0 {
				if _, err := c.Write(bareAnswers[:answers*len(bareAnswer)]); err != nil {
					break
				}
			}
		}
		_ = c.Close()
	}
}

// TestServersAnswerTheHarness runs every kind of row once, with few requests, to
// detect a wrong response without a benchmark.
func TestServersAnswerTheHarness(t *testing.T) {
	servers := []struct {
		name  string
		serve func(net.Listener) error
		texts [][]byte
	}{
		{"fasthttp GET", with(answerGet), [][]byte{getRequest}},
		{"fasthttp POST", with(answerPost), [][]byte{postRequest}},
		{"fasthttp visitors", with(answerGet), visitors()},
		{"fasthttp proxied", with(answerGet), proxied()},
		{"fasthttp posts", with(answerVariedPost), posts()},
		{"net/http GET", withNetHTTP(answerNetHTTPGet), [][]byte{getRequest}},
		{"net/http POST", withNetHTTP(answerNetHTTPPost), [][]byte{postRequest}},
		{"net/http visitors", withNetHTTP(answerNetHTTPGet), visitors()},
		{"net/http proxied", withNetHTTP(answerNetHTTPGet), proxied()},
		{"net/http posts", withNetHTTP(answerNetHTTPVariedPost), posts()},
		{"bare", serveBare, [][]byte{getRequest}},
	}
	shapes := []struct {
		name string
		cfg  fakenet.Config
	}{
		{"one client", fakenet.Config{Requests: 50, PerConn: 1, Clients: 1}},
		{"a request each", fakenet.Config{Requests: 300, PerConn: 1, Clients: 4}},
		{"a full buffer", fakenet.Config{Requests: 1000, PerConn: 400, Clients: 3}},
		{"crowd, one turn a connection", fakenet.Config{Requests: 500, PerConn: 2, Clients: 50, Turns: 3}},
		{"crowd, more turns", fakenet.Config{Requests: 3000, PerConn: 25, Batch: 4, Clients: 50, Turns: 4}},
		{"crowd, warmed up", fakenet.Config{Requests: 3000, PerConn: 1, Clients: 50, Turns: 4, WarmUp: true}},
		{"a request a read", fakenet.Config{Requests: 3000, PerConn: 400, Clients: 5, OnePerRead: true}},
		{"crowd, a request a read", fakenet.Config{Requests: 3000, PerConn: 25, Batch: 4, Clients: 50, Turns: 4, WarmUp: true, OnePerRead: true}},
		{"fewer requests than clients", fakenet.Config{Requests: 3, PerConn: 2, Clients: 50, Turns: 4}},
	}
	for _, server := range servers {
		for _, shape := range shapes {
			t.Run(server.name+"/"+shape.name, func(t *testing.T) {
				cfg := shape.cfg
				cfg.Texts, cfg.ContentType, cfg.Body = server.texts, contentType, answer
				ln, err := fakenet.New(cfg)
				if err != nil {
					t.Fatal(err)
				}
				nothing := func() {}
				if err := ln.Drive(server.serve, nothing, nothing); err != nil {
					t.Error(err)
				}
			})
		}
	}
}
