package fasthttp

import (
	"errors"
	"maps"
	"strings"
	"time"

	"github.com/valyala/fasthttp/internal/bytesconv"
)

// hostSweep is how often hosts are dropped that are not used any more.
const hostSweep = 10 * time.Second

// hostClient returns the client for a host, with one more call pending: as long
// as there is one, it is not dropped.
func (c *Client) hostClient(host []byte, isTLS bool) (*HostClient, error) {
	if hc, ok := c.known.Find(host, isTLS); ok {
		return hc, nil
	}
	i := 0
	if isTLS {
		i = 1
	}
	c.mu.RLock()
	hc := c.hosts[i][string(host)]
	if hc != nil {
		// none is dropped before the lock is given back
		hc.pending.Add()
		c.known.Keep(host, isTLS, hc, &hc.pending)
	}
	c.mu.RUnlock()
	if hc != nil {
		return hc, nil
	}
	return c.addHost(string(host), isTLS, i)
}

// addHost is hostClient for the first call to a host. "a" and "a:80" are the same
// host.
func (c *Client) addHost(host string, isTLS bool, i int) (*HostClient, error) {
	name, err := asciiHost(host)
	if err != nil {
		return nil, err
	}
	addr := AddMissingPort(name, isTLS)
	if strings.ContainsAny(addr, ", ") {
		// it would be a list of addresses
		return nil, errBadHost
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	hc := c.hosts[i][host]
	if hc == nil {
		hc = c.hosts[i][addr]
	}
	if hc == nil {
		hc = c.newHostClient(addr, isTLS)
		if c.ConfigureClient != nil {
			if err := c.ConfigureClient(hc); err != nil {
				return nil, err
			}
		}
	}
	if c.hosts[i] == nil {
		c.hosts[i] = make(map[string]*HostClient)
	}
	c.hosts[i][host], c.hosts[i][addr] = hc, hc
	hc.pending.Add()
	c.known.Keep(bytesconv.Bytes(host), isTLS, hc, &hc.pending)
	if c.sweep == nil {
		c.sweep = time.AfterFunc(hostSweep, c.dropUnused)
	}
	return hc, nil
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
		Trace:                         c.Trace,
		CheckRedirect:                 c.CheckRedirect,
		Jar:                           c.Jar,
	}
}

// dropUnused drops the hosts that have no connection and no call. As long as
// there are hosts left it runs again; a Client that is not used has no timer.
func (c *Client) dropUnused() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, hosts := range c.hosts {
		for _, hc := range hosts {
			hc.pending.DropIf(hc.unused)
		}
	}
	left := 0
	for _, hosts := range c.hosts {
		// a host may be there by two names
		maps.DeleteFunc(hosts, func(_ string, hc *HostClient) bool { return hc.pending.Dropped() })
		left += len(hosts)
	}
	c.known.Forget()
	if c.sweep != nil {
		c.sweep.Stop()
		c.sweep = nil
	}
	if left > 0 {
		c.sweep = time.AfterFunc(hostSweep, c.dropUnused)
	}
}

// all returns the clients of all hosts.
func (c *Client) all() (all []*HostClient) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	seen := make(map[*HostClient]bool)
	for _, hosts := range c.hosts {
		for _, hc := range hosts {
			if !seen[hc] {
				seen[hc] = true
				all = append(all, hc)
			}
		}
	}
	return all
}

// unused reports whether a Client may drop c if there is no call.
func (c *HostClient) unused() bool {
	return c.ConnsCount() == 0 && time.Since(c.LastUseTime()) >= hostSweep
}
