//go:build !windows

package prefork

import (
	"net"
	"net/http"
	"os"
	"runtime"
	"syscall"
	"testing"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
)

// TestSignalForAChildThatDoesNotServeYet sends SIGTERM while the child still prepares, for example
// reads its certificate: the child ends, and does not begin to serve.
func TestSignalForAChildThatDoesNotServeYet(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	s := &fasthttp.Server{Handler: func(*fasthttp.RequestCtx) {}}
	listen := func() net.Listener {
		ln, err := net.Listen("tcp4", "127.0.0.1:0")
		servertest.Must(t, err)
		return ln
	}
	served := make(chan error, 1)
	first := listen()
	go func() { served <- s.Serve(first) }()
	answers := func(ln net.Listener) bool {
		resp, err := http.Get("http://" + ln.Addr().String())
		if err == nil {
			_ = resp.Body.Close()
		}
		return err == nil
	}
	servertest.Eventually(t, "the server", func() bool { return answers(first) })
	p := New(s)
	p.Reuseport = true
	prepared, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- p.serveChild("127.0.0.1:0", func(ln net.Listener) error {
			_ = syscall.Kill(os.Getpid(), syscall.SIGTERM)
			<-prepared
			return s.Serve(ln)
		})
	}()
	// the server can serve again once the child has shut it down
	servertest.Must(t, servertest.Receive(t, "the end of the first listener", served))
	servertest.Eventually(t, "the end of the shutdown", func() bool {
		ln := listen()
		defer ln.Close()
		go func() { _ = s.Serve(ln) }()
		return answers(ln)
	})
	close(prepared)
	servertest.Must(t, servertest.Receive(t, "the end of the child", ended))
}
