package fasthttpadaptor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/fasthttputil"
)

// A handler of net/http sees the version, and that there is nothing to hijack: it can still
// respond.
func TestNetHTTPHandlersOverHTTP2(t *testing.T) {
	ln := fasthttputil.NewInmemoryListener()
	s := &fasthttp.Server{Handler: NewFastHTTPHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _, err := http.NewResponseController(w).Hijack()
		w.Header().Set("Connection", "close-it")
		w.WriteHeader(http.StatusTeapot)
		fmt.Fprintf(w, "%s %d.%d %s %v", r.Proto, r.ProtoMajor, r.ProtoMinor, r.Host, errors.Is(err, http.ErrNotSupported))
	}))}
	s.Protocols.SetUnencryptedHTTP2(true)
	served := make(chan error, 1)
	go func() { served <- s.Serve(ln) }()
	tr := &http.Transport{Protocols: new(http.Protocols), DialContext: func(context.Context, string, string) (net.Conn, error) { return ln.Dial() }}
	tr.Protocols.SetUnencryptedHTTP2(true)
	resp, err := (&http.Client{Transport: tr}).Get("http://a.example/")
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if want := "HTTP/2.0 2.0 a.example true"; string(body) != want || err != nil || resp.StatusCode != http.StatusTeapot {
		t.Errorf("got %d %q, %v, want %q", resp.StatusCode, body, err, want)
	}
	tr.CloseIdleConnections()
	if err := errors.Join(s.Shutdown(), <-served); err != nil {
		t.Error(err)
	}
}
