package fasthttputil_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/valyala/fasthttp/fasthttputil"
	"github.com/valyala/fasthttp/internal/servertest"
)

func TestInmemoryListenerDialWaitsForAccept(t *testing.T) {
	servertest.Bubble(t, func(t *testing.T) {
		ln := fasthttputil.NewInmemoryListener()
		defer ln.Close()
		var client atomic.Value
		go func() {
			c, err := ln.Dial()
			if err != nil {
				t.Errorf("Dial: %v", err)
				return
			}
			client.Store(c)
		}()
		synctest.Wait()
		if client.Load() != nil {
			t.Fatal("Dial returned before Accept was called")
		}
		server, err := ln.Accept()
		if err != nil {
			t.Fatalf("Accept: %v", err)
		}
		synctest.Wait()
		c, ok := client.Load().(net.Conn)
		if !ok {
			t.Fatal("Dial still waits after Accept")
		}
		checkWrite(t, c, "ping")
		checkRead(t, server, "ping")
		checkWrite(t, server, "pong")
		checkRead(t, c, "pong")
	})
}

func TestInmemoryListenerAddresses(t *testing.T) {
	addr := func(port int) net.Addr { return &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: port} }
	tests := []struct {
		name            string
		listener, local net.Addr
		wantListener    string
		wantLocal       string
	}{
		{"defaults", nil, nil, "inmemory/InmemoryListener", "pipe/pipe"},
		{"client given", nil, addr(2), "inmemory/InmemoryListener", "tcp/192.0.2.1:2"},
		{"listener given", addr(1), nil, "tcp/192.0.2.1:1", "pipe/pipe"},
		{"both given", addr(1), addr(2), "tcp/192.0.2.1:1", "tcp/192.0.2.1:2"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			ln := fasthttputil.NewInmemoryListener()
			defer ln.Close()
			// A new address replaces the old one; so does the default.
			ln.SetLocalAddr(addr(99))
			ln.SetLocalAddr(test.listener)
			if got := addrText(ln.Addr()); got != test.wantListener {
				t.Errorf("Addr is %s, want %s", got, test.wantListener)
			}
			accepted := make(chan net.Conn, 1)
			go func() {
				c, _ := ln.Accept()
				accepted <- c
			}()
			client, err := ln.DialWithLocalAddr(test.local)
			if err != nil {
				t.Fatal(err)
			}
			server := servertest.Receive(t, "the connection", accepted)
			got := [4]string{
				addrText(client.LocalAddr()), addrText(client.RemoteAddr()),
				addrText(server.LocalAddr()), addrText(server.RemoteAddr()),
			}
			if want := [4]string{test.wantLocal, test.wantListener, test.wantListener, test.wantLocal}; got != want {
				t.Errorf("got %v, want %v", got, want)
			}
		})
	}
}

func TestInmemoryListenerRefusesAllAfterClose(t *testing.T) {
	ln := fasthttputil.NewInmemoryListener()
	addr := &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 1}
	ln.SetLocalAddr(addr)
	if err := ln.Close(); err != nil {
		t.Fatalf("first Close: %v", err)
	}
	if got := ln.Addr(); got != addr {
		t.Errorf("Addr after Close is %v, want %v", got, addr)
	}
	for range 2 {
		if err := ln.Close(); err != fasthttputil.ErrInmemoryListenerClosed {
			t.Errorf("Close again = %v", err)
		}
		if c, err := ln.Accept(); c != nil || err != fasthttputil.ErrInmemoryListenerClosed {
			t.Errorf("Accept = %v, %v", c, err)
		}
		if c, err := ln.Dial(); c != nil || err != fasthttputil.ErrInmemoryListenerClosed {
			t.Errorf("Dial = %v, %v", c, err)
		}
		if c, err := ln.DialWithLocalAddr(ln.Addr()); c != nil || err != fasthttputil.ErrInmemoryListenerClosed {
			t.Errorf("DialWithLocalAddr = %v, %v", c, err)
		}
	}
}

