package tlsload

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp/bench/internal/dial"
	"github.com/valyala/fasthttp/bench/internal/probe"
	"github.com/valyala/fasthttp/bench/internal/stats"
	"github.com/valyala/fasthttp/bench/internal/steady"
)

// lastRequest returns a request that asks the server to close the connection after its
// response.
func (l Load) lastRequest() []byte {
	return []byte("GET / HTTP/1.1\r\nHost: " + l.Addr + "\r\nConnection: close\r\n\r\n")
}

// exchange performs one connection of a handshake client, and reports whether it resumed a
// session.
func (l Load) exchange(config *tls.Config) (resumed bool, err error) {
	nc, err := net.DialTimeout("tcp4", l.Addr, patience)
	if err != nil {
		return false, err
	}
	defer nc.Close()
	if err := nc.SetDeadline(time.Now().Add(patience)); err != nil {
		return false, err
	}
	client := tls.Client(nc, config)
	if _, err := client.Write(l.lastRequest()); err != nil {
		return false, err
	}
	response, err := io.ReadAll(client)
	if err != nil {
		return false, err
	}
	whole, err := probe.Check(response)
	if err == nil && !whole {
		err = errors.New("the response is not whole")
	}
	return client.ConnectionState().DidResume, err
}

// oneSession is a cache that keeps the first session, to resume it again and again.
type oneSession struct {
	mu    sync.Mutex
	first *tls.ClientSessionState
}

func (s *oneSession) Get(string) (*tls.ClientSessionState, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.first, s.first != nil
}

func (s *oneSession) Put(_ string, session *tls.ClientSessionState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.first == nil {
		s.first = session
	}
}

// config returns the configuration of the handshakes, with a session if they must resume one.
func (l Load) config() (*tls.Config, error) {
	config := probe.TLSConfig()
	if l.Kind != Resumed {
		return config, nil
	}
	cache := new(oneSession)
	config.ServerName, config.ClientSessionCache = "localhost", cache
	_, err := l.exchange(config)
	if err == nil && cache.first == nil {
		err = errors.New("the server gives no tickets")
	}
	return config, err
}

// recorder keeps the written bytes.
type recorder struct {
	net.Conn
	text []byte
}

func (r *recorder) Write(p []byte) (int, error) {
	r.text = append(r.text, p...)
	return len(p), nil
}

func (r *recorder) Read([]byte) (int, error) { return 0, io.EOF }

func (r *recorder) Close() error { return nil }

// hello returns a ClientHello.
func hello() []byte {
	r := new(recorder)
	_ = tls.Client(r, probe.TLSConfig()).Handshake()
	return r.text
}

// shake performs handshakes as fast as possible.
func (l Load) shake(ctx context.Context) (r Result, err error) {
	config, err := l.config()
	if err != nil {
		return r, err
	}
	lists := make([][]time.Duration, l.Conns)
	var all atomic.Int64
	begin := time.Now()
	first, last := begin.Add(l.Warm), begin.Add(l.Warm+l.Time)
	err = steady.Each(l.Conns, func(i int) error {
		for ctx.Err() == nil {
			from := time.Now()
			if from.After(last) {
				return nil
			}
			resumed, err := l.exchange(config)
			if err == nil && resumed != (l.Kind == Resumed) {
				err = fmt.Errorf("resumed: %v", resumed)
			}
			if err != nil {
				return err
			}
			all.Add(1)
			if now := time.Now(); now.After(first) && now.Before(last) {
				lists[i] = append(lists[i], now.Sub(from))
			}
		}
		return ctx.Err()
	})
	return l.result(int(all.Load()), slices.Concat(lists...)), err
}

func (l Load) result(done int, times []time.Duration) Result {
	return Result{
		Done: done, Rate: float64(len(times)) / l.Time.Seconds(),
		P50: stats.Percentile(times, 50), P99: stats.Percentile(times, 99),
	}
}

// ask sends requests at a steady rate over connections that are established.
func (l Load) ask(ctx context.Context) (r Result, err error) {
	times, err := steady.Run(ctx, steady.Load{Conns: l.Conns, Rate: l.Rate, Time: l.Time}, func() (*probe.Conn, error) {
		conn, err := probe.DialTLS("", l.Addr, "/")
		if err != nil {
			return nil, err
		}
		return conn, conn.Get()
	})
	return l.result(len(times), times), err
}

// dialAndSay connects and writes p.
func (l Load) dialAndSay(p []byte) (net.Conn, error) {
	nc, err := dial.TCP("", l.Addr, nil)
	if err != nil {
		return nil, err
	}
	if _, err = nc.Write(p); err != nil {
		_ = nc.Close()
		return nil, err
	}
	return nc, nil
}

// holdHalf is a flood of HalfOpen clients. The end of the process closes their connections:
// with its low priority it may take long to close each.
func (l Load) holdHalf(ctx context.Context, open func() error) (r Result, err error) {
	half := hello()
	half = half[:len(half)/2]
	held := make([]net.Conn, l.Conns)
	for i := range held {
		if held[i], err = l.dialAndSay(half); err != nil {
			return r, err
		}
	}
	if err := open(); err != nil {
		return r, err
	}
	interval := time.Second / time.Duration(l.Rate)
	begin := time.Now()
	next := begin
	for i := 0; steady.Sleep(ctx, time.Until(next)); i = (i + 1) % len(held) {
		_ = held[i].Close()
		if held[i], err = l.dialAndSay(half); err != nil {
			return r, err
		}
		r.Done++
		next = next.Add(interval)
	}
	r.Rate = float64(r.Done) / time.Since(begin).Seconds()
	r.Done += len(held)
	return r, nil
}

// greet is a flood of Hellos.
func (l Load) greet(ctx context.Context, open func() error) (r Result, err error) {
	text := hello()
	var all atomic.Int64
	var once sync.Once
	var opened error
	begin := time.Now()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	err = steady.Each(l.Conns, func(int) (err error) {
		defer func() {
			if ctx.Err() != nil {
				err = nil
			} else if err != nil {
				cancel() // one error is enough
			}
		}()
		b := make([]byte, 4<<10)
		for ctx.Err() == nil {
			nc, err := l.dialAndSay(text)
			if err != nil {
				return err
			}
			_ = nc.SetReadDeadline(time.Now().Add(patience))
			_, err = nc.Read(b)
			_ = nc.Close()
			if err != nil {
				return err
			}
			all.Add(1)
			once.Do(func() { opened = open() })
		}
		return nil
	})
	done := int(all.Load())
	return Result{Done: done, Rate: float64(done) / time.Since(begin).Seconds()}, errors.Join(err, opened)
}
