package overload

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/valyala/fasthttp/bench/internal/epoll"
	"github.com/valyala/fasthttp/bench/internal/stats"
	"github.com/valyala/fasthttp/bench/internal/study"
)

// The client is one goroutine that never waits: it sends each request when it is due, however
// many responses are missing, as the many clients of a public service do.

// client has connections to the server.
type client struct {
	sockets *epoll.Conns
	conns   []conn
	idle    []int
}

// conn is a connection with one request at a time.
type conn struct {
	due  time.Time // of the request
	data []byte    // of the response
}

// dial opens n connections.
func dial(addr string, n int) (*client, error) {
	sockets, err := epoll.New(256)
	if err != nil {
		return nil, err
	}
	if err := sockets.Dial(addr, n); err != nil {
		sockets.Close()
		return nil, err
	}
	c := &client{sockets: sockets, conns: make([]conn, n)}
	for i := range n {
		c.idle = append(c.idle, i)
	}
	return c, nil
}

// load sends rate requests per second, at random times, for this long. A rate of 0 means as many
// as the connections allow.
func (c *client) load(rate float64, lasts time.Duration) (study.Figures, error) {
	begin := time.Now()
	end := begin.Add(lasts)
	due := begin
	var sent, refused, unsent int
	var times []time.Duration
	for {
		now := time.Now()
		if now.After(end) && (len(c.idle) == len(c.conns) || now.After(end.Add(10*time.Second))) {
			break
		}
		for now.Before(end) && !due.After(now) {
			if len(c.idle) == 0 {
				if rate == 0 {
					break
				}
				unsent++
			} else if err := c.send(due, rate == 0); err != nil {
				return nil, err
			}
			sent++
			if rate > 0 {
				due = due.Add(time.Duration(rand.ExpFloat64() / rate * float64(time.Second)))
			}
		}
		err := c.receive(func(took time.Duration, status int) {
			if status != 200 {
				refused++
			} else {
				times = append(times, took)
			}
		})
		if err != nil {
			return nil, err
		}
	}
	if sent == 0 || len(c.idle) < len(c.conns) {
		return nil, errors.New("some requests got no response")
	}
	return study.Figures{
		offered: float64(sent) / lasts.Seconds(), served: float64(len(times)) / lasts.Seconds(),
		refusals: 100 * float64(refused) / float64(sent), unsents: 100 * float64(unsent) / float64(sent),
		study.P50: study.Micros(stats.Percentile(times, 50)), study.P99: study.Micros(stats.Percentile(times, 99)),
	}, nil
}

var request = []byte("GET /work HTTP/1.1\r\nHost: overload\r\n\r\n")

// send sends a request over an idle connection.
func (c *client) send(due time.Time, closed bool) error {
	i := c.idle[len(c.idle)-1]
	c.idle = c.idle[:len(c.idle)-1]
	x := &c.conns[i]
	if x.due, x.data = due, x.data[:0]; closed {
		x.due = time.Now()
	}
	_, err := c.sockets.Write(i, request)
	return err
}

// receive takes the responses that have arrived.
func (c *client) receive(got func(took time.Duration, status int)) error {
	events, err := c.sockets.Wait(0)
	if err != nil {
		return err
	}
	for _, event := range events {
		x := &c.conns[event.Conn]
		var buf [4096]byte
		n, err := c.sockets.Read(event.Conn, buf[:])
		if err != nil {
			return err
		}
		x.data = append(x.data, buf[:n]...)
		if status, whole := parse(x.data); whole {
			got(time.Since(x.due), status)
			c.idle = append(c.idle, event.Conn)
		}
	}
	return nil
}

// parse returns the status of a response, and reports whether all of it is there.
func parse(data []byte) (status int, whole bool) {
	head, body, whole := bytes.Cut(data, []byte("\r\n\r\n"))
	if !whole || len(head) < len("HTTP/1.1 200") {
		return 0, false
	}
	status, _ = strconv.Atoi(string(head[len("HTTP/1.1 "):len("HTTP/1.1 200")]))
	_, length, _ := bytes.Cut(head, []byte("\r\nContent-Length: "))
	length, _, _ = bytes.Cut(length, []byte("\r\n"))
	size, err := strconv.Atoi(string(length))
	return status, err == nil && len(body) >= size
}