func TestInmemoryListenerCloseEndsWaitingCalls(t *testing.T) {
	calls := map[string]func(*fasthttputil.InmemoryListener) (net.Conn, error){
		"Accept": (*fasthttputil.InmemoryListener).Accept,
		"Dial":   (*fasthttputil.InmemoryListener).Dial,
	}
	for name, call := range calls {
		t.Run(name, func(t *testing.T) {
			// The bubble fails the test if one of the goroutines still waits.
			servertest.Bubble(t, func(t *testing.T) {
				ln := fasthttputil.NewInmemoryListener()
				var refused atomic.Int32
				for range 1500 {
					go func() {
						if c, err := call(ln); c == nil && err == fasthttputil.ErrInmemoryListenerClosed {
							refused.Add(1)
						}
					}()
				}
				synctest.Wait()
				if n := refused.Load(); n != 0 {
					t.Fatalf("%d calls returned before Close", n)
				}
				if err := ln.Close(); err != nil {
					t.Errorf("Close: %v", err)
				}
				synctest.Wait()
				if n := refused.Load(); n != 1500 {
					t.Errorf("%d calls returned ErrInmemoryListenerClosed, want 1500", n)
				}
			})
		})
	}
}

func TestInmemoryListenerAcceptsNoPendingDialAfterClose(t *testing.T) {
	// A select chooses at random among ready channels: hence the rounds.
	for range 100 {
		servertest.Bubble(t, func(t *testing.T) {
			ln := fasthttputil.NewInmemoryListener()
			go func() {
				if c, err := ln.Dial(); c != nil || err == nil {
					t.Errorf("Dial = %v, %v", c, err)
				}
			}()
			synctest.Wait()
			_ = ln.Close()
			if c, err := ln.Accept(); c != nil || err == nil {
				t.Errorf("Accept = %v, %v", c, err)
			}
		})
	}
}

func TestInmemoryListenerCloseLeavesConnectionsOpen(t *testing.T) {
	ln := fasthttputil.NewInmemoryListener()
	accepted := make(chan net.Conn, 1)
	go func() {
		c, _ := ln.Accept()
		accepted <- c
	}()
	client, err := ln.Dial()
	if err != nil {
		t.Fatal(err)
	}
	server := servertest.Receive(t, "the connection", accepted)
	_ = ln.Close()
	checkWrite(t, client, "request")
	checkRead(t, server, "request")
	checkWrite(t, server, "response")
	checkRead(t, client, "response")
}

func TestInmemoryListenerDialsAndAcceptsAgreeWhenClosing(t *testing.T) {
	for range 50 {
		ln := fasthttputil.NewInmemoryListener()
		var dialed, accepted atomic.Int32
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for {
					c, err := ln.Dial()
					if err != nil {
						return
					}
					dialed.Add(1)
					_ = c.Close()
				}
			})
			wg.Go(func() {
				for {
					c, err := ln.Accept()
					if err != nil {
						return
					}
					if accepted.Add(1) == 20 {
						_ = ln.Close()
					}
					_ = c.Close()
				}
			})
		}
		wg.Wait()
		if d, a := dialed.Load(), accepted.Load(); d != a || a < 20 {
			t.Fatalf("%d Dials and %d Accepts succeeded", d, a)
		}
	}
}

func TestInmemoryListenerDialAllocatesOnce(t *testing.T) {
	ln := fasthttputil.NewInmemoryListener()
	defer ln.Close()
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			_ = c.Close()
		}
	}()
	allocs := testing.AllocsPerRun(100, func() {
		c, err := ln.Dial()
		if err != nil {
			t.Fatal(err)
		}
		_ = c.Close()
	})
	if allocs != 1 {
		t.Errorf("%v allocations for a Dial and its Accept, want 1", allocs)
	}
}

