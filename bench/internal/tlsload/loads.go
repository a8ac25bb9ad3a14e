package tlsload

import (
	"context"
	"errors"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp/bench/internal/probe"
	"github.com/valyala/fasthttp/bench/internal/stats"
	"github.com/valyala/fasthttp/bench/internal/steady"
	"github.com/valyala/fasthttp/bench/internal/tls13"
)

// lastRequest returns a request that asks the server to close the connection after its
// response.
func (l Load) lastRequest() []byte {
	return []byte("GET / HTTP/1.1\r\nHost: " + l.Addr + "\r\nConnection: close\r\n\r\n")
}

// exchange performs one connection of a handshake client.
func (l Load) exchange(client *tls13.Client, request []byte) (*tls13.Ticket, error) {
	nc, err := net.DialTimeout("tcp4", l.Addr, patience)
	if err != nil {
		return nil, err
	}
	defer nc.Close()
	if err := nc.SetDeadline(time.Now().Add(patience)); err != nil {
		return nil, err
	}
	var response []byte
	ticket, err := client.Exchange(nc, request, func(p []byte) (bool, error) {
		response = append(response, p...)
		_, err := probe.Check(response)
		return false, err
	})
	if err != nil {
		return nil, err
	}
	if whole, err := probe.Check(response); err != nil || !whole {
		return nil, errors.Join(errors.New("the response is not whole"), err)
	}
	return ticket, nil
}

// client returns the client of the handshakes, with a session if it must resume one.
func (l Load) client() (*tls13.Client, error) {
	client, err := tls13.New()
	if err != nil || l.Kind != Resumed {
		return client, err
	}
	ticket, err := l.exchange(client, l.lastRequest())
	if err != nil {
		return nil, err
	}
	if ticket == nil {
		return nil, errors.New("the server gives no tickets")
	}
	return client.Resume(ticket), nil
}

// shake performs handshakes as fast as possible.
func (l Load) shake(ctx context.Context) (r Result, err error) {
	client, err := l.client()
	if err != nil {
		return r, err
	}
	request := l.lastRequest()
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
			if _, err := l.exchange(client, request); err != nil {
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

// dialAndSay connects and writes p. When the connection is closed, or this process ends, the
// kernel does not keep it.
func (l Load) dialAndSay(p []byte) (net.Conn, error) {
	nc, err := net.DialTimeout("tcp4", l.Addr, patience)
	if err != nil {
		return nil, err
	}
	if tcp, ok := nc.(*net.TCPConn); ok {
		err = tcp.SetLinger(0)
	}
	if err == nil {
		_, err = nc.Write(p)
	}
	if err != nil {
		_ = nc.Close()
		return nil, err
	}
	return nc, nil
}

// holdHalf is a flood of HalfOpen clients. The end of the process closes their connections:
// with its low priority it may take long to close each.
func (l Load) holdHalf(ctx context.Context, open func() error) (r Result, err error) {
	client, err := tls13.New()
	if err != nil {
		return r, err
	}
	half := client.Hello()[:len(client.Hello())/2]
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
	client, err := tls13.New()
	if err != nil {
		return r, err
	}
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
			nc, err := l.dialAndSay(client.Hello())
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
