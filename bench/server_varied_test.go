package bench

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"testing"

	"github.com/valyala/fasthttp"

	"github.com/valyala/fasthttp/bench/internal/fakenet"
	"github.com/valyala/fasthttp/bench/internal/traffic"
)

var (
	visitors = traffic.Visitors()
	proxied  = traffic.Proxied()
	posts    = traffic.Posts()

	getTexts     = [][]byte{getRequest}
	browserTexts = [][]byte{browserRequest()}
)

// browserRequest is the longest request below 800 bytes. Only browsers send requests
// of this length.
func browserRequest() (request []byte) {
	for _, text := range visitors {
		if len(text) > len(request) && len(text) < 800 {
			request = text
		}
	}
	return request
}

// variedClients is the number of clients in all rows but those with ten thousand.
const variedClients = 64

// benchVaried measures serve with clients that never pause and send texts in turn, as
// fast as the server reads.
func benchVaried(b *testing.B, serve func(net.Listener) error, texts [][]byte) {
	drive(b, serve, fakenet.Config{Texts: texts, PerConn: 10_000, Clients: variedClients})
}

// benchOnePerRead is benchVaried with clients that wait for each response before they
// send the next request.
func benchOnePerRead(b *testing.B, serve func(net.Listener) error, texts [][]byte) {
	drive(b, serve, fakenet.Config{Texts: texts, OnePerRead: true, PerConn: 10_000, Clients: variedClients})
}

// benchVariedCrowd is benchCrowd with many texts, and benchOnePerReadCrowd is the same with
// one request for each read.
func benchVariedCrowd(b *testing.B, serve func(net.Listener) error, texts [][]byte) {
	drive(b, serve, variedCrowd(texts, false))
}

func benchOnePerReadCrowd(b *testing.B, serve func(net.Listener) error, texts [][]byte) {
	drive(b, serve, variedCrowd(texts, true))
}

func variedCrowd(texts [][]byte, onePerRead bool) fakenet.Config {
	return fakenet.Config{
		Texts:      texts,
		OnePerRead: onePerRead,
		PerConn:    100,
		Batch:      manyBatch,
		Clients:    manyClients,
		Turns:      fewClients(),
		WarmUp:     true,
	}
}

func serveVariedPost(ln net.Listener) error {
	s := &fasthttp.Server{Handler: answerVariedPost}
	return s.Serve(ln)
}

func answerVariedPost(ctx *fasthttp.RequestCtx) {
	if !ctx.IsPost() || len(ctx.PostBody()) != ctx.Request.Header.ContentLength() {
		ctx.Error("not the POST that was sent", fasthttp.StatusBadRequest)
		return
	}
	ctx.Success(contentType, answerBytes)
}

func serveNetHTTPVariedPost(ln net.Listener) error {
	s := &http.Server{Handler: http.HandlerFunc(answerNetHTTPVariedPost)}
	return s.Serve(ln)
}

