package fasthttp

import (
	"bufio"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/valyala/fasthttp/internal/servertest"
)

// looksAtConns reports whether this system can show if an idle connection is still
// open.
const looksAtConns = runtime.GOOS != "windows" && runtime.GOOS != "plan9" && runtime.GOOS != "js" && runtime.GOOS != "wasip1"

// The client sends a POST once if the server has read it, however the connection
// ends and however many other connections are idle.
func TestClientSendsPostOnceWhateverHappens(t *testing.T) {
	const warm = 5
	for name, tt := range map[string]struct {
		end    func(c *servertest.PeerConn)
		unread bool // the server leaves the body unread, so the system resets the connection
	}{
		"reset":        {func(c *servertest.PeerConn) { servertest.Reset(c.Conn) }, false},
		"late reset":   {func(c *servertest.PeerConn) { letOthersRun(); servertest.Reset(c.Conn) }, false},
		"end":          {func(c *servertest.PeerConn) { _ = c.Close() }, false},
		"unread bytes": {func(c *servertest.PeerConn) { _ = c.Conn.Close() }, true},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "end" && !looksAtConns {
				t.Skip("without a check of idle connections, an orderly close passes for one of an idle connection")
			}
			var posts atomic.Int32
			ready := make(chan struct{})
			p := servertest.NewPeer(t, func(c *servertest.PeerConn) {
				for {
					start, _ := c.R.Peek(4)
					if string(start) != "POST" {
						if c.Request() == nil {
							return
						}
						select {
						case <-ready:
							c.Send(servertest.OK)
							continue
						case <-c.Peer.Ended():
							return
						}
					}
					if !tt.unread {
						c.Request()
					} else {
						c.Head()
					}
					posts.Add(1)
					tt.end(c)
					return
				}
			})
			hc := hostFor(p)
			warmUp(t, hc, p, warm, ready)
			req := requestTo(t, MethodPost, p.URL("/"))
			req.SetBodyRaw(make([]byte, 60<<10))
			if err := hc.Do(req, responseFor(t)); err == nil {
				t.Error("the call succeeded")
			}
			if n := posts.Load(); n != 1 {
				t.Errorf("the server has seen the POST %d times", n)
			}
		})
	}
}

// warmUp leaves n idle connections in hc.
func warmUp(t *testing.T, hc *HostClient, p *servertest.Peer, n int, ready chan struct{}) {
	var calls sync.WaitGroup
	for range n {
		calls.Go(func() {
			if _, _, err := hc.Get(nil, p.URL("/warm")); err != nil {
				t.Error(err)
			}
		})
	}
	servertest.Eventually(t, "all requests", func() bool { return p.Conns.Load() == int32(n) })
	close(ready)
	servertest.Soon(t, "the calls", calls.Wait)
	if got := hc.IdleConnsCount(); got != n {
		t.Fatalf("%d idle connections, want %d", got, n)
	}
}

// wrapped is a connection that the client cannot check while it is idle.
type wrapped struct{ net.Conn }

// If a wrapped connection ends while it is idle, the server has read no part of the
// request that is then sent on it.
func TestClientPostsOnClosedWrappedConnections(t *testing.T) {
	closed := make(chan struct{}, 1)
	p := servertest.NewPeer(t, func(c *servertest.PeerConn) {
		if c.Request() != nil {
			c.Send(servertest.OK)
		}
		_ = c.Close()
		closed <- struct{}{}
	})
	hc := hostFor(p)
	hc.Dial = func(addr string) (net.Conn, error) {
		conn, err := net.Dial("tcp4", addr)
		return wrapped{conn}, err
	}
	req, resp := requestTo(t, MethodPost, p.URL("/")), responseFor(t)
	for i := range 30 {
		req.SetBodyString(fmt.Sprint("body ", i))
		servertest.Must(t, hc.Do(req, resp))
		servertest.Receive(t, "the end of the connection", closed)
	}
	p.Counts(30, 30)
}

// The client never takes an unsolicited response for the response to its next request, with
// and without TLS, whether it arrives with the last response or later.
func TestClientNeverTakesAnUnaskedResponse(t *testing.T) {
	t.Parallel()
	if !looksAtConns {
		t.Skip("connections cannot be looked at on this system")
	}
	cert, roots := servertest.CertificateFor(t, nil, net.IPv4(127, 0, 0, 1))
	rounds := 300
	if testing.Short() {
		rounds = 50
	}
	for _, secure := range []bool{false, true} {
		for _, later := range []bool{false, true} {
			t.Run(fmt.Sprint(secure, later), func(t *testing.T) {
				sent, answered := make(chan struct{}, 1), make(chan struct{}, 1)
				p := servertest.NewPeer(t, func(c *servertest.PeerConn) {
					if secure {
						c.Conn = tls.Server(c.Conn, &tls.Config{Certificates: []tls.Certificate{cert}})
						c.R.Reset(c.Conn)
					}
					for req := c.Request(); req != nil; req = c.Request() {
						if req.Method == MethodGet {
							c.Send(servertest.OK)
							continue
						}
						c.Send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n")
						if later {
							select {
							case <-answered:
							case <-c.Peer.Ended():
								return
							}
						}
						c.Send("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nbad")
						sent <- struct{}{}
					}
				})
				hc := hostFor(p)
				hc.IsTLS, hc.TLSConfig = secure, &tls.Config{RootCAs: roots}
				url := p.URL("/")
				if secure {
					url = "https://" + p.Addr() + "/"
				}
				head, get, resp := requestTo(t, MethodHead, url), requestTo(t, MethodGet, url), responseFor(t)
				wrong := 0
				for range rounds {
					servertest.Must(t, hc.Do(head, resp))
					if later {
						answered <- struct{}{}
					}
					servertest.Receive(t, "the unasked response", sent)
					if err := hc.Do(get, resp); err == nil && string(resp.Body()) != "ok" {
						wrong++
					}
				}
				if wrong > 0 {
					t.Errorf("%d of %d calls got a response that was not theirs", wrong, rounds)
				}
			})
		}
	}
}