// dialOnly makes an http.Transport that connects to ln, whatever the URL, and adds one to
// dials for each connection.
func dialOnly(ln *fasthttputil.InmemoryListener, dials *atomic.Int32) *http.Transport {
	return &http.Transport{
		DialContext: func(context.Context, string, string) (net.Conn, error) {
			dials.Add(1)
			return ln.Dial()
		},
	}
}

func TestInmemoryListenerServesNetHTTPClientsInParallel(t *testing.T) {
	// The net/http client closes a connection if its writer has not finished within 50 ms
	// after the response, which happens on a busy machine. In a bubble this time does not pass
	// while any goroutine can run, so that the number of connections is exact.
	servertest.Bubble(t, serveParallelClients)
}

func serveParallelClients(t *testing.T) {
	const clients, requests = 100, 20
	ln := fasthttputil.NewInmemoryListener()
	server := &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			// The response begins after the body has been read: net/http drops the rest of a
			// body when it sends the first part of the response.
			body, err := io.ReadAll(r.Body)
			if err != nil {
				t.Errorf("reading a request: %v", err)
			}
			_, _ = w.Write(body)
		}),
		ReadTimeout:  time.Minute,
		WriteTimeout: time.Minute,
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(ln) }()

	var dials atomic.Int32
	var wg sync.WaitGroup
	for i := range clients {
		wg.Go(func() {
			transport := dialOnly(ln, &dials)
			defer transport.CloseIdleConnections()
			client := &http.Client{Transport: transport, Timeout: time.Minute}
			for j := range requests {
				// From a few bytes to more than the server buffers.
				want := bytes.Repeat(fmt.Appendf(nil, "client %d request %d\n", i, j), 1+j*j*5)
				if err := postEcho(client, want); err != nil {
					t.Errorf("client %d, request %d: %v", i, j, err)
					return
				}
			}
		})
	}
	wg.Wait()
	if n := dials.Load(); n != clients {
		t.Errorf("%d connections were opened, want %d: keep-alive does not work", n, clients)
	}
	if err := server.Shutdown(t.Context()); err != nil {
		t.Errorf("Shutdown: %v", err)
	}
	if err := servertest.Receive(t, "the end of Serve", served); err != http.ErrServerClosed {
		t.Errorf("Serve: %v", err)
	}
}

// postEcho posts body and checks that it is echoed.
func postEcho(client *http.Client, body []byte) error {
	resp, err := client.Post("http://in.memory/echo", "text/plain", bytes.NewReader(body))
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if !bytes.Equal(got, body) {
		return fmt.Errorf("got %d bytes that are not the %d sent", len(got), len(body))
	}
	return nil
}

func TestInmemoryListenerTimeoutsOfNetHTTP(t *testing.T) {
	servertest.Bubble(t, func(t *testing.T) {
		ln := fasthttputil.NewInmemoryListener()
		gone := make(chan time.Duration, 1)
		server := &http.Server{
			Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				start := time.Now()
				<-r.Context().Done()
				gone <- time.Since(start)
			}),
			ReadHeaderTimeout: time.Hour,
		}
		go func() { _ = server.Serve(ln) }()
		defer server.Close()

		// The server closes the connection of a client that sends nothing.
		c, err := ln.Dial()
		if err != nil {
			t.Fatal(err)
		}
		checkReadEnds(t, c, time.Hour, io.EOF)

		// A client stops waiting for a handler that does not answer, and the
		// handler's context ends.
		var dials atomic.Int32
		transport := dialOnly(ln, &dials)
		defer transport.CloseIdleConnections()
		client := &http.Client{Transport: transport, Timeout: 24 * time.Hour}
		_, err = client.Get("http://in.memory/")
		if ne, ok := errors.AsType[net.Error](err); !ok || !ne.Timeout() {
			t.Errorf("Get: %v, want a timeout", err)
		}
		if got := <-gone; got != 24*time.Hour {
			t.Errorf("the handler heard of it after %v", got)
		}
	})
}