func answerNetHTTPVariedPost(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil || r.Method != http.MethodPost || int64(len(body)) != r.ContentLength {
		http.Error(w, "not the POST that was sent", http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", contentType)
	_, _ = w.Write(answerBytes)
}

func BenchmarkServerGetVaried10KReqPerConn(b *testing.B)  { benchVaried(b, serveGet, visitors) }
func BenchmarkServerGetProxied10KReqPerConn(b *testing.B) { benchVaried(b, serveGet, proxied) }
func BenchmarkServerPostVaried10KReqPerConn(b *testing.B) { benchVaried(b, serveVariedPost, posts) }
func BenchmarkServerGetVariedOnePerRead(b *testing.B)     { benchOnePerRead(b, serveGet, visitors) }
func BenchmarkServerGetProxiedOnePerRead(b *testing.B)    { benchOnePerRead(b, serveGet, proxied) }
func BenchmarkServerPostVariedOnePerRead(b *testing.B)    { benchOnePerRead(b, serveVariedPost, posts) }
func BenchmarkServerGetVaried100ReqPerConn10KClients(b *testing.B) {
	benchVariedCrowd(b, serveGet, visitors)
}

func BenchmarkServerGetProxied100ReqPerConn10KClients(b *testing.B) {
	benchVariedCrowd(b, serveGet, proxied)
}

func BenchmarkServerPostVaried100ReqPerConn10KClients(b *testing.B) {
	benchVariedCrowd(b, serveVariedPost, posts)
}

func BenchmarkServerGetVariedOnePerRead10KClients(b *testing.B) {
	benchOnePerReadCrowd(b, serveGet, visitors)
}

func BenchmarkServerGetProxiedOnePerRead10KClients(b *testing.B) {
	benchOnePerReadCrowd(b, serveGet, proxied)
}

func BenchmarkServerPostVariedOnePerRead10KClients(b *testing.B) {
	benchOnePerReadCrowd(b, serveVariedPost, posts)
}

func BenchmarkServerGetOnePerRead(b *testing.B)        { benchOnePerRead(b, serveGet, getTexts) }
func BenchmarkServerGetBrowserOnePerRead(b *testing.B) { benchOnePerRead(b, serveGet, browserTexts) }

func BenchmarkNetHTTPServerGetVaried10KReqPerConn(b *testing.B) {
	benchVaried(b, serveNetHTTPGet, visitors)
}

func BenchmarkNetHTTPServerGetProxied10KReqPerConn(b *testing.B) {
	benchVaried(b, serveNetHTTPGet, proxied)
}

func BenchmarkNetHTTPServerPostVaried10KReqPerConn(b *testing.B) {
	benchVaried(b, serveNetHTTPVariedPost, posts)
}

func BenchmarkNetHTTPServerGetVariedOnePerRead(b *testing.B) {
	benchOnePerRead(b, serveNetHTTPGet, visitors)
}

func BenchmarkNetHTTPServerGetProxiedOnePerRead(b *testing.B) {
	benchOnePerRead(b, serveNetHTTPGet, proxied)
}

func BenchmarkNetHTTPServerPostVariedOnePerRead(b *testing.B) {
	benchOnePerRead(b, serveNetHTTPVariedPost, posts)
}

func BenchmarkNetHTTPServerGetVaried100ReqPerConn10KClients(b *testing.B) {
	benchVariedCrowd(b, serveNetHTTPGet, visitors)
}

func BenchmarkNetHTTPServerGetProxied100ReqPerConn10KClients(b *testing.B) {
	benchVariedCrowd(b, serveNetHTTPGet, proxied)
}

func BenchmarkNetHTTPServerPostVaried100ReqPerConn10KClients(b *testing.B) {
	benchVariedCrowd(b, serveNetHTTPVariedPost, posts)
}

func BenchmarkNetHTTPServerGetVariedOnePerRead10KClients(b *testing.B) {
	benchOnePerReadCrowd(b, serveNetHTTPGet, visitors)
}

func BenchmarkNetHTTPServerGetProxiedOnePerRead10KClients(b *testing.B) {
	benchOnePerReadCrowd(b, serveNetHTTPGet, proxied)
}

func BenchmarkNetHTTPServerPostVariedOnePerRead10KClients(b *testing.B) {
	benchOnePerReadCrowd(b, serveNetHTTPVariedPost, posts)
}

func BenchmarkNetHTTPServerGetOnePerRead(b *testing.B) {
	benchOnePerRead(b, serveNetHTTPGet, getTexts)
}

func BenchmarkNetHTTPServerGetBrowserOnePerRead(b *testing.B) {
	benchOnePerRead(b, serveNetHTTPGet, browserTexts)
}

// BenchmarkHarnessGetVariedOnePerRead runs a server that responds once to each read,
// which is enough for clients that wait for the response.
func BenchmarkHarnessGetVariedOnePerRead(b *testing.B) { benchOnePerRead(b, serveReads, visitors) }

func BenchmarkHarnessGetVariedOnePerRead10KClients(b *testing.B) {
	benchOnePerReadCrowd(b, serveReads, visitors)
}

func serveReads(ln net.Listener) error {
	one := bareAnswers[:len(bareAnswer)]
	for {
		c, err := ln.Accept()
		if err != nil {
			return nil
		}
		go func() {
			defer c.Close()
			buf := make([]byte, bareBuffer)
			for {
				if _, err := c.Read(buf); err != nil {
					return
				}
				if _, err := c.Write(one); err != nil {
					return
				}
			}
		}()
	}
}

func TestBrowserRequestIsOfABrowser(t *testing.T) {
	request := browserTexts[0]
	if len(request) < 700 || !bytes.Contains(request, []byte("User-Agent: Mozilla/")) || !bytes.Contains(request, []byte("Cookie: ")) {
		t.Errorf("%d bytes: %s", len(request), request)
	}
}
