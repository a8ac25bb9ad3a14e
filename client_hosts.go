package fasthttp

import (
	"errors"
	"strings"
	"time"

	"github.com/valyala/fasthttp/internal/hostmap"
)

// hostClient returns the client for a host, with one more call pending: as long
// as there is one, it is not dropped.
func (c *Client) hostClient(host []byte, isTLS bool) (*HostClient, error) {
	if hc, ok := c.hosts.Find(host, isTLS); ok {
		return hc, nil
	}
	return c.addHost(string(host), isTLS)
}

// addHost is hostClient for the first call to a host. "a" and "a:80" are the same
// host.
func (c *Client) addHost(host string, isTLS bool) (*HostClient, error) {
	name, err := asciiHost(host)
	if err != nil {
		return nil, err
	}
	addr := AddMissingPort(name, isTLS)
	if strings.ContainsAny(addr, ", ") {
		// it would be a list of addresses
		return nil, errBadHost
	}
	return c.hosts.Add(host, addr, isTLS, func() (h hostmap.Host[*HostClient], err error) {
		hc := c.newHostClient(addr, isTLS)
		if c.ConfigureClient != nil {
			err = c.ConfigureClient(hc)
		}
		return hostmap.Host[*HostClient]{Value: hc, Users: &hc.pending, Unused: hc.unused}, err
	})
}

var errBadHost = errors.New("fasthttp: the host of the request is no host")

func (c *Client) newHostClient(addr string, isTLS bool) *HostClient {
	return &HostClient{
		Addr:                          addr,
		IsTLS:                         isTLS,
		Transport:                     c.Transport,
		Dial:                          c.Dial,
		DialTimeout:                   c.DialTimeout,
		DialContext:                   c.DialContext,
		DialDualStack:                 c.DialDualStack,
		TLSConfig:                     c.TLSConfig,
		Name:                          c.Name,
		NoDefaultUserAgentHeader:      c.NoDefaultUserAgentHeader,
		MaxConns:                      c.MaxConnsPerHost,
		MaxConnDuration:               c.MaxConnDuration,
		MaxIdleConnDuration:           c.MaxIdleConnDuration,
		MaxConnWaitTimeout:            c.MaxConnWaitTimeout,
		MaxIdemponentCallAttempts:     c.MaxIdemponentCallAttempts,
		ConnPoolStrategy:              c.ConnPoolStrategy,
		ReadBufferSize:                c.ReadBufferSize,
		WriteBufferSize:               c.WriteBufferSize,
		ReadTimeout:                   c.ReadTimeout,
		ResponseHeaderTimeout:         c.ResponseHeaderTimeout,
		TLSHandshakeTimeout:           c.TLSHandshakeTimeout,
		WriteTimeout:                  c.WriteTimeout,
		ExpectContinueTimeout:         c.ExpectContinueTimeout,
		MaxResponseBodySize:           c.MaxResponseBodySize,
		StreamResponseBody:            c.StreamResponseBody,
		DisableHeaderNamesNormalizing: c.DisableHeaderNamesNormalizing,
		DisablePathNormalizing:        c.DisablePathNormalizing,
		RetryIf:                       c.RetryIf,
		RetryIfErr:                    c.RetryIfErr,
		RetryIfErrUpstream:            c.RetryIfErrUpstream,
		Protocols:                     c.Protocols,
		HTTP2:                         c.HTTP2,
		Trace:                         c.Trace,
		CheckRedirect:                 c.CheckRedirect,
		Jar:                           c.Jar,
	}
}

// unused reports whether a Client may drop c if there is no call.
func (c *HostClient) unused() bool {
	return c.ConnsCount() == 0 && time.Since(c.LastUseTime()) >= hostmap.SweepInterval
}
