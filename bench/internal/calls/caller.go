package calls

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync/atomic"

	"github.com/valyala/fasthttp"

	"github.com/valyala/fasthttp/bench/internal/probe"
	"github.com/valyala/fasthttp/bench/internal/protocols"
	"github.com/valyala/fasthttp/bench/internal/serving"
)

// The clients, in the order they are measured and shown.
const (
	OursHTTP2    = "ours, HTTP/2"
	NetHTTPHTTP2 = "net/http, HTTP/2"
	OursHTTP1    = "ours, HTTP/1.1"
	Bare         = "ready frames" // see bare
)

var clients = []string{OursHTTP2, NetHTTPHTTP2, OursHTTP1, Bare}

var (
	errNoHTTP2     = errors.New("this client has no HTTP/2")
	errBareNoHTTP2 = errors.New("the server has not agreed to HTTP/2")
)

// target is what all calls ask for.
const target = "/item?id=1729"

// client has the state that the callers share, and counts their connections.
type client struct {
	job   job
	conns atomic.Int64
}

func (c *client) url() string { return "https://" + c.job.Addr + target }

func (c *client) dial(addr string) (net.Conn, error) {
	c.conns.Add(1)
	return net.Dial("tcp4", addr)
}

// The certificate of the server is made for the run, and no client verifies it.
var tlsConfig = tls.Config{InsecureSkipVerify: true}

// crew has the callers of a client.
type crew struct {
	size      int // number of calling goroutines
	each      int // calls that a caller makes at once
	newCaller func() func() error
}

func (c *client) prepare() (crew, error) {
	var err error
	all := crew{size: c.job.Callers, each: 1}
	switch c.job.Client {
	case OursHTTP1, OursHTTP2:
		all.newCaller, err = c.ours()
	case NetHTTPHTTP2:
		all.newCaller, err = c.netHTTP()
	case Bare:
		all.size, all.each = 1, c.job.Callers
		all.newCaller, err = c.bare()
	default:
		err = fmt.Errorf("there is no client %q", c.job.Client)
	}
	return all, err
}

func (c *client) ours() (func() func() error, error) {
	ours := &fasthttp.Client{TLSConfig: tlsConfig.Clone(), MaxConnsPerHost: c.job.Callers, Dial: c.dial}
	want := "HTTP/1.1"
	if c.job.Client == OursHTTP2 {
		if want = "HTTP/2.0"; !protocols.OnlyHTTP2(ours) {
			return nil, errNoHTTP2
		}
	}
	return func() func() error {
		req, resp := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
		url := c.url()
		return func() error {
			req.SetRequestURI(url)
			if err := ours.Do(req, resp); err != nil {
				return err
			}
			if resp.StatusCode() != 200 || string(resp.Header.Protocol()) != want || string(resp.Body()) != serving.Body {
				return fmt.Errorf("a response with status %d by %s: %q", resp.StatusCode(), resp.Header.Protocol(), resp.Body())
			}
			return nil
		}
	}, nil
}

func (c *client) netHTTP() (func() func() error, error) {
	transport := &http.Transport{
		TLSClientConfig:    tlsConfig.Clone(),
		DisableCompression: true,
		DialContext:        func(_ context.Context, _, addr string) (net.Conn, error) { return c.dial(addr) },
	}
	if !protocols.OnlyHTTP2(transport) {
		return nil, errNoHTTP2
	}
	client := &http.Client{Transport: transport}
	return func() func() error {
		url := c.url()
		return func() error {
			resp, err := client.Get(url)
			if err != nil {
				return err
			}
			defer resp.Body.Close()
			body, err := io.ReadAll(resp.Body)
			if err != nil {
				return err
			}
			if resp.StatusCode != 200 || resp.Proto != "HTTP/2.0" || string(body) != serving.Body {
				return fmt.Errorf("a response with status %d by %s: %q", resp.StatusCode, resp.Proto, body)
			}
			return nil
		}
	}, nil
}

// bare is a minimal HTTP/2 client: it sends requests encoded in advance, all callers' requests
// in one write, and counts the streams that the server ends. Its calls cost only TLS and the
// system; no client with crypto/tls can cost less.
func (c *client) bare() (func() func() error, error) {
	conn, err := c.dial(c.job.Addr)
	if err != nil {
		return nil, err
	}
	config := tlsConfig.Clone()
	config.NextProtos = []string{"h2"}
	secure := tls.Client(conn, config)
	err = secure.Handshake()
	if err == nil && secure.ConnectionState().NegotiatedProtocol != "h2" {
		err = errBareNoHTTP2
	}
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	const get, https, authority, path = 0x80 | 2, 0x80 | 7, 1, 4
	fields := append([]byte{get, https, authority, byte(len(c.job.Addr))}, c.job.Addr...)
	fields = append(append(fields, path, byte(len(target))), target...)
	h2, buf := probe.NewHTTP2(secure, fields), make([]byte, 16<<10)
	return func() func() error {
		return func() error { return h2.Call(c.job.Callers, buf) }
	}, nil
}
