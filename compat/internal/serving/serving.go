// Package serving runs servers for tests, which may be built with v1.77.0, too.
package serving

import (
	"context"
	"errors"
	"net"
	"reflect"
	"sync"
	"testing"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/compat/internal/process"
)

// IsOriginal reports whether the test is built with v1.77.0, which has no engines.
func IsOriginal() bool {
	_, ours := reflect.TypeFor[fasthttp.Server]().FieldByName("Engine")
	return !ours
}

// SkipOriginal skips a test that v1.77.0 is known to fail.
func SkipOriginal(t *testing.T, why string) {
	t.Helper()
	if IsOriginal() {
		t.Skip(why)
	}
}

// A Logger fails the test if the server logs a line.
type Logger struct{ T testing.TB }

// Printf implements fasthttp.Logger.
func (l Logger) Printf(format string, args ...any) { l.T.Errorf("the server logs: "+format, args...) }

// Certificate returns a certificate for 127.0.0.1.
var Certificate = sync.OnceValues(func() (cert, key []byte) {
	cert, key, err := fasthttp.GenerateTestCertificate("127.0.0.1")
	if err != nil {
		panic(err)
	}
	return cert, key
})

// Options are the differences between ways to serve.
type Options struct {
	// Portable hides that the listener is one of TCP, so that the server has a goroutine for
	// each connection.
	Portable bool
	// Secure makes the server speak TLS, with Certificate.
	Secure bool
}

// Start starts a server, and returns its address. stop shuts it down, and checks that it ends as
// it should. The end of the test calls stop, too.
func Start(t *testing.T, s *fasthttp.Server, o Options) (addr string, stop func()) {
	t.Helper()
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr = ln.Addr().String()
	if o.Portable {
		ln = struct{ net.Listener }{ln}
	}
	served := make(chan error, 1)
	go func() {
		if o.Secure {
			cert, key := Certificate()
			served <- s.ServeTLSEmbed(ln, cert, key)
		} else {
			served <- s.Serve(ln)
		}
	}()
	stop = sync.OnceFunc(func() {
		ctx, cancel := context.WithTimeout(context.Background(), process.Patience)
		defer cancel()
		if err := s.ShutdownWithContext(ctx); err != nil {
			t.Errorf("Shutdown: %v", err)
		}
		// a skipped test may end before Serve has begun
		_ = ln.Close()
		if err := <-served; err != nil && !(t.Skipped() && errors.Is(err, net.ErrClosed)) {
			t.Errorf("Serve: %v", err)
		}
	})
	t.Cleanup(stop)
	return addr, stop
}
