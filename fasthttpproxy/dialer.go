// Package fasthttpproxy lets clients connect through proxies: HTTP proxies, by
// CONNECT, and SOCKS5 proxies. It also has a handler that makes a server a proxy itself:
// ReverseProxy.
//
// The functions return a fasthttp.DialFunc for Client.Dial, HostClient.Dial and
// PipelineClient.Dial, for one proxy or for the proxies that the environment names. A Dialer
// has more options. All connections are tunnels, even for plain HTTP, so the proxy never sees
// a request. Use Dialer.ConfigureClient if the proxy should see the requests of plain HTTP. A
// client with such a function ignores its own options for dialing; the options of the Dialer
// apply.
//
// The package is built on the root package. A reader starts with Dialer, or with ReverseProxy.
package fasthttpproxy

import (
	"cmp"
	"context"
	"crypto/tls"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/patience"
	"golang.org/x/net/http/httpproxy"
)

// Dialer connects through proxies. Which proxy depends on the target. The embedded
// TCPDialer connects to the proxies, and to targets for which no proxy is used.
//
// A proxy is given as a URL: "http://host:port", "https://host:port" for TLS with the
// proxy, or "socks5://host:port". Without a scheme it is http. Credentials precede the
// host, as in "user:password@host:port"; characters that are not allowed there must be
// percent-encoded.
//
// The fields must not be changed after first use, and the Dialer must not be copied.
type Dialer struct {
	fasthttp.TCPDialer

	// Config selects the proxy for a target: HTTPProxy for plain HTTP, HTTPSProxy for TLS, and
	// no proxy for the hosts in NoProxy.
	//
	// If NoProxy is empty and both proxies are given by the same text, all
	// connections use that proxy. If NoProxy is empty, all connections of a function
	// from GetDialFuncForTLS use the proxy for its kind. Otherwise connections to
	// "localhost" and to loopback addresses use no proxy. If CGI is set, plain HTTP
	// fails instead of using HTTPProxy: a client may have chosen that in a CGI program.
	httpproxy.Config

	// DialDualStack allows IPv6 as well as IPv4, for connections to proxies and for
	// connections without a proxy.
	DialDualStack bool

	// Timeout limits the time to connect to the proxy, or to the target if there is
	// no proxy. The default is fasthttp.DefaultDialTimeout.
	Timeout time.Duration

	// ConnectTimeout limits the time between the connection to the proxy and the connection of
	// the proxy to the target. It includes a TLS handshake with the proxy. The default is
	// Timeout.
	ConnectTimeout time.Duration

	// ProxyTLSConfig is the configuration for TLS with proxies whose URL begins
	// with "https:".
	ProxyTLSConfig *tls.Config
}

// GetDialFunc returns a function that dials through the proxies of Config. If useEnv is set,
// the proxies are taken from the environment variables HTTP_PROXY, HTTPS_PROXY and NO_PROXY,
// in upper or lower case, which this call reads. GetDialFunc fails if the URL of a proxy
// cannot be used.
//
// The function does not know whether it dials for TLS. If that makes a difference, it assumes
// TLS for port 443 and plain HTTP for all other ports. GetDialFuncForTLS returns a function
// that does know.
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

// GetDialFuncForTLS is like GetDialFunc, for a client that always or never uses TLS: isTLS
// should be the value of HostClient.IsTLS.
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

