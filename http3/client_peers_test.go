package http3

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	peer "github.com/quic-go/quic-go/http3"

	"github.com/valyala/fasthttp"
	bridge "github.com/valyala/fasthttp/internal/http3"
	"github.com/valyala/fasthttp/internal/servertest"
)

// The server of quic-go/http3 has handlers of net/http.
func TestClientOfTheServerOfQUICGo(t *testing.T) {
	s := &peer.Server{QUICConfig: patient(), TLSConfig: peer.ConfigureTLSConfig(&tls.Config{Certificates: []tls.Certificate{certificate()}}), Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		w.Header().Set("Trailer", "X-After")
		w.Header().Set("X-Seen", r.Method+" "+r.URL.Path+" "+r.Header.Get("X-Same"))
		w.WriteHeader(http.StatusEarlyHints)
		w.Write(b)
		w.Header().Set("X-After", r.Trailer.Get("X-Sum"))
	})}
	pc, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(pc) }()
	defer func() {
		_ = s.Close()
		servertest.Receive(t, "the end of Serve", served)
		_ = pc.Close()
	}()
	c, transport := newClient(t)
	for i, size := range []int{0, 1, 1000, 3 << 20} {
		body := strings.Repeat("x", size)
		resp, err := call(t, c, "https://"+pc.LocalAddr().String()+"/path", func(req *fasthttp.Request, _ *fasthttp.Response) {
			req.Header.SetMethod("POST")
			req.Header.Set("X-Same", "a value")
			req.Header.SetTrailer("X-Sum")
			req.Header.Set("X-Sum", "17")
			req.SetBodyStream(strings.NewReader(body), -1)
		})
		if err != nil {
			t.Fatal(err)
		}
		if got := string(resp.Header.Peek("X-Seen")); got != "POST /path a value" || string(resp.Body()) != body || string(resp.Header.PeekTrailer("X-After")) != "17" {
			t.Errorf("request %d: %q, %d bytes, %q", i, got, len(resp.Body()), resp.Header.PeekTrailer("X-After"))
		}
	}
	awaitRequests(t, transport, 0)
	down := make(chan error, 1)
	go func() { down <- s.Shutdown(context.Background()) }()
	if err := servertest.Receive(t, "the end of Shutdown", down); err != nil {
		t.Error(err)
	}
}

// The server of aioquic, of Python, has a dynamic table.
func TestClientOfTheServerOfAioquic(t *testing.T) {
	python := pythonWith(t, "aioquic")
	cert, key, err := fasthttp.GenerateTestCertificate("localhost")
	if err != nil {
		t.Fatal(err)
	}
	names := []string{filepath.Join(t.TempDir(), "cert.pem"), filepath.Join(t.TempDir(), "key.pem")}
	for i, text := range [][]byte{cert, key} {
		if err := os.WriteFile(names[i], text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	within, cancel := context.WithTimeout(context.Background(), wait)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(within, python, "testdata/aioquic_server.py", names[0], names[1])
	cmd.Stderr = os.Stderr
	url := runPeer(t, cmd)
	c, _ := newClient(t, func(c *fasthttp.Client, _ *Transport) { c.HTTP2 = tables })
	var all sync.WaitGroup
	for i := range 40 {
		size := i * 1000
		all.Go(func() {
			path := fmt.Sprint("/", size)
			resp, err := call(t, c, url+path, func(req *fasthttp.Request, _ *fasthttp.Response) {
				req.Header.SetMethod("POST")
				req.Header.Set("X-Same", "a value")
				req.SetBodyString(strings.Repeat("x", size))
			})
			if err != nil {
				t.Error(err)
				return
			}
			h := &resp.Header
			if got := string(h.Peek("X-Seen")); got != "POST "+path+" a value" || len(resp.Body()) != size ||
				string(h.Peek("X-Same")) != "a value that is in the table" || string(h.PeekTrailer("X-After")) != "17" {
				t.Errorf("%q, %d bytes, %q", got, len(resp.Body()), h.PeekTrailer("X-After"))
			}
		})
	}
	all.Wait()
}

func TestErrorsOfClientsWrapOthers(t *testing.T) {
	for name, row := range map[string]struct{ err, is error }{
		"loss":      {loss{io.ErrUnexpectedEOF}, fasthttp.ErrConnectionClosed},
		"cause":     {loss{io.ErrUnexpectedEOF}, io.ErrUnexpectedEOF},
		"rejection": {rejection{"x"}, bridge.ErrRejected},
		"reset":     {&resetByServer{}, io.ErrUnexpectedEOF},
	} {
		if !errors.Is(row.err, row.is) {
			t.Errorf("%s: %v is not %v", name, row.err, row.is)
		}
	}
	if isTimeout(loss{context.DeadlineExceeded}) {
		t.Error("the loss of a connection is a timeout")
	}
}
