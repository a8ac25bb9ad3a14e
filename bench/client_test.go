package bench

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/valyala/fasthttp/bench/internal/cputime"
)

// The responses of the servers in the client rows, and the URL of the requests.
const (
	clientURL    = "http://shop.example.com/item?id=1729"
	clientAnswer = "HTTP/1.1 200 OK\r\n" +
		"Server: bench\r\n" +
		"Date: Fri, 13 Nov 2026 08:00:00 GMT\r\n" +
		"Content-Type: " + contentType + "\r\n" +
		"Content-Length: 13\r\n\r\n" + answer
)

var (
	clientAnswerBytes = []byte(clientAnswer)
	headEnd           = []byte("\r\n\r\n")
	postHead          = []byte("POST ")

	errTwoRequests = errors.New("a client sent a request before it had the last response")
)

// requestEnd reports whether b is one whole request of these benchmarks.
func requestEnd(b []byte) bool {
	end := bytes.Index(b, headEnd)
	if end < 0 {
		return false
	}
	size := end + len(headEnd)
	if bytes.HasPrefix(b, postHead) {
		size += len(postBody)
	}
	return len(b) == size
}

// answeringConn is a connection with a very cheap built-in server: a write is a request, and a
// read returns the response.
type answeringConn struct {
	inProcess
	all     [][]byte // the responses, in turn
	turn    int
	whole   func([]byte) bool // reports whether these are all bytes of a request
	got     []byte
	answers chan []byte
	rest    []byte // of the last response
	closing sync.Once
}

func dialAnswering(string) (net.Conn, error) {
	return newAnsweringConn([][]byte{clientAnswerBytes}, 0, requestEnd), nil
}

func newAnsweringConn(all [][]byte, first int, whole func([]byte) bool) *answeringConn {
	return &answeringConn{all: all, turn: first, whole: whole, got: make([]byte, 0, 4096), answers: make(chan []byte, 1)}
}

func (c *answeringConn) Write(p []byte) (int, error) {
	c.got = append(c.got, p...)
	if c.whole(c.got) {
		c.got = c.got[:0]
		answer := c.all[c.turn]
		if c.turn++; c.turn == len(c.all) {
			c.turn = 0
		}
		select {
		case c.answers <- answer:
		default:
			return 0, errTwoRequests
		}
	}
	return len(p), nil
}

// Read waits for a request, since net/http reads before it writes one.
func (c *answeringConn) Read(p []byte) (int, error) {
	if len(c.rest) == 0 {
		var open bool
		if c.rest, open = <-c.answers; !open {
			return 0, io.EOF
		}
	}
	n := copy(p, c.rest)
	c.rest = c.rest[n:]
	return n, nil
}

func (c *answeringConn) Close() error {
	c.closing.Do(func() { close(c.answers) })
	return nil
}

var loopback = &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80}

// inProcess has the methods of connections in memory that need no state: no deadline is reached.
type inProcess struct{}

func (inProcess) LocalAddr() net.Addr              { return loopback }
func (inProcess) RemoteAddr() net.Addr             { return loopback }
func (inProcess) SetDeadline(time.Time) error      { return nil }
func (inProcess) SetReadDeadline(time.Time) error  { return nil }
func (inProcess) SetWriteDeadline(time.Time) error { return nil }

// serveTCP serves connections until the end of the benchmark, and returns a function that
// connects to it.
func serveTCP(b testing.TB, serve func(net.Conn)) (dial func(string) (net.Conn, error)) {
	b.Helper()
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	var all sync.WaitGroup
	// A client may keep connections: net/http does not take one for idle before it has
	// forgotten its last exchange.
	ctx, end := context.WithCancel(context.Background())
	all.Go(func() {
		for {
			nc, err := ln.Accept()
			if err != nil {
				return
			}
			stop := context.AfterFunc(ctx, func() { _ = nc.Close() })
			all.Go(func() {
				defer nc.Close()
				defer stop()
				serve(nc)
			})
		}
	})
	b.Cleanup(func() {
		_ = ln.Close()
		end()
		all.Wait()
	})
	addr := ln.Addr().String()
	return func(string) (net.Conn, error) { return net.Dial("tcp4", addr) }
}

// callers runs call b.N times, on the given number of goroutines. It does not
// measure the first call of each. newCaller makes the function that a goroutine
// calls.
func callers(b *testing.B, parallel int, newCaller func() (call func() error, end func())) {
	b.Helper()
	b.ReportAllocs()
	var left atomic.Int64
	left.Store(int64(b.N))
	var ready, done sync.WaitGroup
	start := make(chan struct{})
	ready.Add(parallel)
	for range parallel {
		done.Go(func() {
			call, end := newCaller()
			defer end()
			if err := call(); err != nil {
				b.Error(err)
			}
			ready.Done()
			<-start
			for left.Add(-1) >= 0 {
				if err := call(); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	ready.Wait()
	begin := cputime.Used()
	b.ResetTimer()
	close(start)
	done.Wait()
	b.StopTimer()
	reportCPU(b, cputime.Used()-begin)
}

// callKind is a way to call the client.
type callKind int

const (
	getCall callKind = iota
	getTimeoutCall
	postCall
)

var errWrongAnswer = errors.New("the client returned something else than the answer")

// benchHarnessClient measures callers that write a prepared request and read the
// response without parsing it. No client can be faster than that with this server.
func benchHarnessClient(b *testing.B, dial func(string) (net.Conn, error), parallel int) {
	b.Helper()
	request := []byte("GET /item?id=1729 HTTP/1.1\r\nUser-Agent: fasthttp\r\nHost: shop.example.com\r\n\r\n")
	callers(b, parallel, func() (func() error, func()) {
		nc, err := dial("")
		if err != nil {
			return func() error { return err }, func() {}
		}
		buf := make([]byte, 4096)
		call := func() error {
			if _, err := nc.Write(request); err != nil {
				return err
			}
			n, err := nc.Read(buf)
			if err == nil && n != len(clientAnswer) {
				err = errWrongAnswer
			}
			return err
		}
		return call, func() { _ = nc.Close() }
	})
}
