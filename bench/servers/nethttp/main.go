// Command nethttp is the fasthttp server program, written with net/http.
package main

import (
	"errors"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync"

	"github.com/valyala/fasthttp/bench/internal/protocols"
	"github.com/valyala/fasthttp/bench/internal/serving"
)

var body = []byte(serving.Body)

func main() { serving.Main(serve) }

func serve(ln net.Listener, job serving.Job) error {
	s := &http.Server{Handler: handler(job)}
	if job.HTTP2 && !protocols.EnableHTTP2(s) {
		return errors.New("this server has no HTTP/2")
	}
	if job.Streams > 0 && !protocols.AllowStreams(s, job.Streams) {
		return errors.New("this server has no limit of streams")
	}
	if job.TLS() {
		return s.ServeTLS(ln, job.Cert, job.Key)
	}
	return s.Serve(ln)
}

func handler(job serving.Job) http.Handler {
	switch job.Mode {
	case serving.Mixed:
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			job.Slow(r.URL.Path)
			answer(w, r)
		})
	case serving.Forwards, serving.Proxies:
		return forward(job.Backend)
	}
	return http.HandlerFunc(answer)
}

func answer(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", serving.ContentType)
	_, _ = w.Write(body)
}

// forward forwards to the backend with the library's own proxy, configured for speed: it keeps
// connections and reuses buffers.
func forward(backend string) http.Handler {
	target := &url.URL{Scheme: "http", Host: backend}
	return &httputil.ReverseProxy{
		Rewrite:    func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport:  &http.Transport{MaxIdleConnsPerHost: serving.BackendConns, DisableCompression: true},
		BufferPool: new(buffers),
	}
}

// buffers implements httputil.BufferPool.
type buffers struct{ pool sync.Pool }

const bufferSize = 32 << 10

func (b *buffers) Get() []byte {
	if p, ok := b.pool.Get().(*[bufferSize]byte); ok {
		return p[:]
	}
	return new([bufferSize]byte)[:]
}

func (b *buffers) Put(p []byte) { b.pool.Put((*[bufferSize]byte)(p)) }