// Session tickets of TLS do not make the client close its connections.
func TestClientTLSKeepsConnectionsInSpiteOfTickets(t *testing.T) {
	cert, roots := servertest.CertificateFor(t, nil, net.IPv4(127, 0, 0, 1))
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		p := servertest.NewPeer(t, func(c *servertest.PeerConn) {
			c.Conn = tls.Server(c.Conn, &tls.Config{Certificates: []tls.Certificate{cert}, MaxVersion: version})
			c.R.Reset(c.Conn)
			for c.Request() != nil {
				c.Send(servertest.OK)
			}
		})
		hc := hostFor(p)
		hc.IsTLS, hc.TLSConfig = true, &tls.Config{RootCAs: roots}
		req, resp := requestTo(t, MethodPost, "https://"+p.Addr()+"/"), responseFor(t)
		for range 20 {
			servertest.Must(t, hc.Do(req, resp))
		}
		p.Counts(1, 20)
	}
}

// If the caller passes no response, the client reuses the connection after a small
// body, whatever the framing.
func TestClientReusesConnectionsBehindUnwantedBodies(t *testing.T) {
	t.Parallel()
	var conns atomic.Int32
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		size, _ := strconv.Atoi(r.URL.Query().Get("size"))
		_, _ = io.WriteString(w, `{"a": "`+strings.Repeat("x", size))
		w.(http.Flusher).Flush()
		_, _ = io.WriteString(w, `"}`)
	}))
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			conns.Add(1)
		}
	}
	s.Start()
	defer s.Close()
	hc := &HostClient{Addr: s.Listener.Addr().String()}
	defer hc.CloseIdleConnections()
	const calls = 50
	for _, size := range []int{10, 200_000} {
		req := requestTo(t, MethodGet, fmt.Sprint(s.URL, "/?size=", size))
		for range calls {
			servertest.Must(t, hc.Do(req, nil))
		}
		resp := responseFor(t)
		resp.StreamBody = true
		for range calls {
			servertest.Must(t, hc.Do(req, resp))
			var v map[string]string
			if err := json.NewDecoder(resp.BodyStream()).Decode(&v); err != nil || len(v["a"]) != size {
				t.Fatalf("got %d bytes, %v", len(v["a"]), err)
			}
			servertest.Must(t, resp.CloseBodyStream())
		}
	}
	// A connection is lost if the server gets no processor for long enough. Each of the four kinds of
	// calls needs as many connections as calls if it does not reuse them.
	if n := conns.Load(); n > calls/2 {
		t.Errorf("%d connections for %d calls", n, 4*calls)
	}
	// a body larger than the client drains
	servertest.Must(t, hc.Do(requestTo(t, MethodGet, s.URL+"/?size=10000000"), nil))
	if n := hc.ConnsCount(); n != 0 {
		t.Errorf("%d connections after a body that is too large to drain", n)
	}
}

// At most 32 informational responses may precede the final one, for all clients and
// for a Response that a caller reads itself.
func TestInformationalResponsesAreLimitedForAll(t *testing.T) {
	for n, good := range map[int]bool{maxInformational: true, maxInformational + 1: false} {
		response := strings.Repeat("HTTP/1.1 103 Early Hints\r\n\r\n", n) + servertest.OK
		p := servertest.Answering(t, response)
		pc := &PipelineClient{Addr: p.Addr(), MaxIdleConnDuration: 10 * time.Millisecond}
		req := requestTo(t, MethodGet, p.URL("/"))
		for name, err := range map[string]error{
			"HostClient":     hostFor(p).Do(req, responseFor(t)),
			"PipelineClient": pc.Do(req, responseFor(t)),
			"Response.Read":  responseFor(t).Read(bufio.NewReader(strings.NewReader(response))),
		} {
			if good && err != nil || !good && !errors.Is(err, errTooManyInformational) {
				t.Errorf("%s, %d informational responses: %v", name, n, err)
			}
		}
	}
}

// The client checks the connection below a wrapper that has NetConn, even if the
// dial function returns a TLS connection.
func TestClientLooksBelowWrappers(t *testing.T) {
	if !looksAtConns {
		t.Skip("connections cannot be looked at on this system")
	}
	cert, _ := servertest.CertificateFor(t, nil, net.IPv4(127, 0, 0, 1))
	end, ended := make(chan struct{}, 1), make(chan struct{}, 1)
	p := servertest.NewPeer(t, func(c *servertest.PeerConn) {
		c.Conn = tls.Server(c.Conn, &tls.Config{Certificates: []tls.Certificate{cert}, MaxVersion: tls.VersionTLS12})
		c.R.Reset(c.Conn)
		c.Request()
		c.Send(servertest.OK)
		select {
		case <-end:
		case <-c.Peer.Ended():
		}
		_ = c.Close()
		ended <- struct{}{}
	})
	hc := hostFor(p)
	hc.Dial = func(addr string) (net.Conn, error) {
		return tls.Dial("tcp4", addr, &tls.Config{InsecureSkipVerify: true})
	}
	req := requestTo(t, MethodPost, p.URL("/"))
	for range 10 {
		servertest.Must(t, hc.Do(req, responseFor(t)))
		end <- struct{}{}
		servertest.Receive(t, "the end of the connection", ended)
	}
	p.Counts(10, 10)
}
