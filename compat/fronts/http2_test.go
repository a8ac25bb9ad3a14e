package fronts

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/compat/internal/process"
	"github.com/valyala/fasthttp/compat/internal/protocols"
	"github.com/valyala/fasthttp/compat/internal/serving"
)

// upgrading returns haproxy with connections to the server that speak HTTP/2. With
// clients it speaks HTTP/1, or HTTP/2 if both is set.
func upgrading(secure, both bool) *front {
	f := haproxy("haproxy", "")
	server, bind := "server sent 127.0.0.1:OUT proto h2", "bind 127.0.0.1:IN"
	if secure {
		f.name += ", TLS"
		server = "server sent 127.0.0.1:OUT ssl verify none alpn h2"
	}
	if both {
		bind += " proto h2"
	}
	f.config = strings.NewReplacer("server sent 127.0.0.1:OUT", server, "bind 127.0.0.1:IN", bind).Replace(f.config)
	return &f
}

// eachHTTP2Pair runs a test with haproxy before a server that speaks HTTP/2 with it.
func eachHTTP2Pair(t *testing.T, both bool, test func(t *testing.T, s *service, in string)) {
	skipOriginal(t)
	for _, secure := range []bool{false, true} {
		f := upgrading(secure, both)
		for _, how := range setups {
			t.Run(f.name+"/"+how.name, func(t *testing.T) {
				t.Parallel()
				s := &service{conns: make(map[string][]string)}
				server := &fasthttp.Server{StreamRequestBody: how.stream, Logger: logger{t}, Handler: func(ctx *fasthttp.RequestCtx) {
					if got := string(ctx.Request.Header.Protocol()); got != "HTTP/2.0" {
						t.Errorf("haproxy speaks %s", got)
					}
					s.serve(ctx)
				}}
				protocols.AddHTTP2(server)
				out, shutDown := serving.Start(t, server, serving.Options{Portable: how.portable, Secure: secure})
				in, stop := f.start(t, out)
				test(t, s, in)
				log := stop()
				shutDown()
				s.checkLog(t, log)
			})
		}
	}
}

// TestHaproxySpeaksHTTP2ToServers has HTTP/1 clients.
func TestHaproxySpeaksHTTP2ToServers(t *testing.T) {
	eachHTTP2Pair(t, false, func(t *testing.T, s *service, in string) {
		askSound(t, s, func() *client { return dial(t, in) })
	})
}

// TestHaproxySpeaksHTTP2OnBothSides has a net/http client that speaks only HTTP/2, and
// trailers in both directions.
func TestHaproxySpeaksHTTP2OnBothSides(t *testing.T) {
	eachHTTP2Pair(t, true, func(t *testing.T, _ *service, in string) {
		var p http.Protocols
		p.SetUnencryptedHTTP2(true)
		tr := &http.Transport{Protocols: &p}
		defer tr.CloseIdleConnections()
		c := &http.Client{Transport: tr, Timeout: process.Patience}
		var all sync.WaitGroup
		for i := range 50 {
			all.Go(func() {
				target := fmt.Sprintf("/trailers?n=%d", i*100)
				req, err := http.NewRequest("POST", "http://"+in+target, io.MultiReader(strings.NewReader("hello")))
				if err != nil {
					t.Error(err)
					return
				}
				req.Trailer = http.Header{"X-Sum": {"5"}}
				req.Header.Set("TE", "trailers")
				resp, err := c.Do(req)
				if err != nil {
					t.Error(err)
					return
				}
				defer resp.Body.Close()
				body, err := io.ReadAll(resp.Body)
				if resp.ProtoMajor != 2 || resp.StatusCode != 200 || len(body) != i*100 || err != nil {
					t.Errorf("%s: got %s %s with %d bytes, %v", target, resp.Proto, resp.Status, len(body), err)
				}
				if got := resp.Trailer.Get("X-End"); got != "yes" || resp.Header.Get("X-Target") != target {
					t.Errorf("%s: the trailers are %v, the header is %v", target, resp.Trailer, resp.Header)
				}
				if got := strings.Join(resp.Header["X-Trailers"], " "); !strings.Contains(got, "X-Sum=5") {
					t.Errorf("%s: the server got the trailers %q", target, got)
				}
			})
		}
		all.Wait()
	})
}
