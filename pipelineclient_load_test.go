package fasthttp

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"math/rand/v2"
	"net/http/httptest"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/valyala/fasthttp/internal/servertest"
)

// Known failure 33: when a call returns, the client is done with the caller's
// request and response. The race detector reports a violation.
func TestPipelineTimeoutsLeaveNothingBehind(t *testing.T) {
	const body = "the quick brown fox jumps over the lazy dog"
	peer := startPipelinePeer(t, func(c *servertest.PeerConn) {
		for c.Asked() != "" {
			// written in pieces, so that calls end in the middle of a response
			for piece := range bytes.SplitAfterSeq([]byte("HTTP/1.1 200 OK\r\nContent-Length: "+strconv.Itoa(len(body))+"\r\n\r\n"+body), []byte(" ")) {
				if _, err := c.Write(piece); err != nil {
					return
				}
				for range rand.N(10) {
					runtime.Gosched()
				}
			}
		}
	})
	c := peer.client()
	c.MaxConns = 4
	var succeeded, expired atomic.Int64
	var calls sync.WaitGroup
	for i := range 1000 {
		calls.Go(func() {
			req, resp := AcquireRequest(), AcquireResponse()
			defer ReleaseRequest(req)
			defer ReleaseResponse(resp)
			for range 3 {
				req.SetRequestURI("http://host.test/" + strconv.Itoa(i))
				resp.SetBodyString("old")
				switch err := c.DoTimeout(req, resp, time.Duration(rand.N(100))*time.Millisecond); {
				case err == nil && string(resp.Body()) == body:
					succeeded.Add(1)
				case err == error(ErrTimeout):
					expired.Add(1)
				case err != ErrPipelineOverflow:
					t.Errorf("%q, %v", resp.Body(), err)
				}
				req.Reset()
				resp.Reset()
				resp.SetBodyString("the caller's")
			}
		})
	}
	calls.Wait()
	t.Logf("%d succeeded, %d timed out", succeeded.Load(), expired.Load())
	if n := c.PendingRequests(); n != 0 {
		t.Errorf("%d requests are pending", n)
	}
	peer.expectNoPipelineLeft(c)
}

func TestPipelineUnderLoad(t *testing.T) {
	t.Parallel()
	peer := startPipelinePeer(t, (*servertest.PeerConn).Echo)
	c := peer.client()
	c.MaxConns = 3
	c.MaxPendingRequests = 2000
	var calls sync.WaitGroup
	for i := range 3000 {
		calls.Go(func() { expectPipelined(t, c, MethodPost, "/"+strconv.Itoa(i)) })
	}
	calls.Wait()
	if n := peer.Conns.Load(); n > 3 {
		t.Errorf("%d connections", n)
	}
	peer.expectNoPipelineLeft(c)
}

// The server ends connections at any moment and in every way.
func TestPipelineWithAnUnreliableServer(t *testing.T) {
	t.Parallel()
	peer := startPipelinePeer(t, func(c *servertest.PeerConn) {
		for {
			request := c.Asked()
			if request == "" {
				return
			}
			switch rand.N(30) {
			case 0:
				return
			case 1:
				c.Send("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: " + strconv.Itoa(len(request)) + "\r\n\r\n" + request)
				return
			case 2:
				c.Send("HTTP/1.0 200 OK\r\n\r\n" + request)
				return
			default:
				c.OK(request)
			}
		}
	})
	c := peer.client()
	c.MaxConns = 2
	var calls sync.WaitGroup
	var failed atomic.Int64
	const total = 300 // each of some 20 connections takes its time on a busy machine
	for i := range total {
		calls.Go(func() {
			path := "/" + strconv.Itoa(i)
			body, err := pipelineGet(c, MethodGet, path)
			switch {
			case errors.Is(err, ErrConnectionClosed) || errors.Is(err, syscall.ECONNRESET):
				// if the server closes while requests arrive, the system resets the
				// connection
				failed.Add(1)
			case err != nil || body != "GET "+path:
				t.Errorf("%s: %q, %v", path, body, err)
			}
		})
	}
	calls.Wait()
	if n := failed.Load(); n > total/10 {
		t.Errorf("%d of %d calls failed", n, total)
	}
	peer.expectNoPipelineLeft(c)
}

func TestPipelineAllocatesNothing(t *testing.T) {
	if servertest.RaceDetector {
		t.Skip("the race detector allocates")
	}
	peer := startPipelinePeer(t, func(c *servertest.PeerConn) {
		answer := []byte("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")
		var b [4096]byte
		for {
			n, err := c.Read(b[:])
			if err != nil {
				return
			}
			for range bytes.Count(b[:n], []byte("\r\n\r\n")) {
				_, _ = c.Write(answer)
			}
		}
	})
	c := peer.client()
	req, resp := AcquireRequest(), AcquireResponse()
	req.SetRequestURI("http://host.test/path")
	do := func() {
		if err := c.DoTimeout(req, resp, time.Minute); err != nil || string(resp.Body()) != "hello" {
			t.Errorf("%q, %v", resp.Body(), err)
		}
	}
	do()
	if n := testing.AllocsPerRun(200, do); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestPipelineOverTLS(t *testing.T) {
	t.Parallel()
	// a server with a certificate for example.com, and a client that trusts it
	known := httptest.NewTLSServer(nil)
	defer known.Close()
	config := &tls.Config{Certificates: known.TLS.Certificates}
	trusting := &tls.Config{RootCAs: x509.NewCertPool()}
	trusting.RootCAs.AddCert(known.Certificate())

	peer := startPipelinePeer(t, func(c *servertest.PeerConn) {
		c.Over(tls.Server(c.Conn, config)).Echo()
	})
	do := func(c *PipelineClient, path string) (string, error) {
		var req Request
		var resp Response
		req.SetRequestURI("https://host.test" + path)
		err := c.DoTimeout(&req, &resp, servertest.Patience)
		return string(resp.Body()), err
	}
	for name, config := range map[string]*tls.Config{
		"an unknown certificate":           nil,
		"a certificate for another host":   {RootCAs: trusting.RootCAs, ServerName: "other.test"},
		"a certificate for no such number": {RootCAs: trusting.RootCAs, ServerName: "127.0.0.2"},
	} {
		c := peer.client()
		c.IsTLS, c.TLSConfig = true, config
		if _, err := do(c, "/"); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
	c := peer.client()
	c.IsTLS, c.TLSConfig = true, trusting
	var calls sync.WaitGroup
	for i := range 20 {
		calls.Go(func() {
			path := "/" + strconv.Itoa(i)
			if body, err := do(c, path); err != nil || body != "GET "+path {
				t.Errorf("%q, %v", body, err)
			}
		})
	}
	calls.Wait()
	if trusting.ServerName != "" {
		t.Error("the configuration of the application was changed")
	}
}
