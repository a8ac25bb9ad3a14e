// Package fasthttpproxy lets clients connect through proxies: those of HTTP, by
// way of CONNECT, and SOCKS5.
//
// The functions return a fasthttp.DialFunc for Client.Dial, HostClient.Dial and
// PipelineClient.Dial, for one proxy or for those that the environment names.
// A Dialer has more to be chosen. Everything is tunneled, plain HTTP too, so that
// the proxy never sees a request; Dialer.ConfigureClient is for proxies that are to
// see those of plain HTTP. With a proxy of the client's own, options of
// the client that concern dialing have no effect: a Dialer has its own.
//
// It is built on the root package. A reader starts with Dialer.
package fasthttpproxy

import (
	"cmp"
	"context"
	"crypto/tls"
	"net"
	"net/url"
	"time"

	"github.com/valyala/fasthttp"
	"golang.org/x/net/http/httpproxy"
)

// Dialer connects through proxies, which depend on where to. How it reaches
// them, and what needs no proxy, is up to the TCPDialer in it.
//
// A proxy is named by a URL: "http://host:port", "https://host:port" where TLS
// is spoken with the proxy, or "socks5://host:port"; without a scheme it is
// http. Credentials go in front of the host, as in "user:password@host:port",
// with percent-escapes for what does not fit there.
//
// The fields must not be changed after first use, nor the Dialer copied.
type Dialer struct {
	fasthttp.TCPDialer

	// Config says which proxy is for whom: HTTPProxy for plain HTTP, HTTPSProxy
	// for TLS, and NoProxy for hosts that are to be reached without one.
	//
	// Where NoProxy is empty and both proxies are named by the same text, everything
	// goes through that one, and all that a function of GetDialFuncForTLS dials goes
	// through the one for it. Otherwise nothing that is "localhost" or a loopback
	// address goes through a proxy, and with CGI nothing of plain HTTP.
	httpproxy.Config

	// DialDualStack makes connections to proxies, and those that need no proxy,
	// over IPv6 as well as IPv4.
	DialDualStack bool

	// Timeout limits how long it may take to connect to the proxy, or to the
	// target where there is none: fasthttp.DefaultDialTimeout by default.
	Timeout time.Duration

	// ConnectTimeout limits how long the proxy may take after that to connect
	// to the target, a TLS handshake with the proxy included: as long as Timeout
	// by default.
	ConnectTimeout time.Duration

	// ProxyTLSConfig is the configuration for TLS with proxies whose URL begins
	// with "https:".
	ProxyTLSConfig *tls.Config
}

// GetDialFunc returns a function that dials through the proxies of Config, or
// with useEnv through those that the environment variables HTTP_PROXY,
// HTTPS_PROXY and NO_PROXY name, in upper or lower case, as they are now. It
// fails where the URL of a proxy cannot be used.
//
// The function is not told whether it dials for TLS. Where that makes a
// difference it takes port 443 for TLS and all others for plain HTTP; a function
// of GetDialFuncForTLS knows better.
func (d *Dialer) GetDialFunc(useEnv bool) (fasthttp.DialFunc, error) {
	config, err := d.config(useEnv)
	if err != nil {
		return nil, err
	}
	pick := pickerForAll(config)
	return func(addr string) (net.Conn, error) {
		_, port, err := net.SplitHostPort(addr)
		if err != nil {
			return nil, err
		}
		return d.dialPicked(pick, addr, port == "443")
	}, nil
}

// GetDialFuncForTLS is GetDialFunc for a client of which it is known whether it
// speaks TLS: isTLS is to be what HostClient.IsTLS is.
func (d *Dialer) GetDialFuncForTLS(useEnv, isTLS bool) (fasthttp.DialFunc, error) {
	config, err := d.config(useEnv)
	if err != nil {
		return nil, err
	}
	one := config.HTTPProxy
	if isTLS {
		one = config.HTTPSProxy
	}
	pick := picker(config, true, one)
	return func(addr string) (net.Conn, error) { return d.dialPicked(pick, addr, isTLS) }, nil
}

// ConfigureClient returns a function for Client.ConfigureClient, or to be called
// with a HostClient before its first use, that makes a client use the proxies of
// GetDialFunc. Plain HTTP goes to an HTTP proxy as requests with an absolute URI,
// which the proxy understands and may answer from its cache; TLS, and all that
// goes through a SOCKS proxy, is tunneled.
//
// Which proxy is used, if any, is decided by the host in HostClient.Addr, once. The
// errors are those of GetDialFunc; the function returns one for a host whose proxy
// cannot be used.
func (d *Dialer) ConfigureClient(useEnv bool) (func(hc *fasthttp.HostClient) error, error) {
	config, err := d.config(useEnv)
	if err != nil {
		return nil, err
	}
	pick := pickerForAll(config)
	return func(hc *fasthttp.HostClient) error {
		target := &url.URL{Scheme: "http", Host: hc.Addr}
		if hc.IsTLS {
			target.Scheme = "https"
		}
		found, err := pick(target)
		if err != nil {
			return err
		}
		hc.DialContext, hc.DialTimeout = nil, nil
		if found == nil {
			hc.Dial = d.direct
			return nil
		}
		p, err := newProxy(found)
		if err != nil {
			return err
		}
		if hc.IsTLS || !p.isHTTP() {
			hc.Dial = func(addr string) (net.Conn, error) { return d.through(p, addr) }
			return nil
		}
		hc.AbsoluteForm, hc.ProxyAuthorization = true, p.authorization()
		hc.Dial = func(addr string) (net.Conn, error) { return d.to(p, addr) }
		return nil
	}, nil
}

