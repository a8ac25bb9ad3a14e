package bench

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/bench/internal/await"
	"github.com/valyala/fasthttp/fasthttputil"
)

// wires is the kind of connection between client and server.
type wires int

const (
	inMemory wires = iota
	overTCP
)

// open returns a listener and a function that connects to it.
func (w wires) open(b *testing.B) (net.Listener, func(string) (net.Conn, error)) {
	b.Helper()
	if w == inMemory {
		ln := fasthttputil.NewInmemoryListener()
		return ln, func(string) (net.Conn, error) { return ln.Dial() }
	}
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	addr := ln.Addr().String()
	return ln, func(string) (net.Conn, error) { return net.Dial("tcp4", addr) }
}

// mostConnections is the largest number of connections of a row: each takes two descriptors,
// and many systems allow a process 20,000 or fewer.
const mostConnections = 4000

// benchEndToEnd measures Client.Get with a server of the same build. Callers beyond
// the number of connections wait for a free one.
func benchEndToEnd(b *testing.B, w wires, parallel, connections int) {
	b.Helper()
	ln, dial := w.open(b)
	server := &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
		if string(ctx.Path()) != "/item" {
			ctx.Error("not found", fasthttp.StatusNotFound)
			return
		}
		ctx.SetContentType(contentType)
		ctx.SetBodyString(answer)
	}}
	served := make(chan error, 1) // the error after the listener is closed does not matter
	go func() { served <- server.Serve(ln) }()
	client := &fasthttp.Client{Dial: dial, MaxConnsPerHost: connections, MaxConnWaitTimeout: 10 * time.Minute}
	defer func() {
		client.CloseIdleConnections()
		_ = ln.Close()
		await.Receive(b, "the end of Serve", served)
	}()
	callers(b, parallel, func() (func() error, func()) {
		var buf []byte
		call := func() error {
			status, body, err := client.Get(buf, clientURL)
			buf = body
			if err == nil && (status != 200 || !bytes.Equal(body, answerBytes)) {
				err = errWrongAnswer
			}
			return err
		}
		return call, func() {}
	})
}

// benchNetHTTPEndToEnd is benchEndToEnd for net/http.
func benchNetHTTPEndToEnd(b *testing.B, w wires, parallel, connections int) {
	b.Helper()
	ln, dial := w.open(b)
	server := &http.Server{Handler: http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/item" {
			http.NotFound(rw, r)
			return
		}
		rw.Header().Set("Content-Type", contentType)
		_, _ = io.WriteString(rw, answer)
	})}
	served := make(chan error, 1)
	go func() { served <- server.Serve(ln) }()
	transport := &http.Transport{
		Dial:                func(_, addr string) (net.Conn, error) { return dial(addr) },
		MaxIdleConnsPerHost: connections,
		MaxConnsPerHost:     connections,
		DisableCompression:  true,
	}
	client := &http.Client{Transport: transport}
	defer func() {
		transport.CloseIdleConnections()
		_ = server.Close()
		await.Receive(b, "the end of Serve", served)
	}()
	callers(b, parallel, func() (func() error, func()) {
		return func() error { return checkNetHTTP(client.Get(clientURL)) }, func() {}
	})
}

func BenchmarkClientGetEndToEnd1CallersMemory(b *testing.B) { benchEndToEnd(b, inMemory, 1, 1) }

func BenchmarkClientGetEndToEnd10CallersMemory(b *testing.B) { benchEndToEnd(b, inMemory, 10, 10) }

func BenchmarkClientGetEndToEnd100CallersMemory(b *testing.B) { benchEndToEnd(b, inMemory, 100, 100) }

func BenchmarkClientGetEndToEnd1KCallersMemory(b *testing.B) { benchEndToEnd(b, inMemory, 1000, 1000) }

func BenchmarkClientGetEndToEnd10KCallersMemory(b *testing.B) {
	benchEndToEnd(b, inMemory, 10_000, 10_000)
}