// ConfigureClient returns a function that makes a client use the proxies of GetDialFunc. Set
// it as Client.ConfigureClient, or call it with a HostClient before its first use. An HTTP
// proxy receives plain HTTP as requests with an absolute URI, which it can read and may answer
// from its cache. TLS, and all connections through a SOCKS proxy, are tunneled.
//
// The first host in HostClient.Addr decides, once, which proxy is used, if any. The errors are the
// same as GetDialFunc's. The returned function returns an error for a host whose proxy cannot
// be used.
func (d *Dialer) ConfigureClient(useEnv bool) (func(hc *fasthttp.HostClient) error, error) {
	config, err := d.config(useEnv)
	if err != nil {
		return nil, err
	}
	pick := pickerForAll(config)
	return func(hc *fasthttp.HostClient) error {
		first, _, _ := strings.Cut(hc.Addr, ",")
		target := &url.URL{Scheme: "http", Host: strings.TrimSpace(first)}
		if hc.IsTLS {
			target.Scheme = "https"
		}
		found, err := pick(target)
		if err != nil {
			return err
		}
		hc.DialContext, hc.DialTimeout = nil, nil
		if found == nil {
			// a dial function of a HostClient gets the addresses as they are
			hc.Dial = func(addr string) (net.Conn, error) { return d.direct(fasthttp.AddMissingPort(addr, hc.IsTLS)) }
			return nil
		}
		p, err := newProxy(found)
		if err != nil {
			return err
		}
		if hc.IsTLS || !p.isHTTP() {
			hc.Dial = func(addr string) (net.Conn, error) { return d.through(p, fasthttp.AddMissingPort(addr, hc.IsTLS)) }
			return nil
		}
		hc.AbsoluteForm, hc.ProxyAuthorization = true, p.authorization()
		hc.Dial = func(addr string) (net.Conn, error) { return d.to(p, addr) }
		return nil
	}, nil
}

// config returns the configuration of proxies. An invalid proxy is an error: the
// connections for it must not be made without a proxy.
func (d *Dialer) config(useEnv bool) (*httpproxy.Config, error) {
	config := d.Config
	if useEnv {
		config = *httpproxy.FromEnvironment()
	}
	config.NoProxy = withoutBrackets(config.NoProxy)
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

// withoutBrackets returns the value of NO_PROXY for package httpproxy, which does not accept
// an IPv6 address in brackets without a port: it removes these brackets.
func withoutBrackets(list string) string {
	hosts := strings.Split(list, ",")
	for i, host := range hosts {
		host = strings.TrimSpace(host)
		if n := len(host); n > 2 && host[0] == '[' && host[n-1] == ']' {
			hosts[i] = host[1 : n-1]
		}
	}
	return strings.Join(hosts, ",")
}

// pickFunc returns the proxy for a URL, or nil for none.
type pickFunc func(*url.URL) (*url.URL, error)

// picker returns the pickFunc of config. If one is set, it is the proxy for all
// targets. Then no target is excluded, not even this host, unless NoProxy or CGI is
// set.
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

// pickerForAll is like picker, for connections with and without TLS.
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

// to connects to a proxy that receives the requests for addr itself.
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

// through connects to addr by a tunnel of a proxy.
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
	return cmp.Or(max(d.Timeout, 0), patience.Dial)
}

// network returns the network for the TCPDialer: for "tcp" DialDualStack selects the IP
// versions.
func (d *Dialer) network(network string) string {
	if network == "tcp" && !d.DialDualStack {
		return "tcp4"
	}
	return network
}

// Dial connects to addr without a proxy, within Timeout. With this method a Dialer is a dialer
// for other packages, such as golang.org/x/net/proxy. network is "tcp4", "tcp6", or "tcp", for
// which DialDualStack selects the IP versions. The errors are the same as
// fasthttp.TCPDialer.DialContext's.
func (d *Dialer) Dial(network, addr string) (net.Conn, error) {
	return d.DialContext(context.Background(), network, addr)
}

// DialContext is like Dial, and returns early when ctx ends.
func (d *Dialer) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, d.timeout())
	defer cancel()
	return d.TCPDialer.DialContext(ctx, d.network(network), addr)
}

// DialerFunc makes a function a Dialer of golang.org/x/net/proxy.
type DialerFunc func(network, addr string) (net.Conn, error)

// Dial calls the function, and returns its connection and its error.
func (d DialerFunc) Dial(network, addr string) (net.Conn, error) { return d(network, addr) }

// SetProxyTLSConfig sets Dialer.ProxyTLSConfig, for frameworks that must also compile with
// v1.77.0, which does not have that field.
func (d *Dialer) SetProxyTLSConfig(value *tls.Config) { d.ProxyTLSConfig = value }