// config returns which proxy is for whom. A proxy that is not understood is an
// error: what was to go through it must not go without.
func (d *Dialer) config(useEnv bool) (*httpproxy.Config, error) {
	config := d.Config
	if useEnv {
		config = *httpproxy.FromEnvironment()
	}
	for _, text := range []string{config.HTTPProxy, config.HTTPSProxy} {
		if text == "" {
			continue
		}
		if _, err := parseProxy(withScheme(text, "http")); err != nil {
			return nil, err
		}
	}
	return &config, nil
}

// pickFunc knows the proxy for a URL, which is nil where there is none.
type pickFunc func(*url.URL) (*url.URL, error)

// picker returns the pickFunc of config. With one, the proxy is the same for all.
// Then nothing is excluded, not even this host, unless NoProxy says that something
// is.
func picker(config *httpproxy.Config, one bool, proxy string) pickFunc {
	if !one || config.NoProxy != "" || config.CGI {
		return config.ProxyFunc()
	}
	var found *url.URL
	var err error
	if proxy != "" {
		found, err = url.Parse(withScheme(proxy, "http"))
	}
	return func(*url.URL) (*url.URL, error) { return found, err }
}

// pickerForAll is picker for connections with and without TLS.
func pickerForAll(config *httpproxy.Config) pickFunc {
	return picker(config, config.HTTPProxy == config.HTTPSProxy, config.HTTPProxy)
}

func (d *Dialer) dialPicked(pick pickFunc, addr string, isTLS bool) (net.Conn, error) {
	target := &url.URL{Scheme: "http", Host: addr}
	if isTLS {
		target.Scheme = "https"
	}
	found, err := pick(target)
	if err != nil {
		return nil, err
	}
	if found == nil {
		return d.direct(addr)
	}
	p, err := newProxy(found)
	if err != nil {
		return nil, err
	}
	return d.through(p, addr)
}

// direct connects without a proxy.
func (d *Dialer) direct(addr string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), d.timeout())
	defer cancel()
	return d.TCPDialer.DialContext(ctx, d.network("tcp"), addr)
}

// to connects to a proxy that is asked for what is at addr request by request.
func (d *Dialer) to(p *proxy, addr string) (net.Conn, error) {
	conn, err := d.direct(p.addr)
	if err != nil {
		return nil, &Error{Proxy: p.addr, Target: addr, cause: err}
	}
	if p.scheme != "https" {
		return conn, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), cmp.Or(max(d.ConnectTimeout, 0), d.timeout()))
	defer cancel()
	secure, err := p.handshake(ctx, conn, d.ProxyTLSConfig)
	if err != nil {
		_ = conn.Close()
		return nil, &Error{Proxy: p.addr, Target: addr, cause: err}
	}
	return secure, nil
}

// through connects to addr by way of a proxy.
func (d *Dialer) through(p *proxy, addr string) (net.Conn, error) {
	target, err := checkTarget(addr)
	if err != nil {
		return nil, err
	}
	conn, err := d.direct(p.addr)
	if err != nil {
		return nil, &Error{Proxy: p.addr, Target: addr, cause: err}
	}
	ctx, cancel := context.WithTimeout(context.Background(), cmp.Or(max(d.ConnectTimeout, 0), d.timeout()))
	defer cancel()
	tunnel, err := p.tunnel(ctx, conn, target, d.ProxyTLSConfig)
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	return tunnel, nil
}

func (d *Dialer) timeout() time.Duration {
	return cmp.Or(max(d.Timeout, 0), fasthttp.DefaultDialTimeout)
}

// network returns what the TCPDialer is to use for network: "tcp" leaves the IP
// version to DialDualStack.
func (d *Dialer) network(network string) string {
	if network == "tcp" && !d.DialDualStack {
		return "tcp4"
	}
	return network
}

// Dial connects to addr without a proxy, within Timeout. It makes the Dialer a
// dialer for packages that want one, such as golang.org/x/net/proxy. network is
// "tcp", which leaves the IP version to DialDualStack, "tcp4" or "tcp6". The errors
// are those of fasthttp.TCPDialer.DialContext.
func (d *Dialer) Dial(network, addr string) (net.Conn, error) {
	return d.DialContext(context.Background(), network, addr)
}

// DialContext is Dial that gives up when ctx ends.
func (d *Dialer) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, d.timeout())
	defer cancel()
	return d.TCPDialer.DialContext(ctx, d.network(network), addr)
}

// DialerFunc makes a function a dialer as golang.org/x/net/proxy has them.
type DialerFunc func(network, addr string) (net.Conn, error)

// Dial calls the function, and returns its connection and its error.
func (d DialerFunc) Dial(network, addr string) (net.Conn, error) { return d(network, addr) }