func BenchmarkClientGetEndToEnd1CallersTCP(b *testing.B) { benchEndToEnd(b, overTCP, 1, 1) }

func BenchmarkClientGetEndToEnd10CallersTCP(b *testing.B) { benchEndToEnd(b, overTCP, 10, 10) }

func BenchmarkClientGetEndToEnd100CallersTCP(b *testing.B) { benchEndToEnd(b, overTCP, 100, 100) }

func BenchmarkClientGetEndToEnd1KCallersTCP(b *testing.B) { benchEndToEnd(b, overTCP, 1000, 1000) }

func BenchmarkClientGetEndToEnd10KCallersTCP(b *testing.B) {
	benchEndToEnd(b, overTCP, 10_000, mostConnections)
}

func BenchmarkClientGetEndToEndWaitConn10CallersMemory(b *testing.B) {
	benchEndToEnd(b, inMemory, 10, 1)
}

func BenchmarkClientGetEndToEndWaitConn100CallersMemory(b *testing.B) {
	benchEndToEnd(b, inMemory, 100, 1)
}

func BenchmarkClientGetEndToEndWaitConn1KCallersMemory(b *testing.B) {
	benchEndToEnd(b, inMemory, 1000, 1)
}

func BenchmarkClientGetEndToEndWaitConn100CallersTCP(b *testing.B) { benchEndToEnd(b, overTCP, 100, 1) }

func BenchmarkNetHTTPClientGetEndToEnd1CallersMemory(b *testing.B) {
	benchNetHTTPEndToEnd(b, inMemory, 1, 1)
}

func BenchmarkNetHTTPClientGetEndToEnd10CallersMemory(b *testing.B) {
	benchNetHTTPEndToEnd(b, inMemory, 10, 10)
}

func BenchmarkNetHTTPClientGetEndToEnd100CallersMemory(b *testing.B) {
	benchNetHTTPEndToEnd(b, inMemory, 100, 100)
}

func BenchmarkNetHTTPClientGetEndToEnd1KCallersMemory(b *testing.B) {
	benchNetHTTPEndToEnd(b, inMemory, 1000, 1000)
}

func BenchmarkNetHTTPClientGetEndToEnd10KCallersMemory(b *testing.B) {
	benchNetHTTPEndToEnd(b, inMemory, 10_000, 10_000)
}

func BenchmarkNetHTTPClientGetEndToEnd1CallersTCP(b *testing.B) {
	benchNetHTTPEndToEnd(b, overTCP, 1, 1)
}

func BenchmarkNetHTTPClientGetEndToEnd10CallersTCP(b *testing.B) {
	benchNetHTTPEndToEnd(b, overTCP, 10, 10)
}

func BenchmarkNetHTTPClientGetEndToEnd100CallersTCP(b *testing.B) {
	benchNetHTTPEndToEnd(b, overTCP, 100, 100)
}

func BenchmarkNetHTTPClientGetEndToEnd1KCallersTCP(b *testing.B) {
	benchNetHTTPEndToEnd(b, overTCP, 1000, 1000)
}

func BenchmarkNetHTTPClientGetEndToEnd10KCallersTCP(b *testing.B) {
	benchNetHTTPEndToEnd(b, overTCP, 10_000, mostConnections)
}

func BenchmarkNetHTTPClientGetEndToEndWaitConn10CallersMemory(b *testing.B) {
	benchNetHTTPEndToEnd(b, inMemory, 10, 1)
}

func BenchmarkNetHTTPClientGetEndToEndWaitConn100CallersMemory(b *testing.B) {
	benchNetHTTPEndToEnd(b, inMemory, 100, 1)
}

func BenchmarkNetHTTPClientGetEndToEndWaitConn1KCallersMemory(b *testing.B) {
	benchNetHTTPEndToEnd(b, inMemory, 1000, 1)
}

func BenchmarkNetHTTPClientGetEndToEndWaitConn100CallersTCP(b *testing.B) {
	benchNetHTTPEndToEnd(b, overTCP, 100, 1)
}
