package fasthttpproxy

import (
	"net"
	"time"

	"github.com/valyala/fasthttp"
)

// FasthttpHTTPDialer returns a function that connects through an HTTP proxy, by
// way of CONNECT:
//
//	c := &fasthttp.Client{
//		Dial: fasthttpproxy.FasthttpHTTPDialer("user:password@localhost:8080"),
//	}
//
// proxy is "host:port" or a URL, as for a Dialer. Everything goes through it,
// whatever the environment says; an empty one stands for no proxy. Where it is
// not understood every dial fails.
func FasthttpHTTPDialer(proxy string) fasthttp.DialFunc {
	return fixed(new(Dialer), proxy, "http")
}

// FasthttpHTTPDialerTimeout is FasthttpHTTPDialer with a timeout, both for the
// connection to the proxy and for what the proxy does then.
func FasthttpHTTPDialerTimeout(proxy string, timeout time.Duration) fasthttp.DialFunc {
	return fixed(&Dialer{Timeout: timeout, ConnectTimeout: timeout}, proxy, "http")
}

// FasthttpHTTPDialerDualStack is FasthttpHTTPDialer that reaches the proxy over
// IPv6 as well as IPv4.
func FasthttpHTTPDialerDualStack(proxy string) fasthttp.DialFunc {
	return fixed(&Dialer{DialDualStack: true}, proxy, "http")
}

// FasthttpHTTPDialerDualStackTimeout is FasthttpHTTPDialerTimeout that reaches
// the proxy over IPv6 as well as IPv4.
func FasthttpHTTPDialerDualStackTimeout(proxy string, timeout time.Duration) fasthttp.DialFunc {
	return fixed(&Dialer{DialDualStack: true, Timeout: timeout, ConnectTimeout: timeout}, proxy, "http")
}

// FasthttpSocksDialer returns a function that connects through a SOCKS5 proxy,
// which also looks up the names:
//
//	c := &fasthttp.Client{
//		Dial: fasthttpproxy.FasthttpSocksDialer("socks5://localhost:9050"),
//	}
//
// The scheme may be missing. An empty proxyAddr stands for no proxy. Where it is
// not understood every dial fails.
func FasthttpSocksDialer(proxyAddr string) fasthttp.DialFunc {
	return fixed(new(Dialer), proxyAddr, "socks5")
}

// FasthttpSocksDialerDualStack is FasthttpSocksDialer that reaches the proxy over
// IPv6 as well as IPv4.
func FasthttpSocksDialerDualStack(proxyAddr string) fasthttp.DialFunc {
	return fixed(&Dialer{DialDualStack: true}, proxyAddr, "socks5")
}

// FasthttpProxyHTTPDialer returns a function that connects through the proxies
// that the environment names: see Dialer.GetDialFunc. Where one of them is not
// understood every dial fails.
func FasthttpProxyHTTPDialer() fasthttp.DialFunc {
	return fromEnvironment(new(Dialer))
}

// FasthttpProxyHTTPDialerTimeout is FasthttpProxyHTTPDialer with a timeout, both
// for the connection to the proxy and for what the proxy does then.
func FasthttpProxyHTTPDialerTimeout(timeout time.Duration) fasthttp.DialFunc {
	return fromEnvironment(&Dialer{Timeout: timeout, ConnectTimeout: timeout})
}

func fromEnvironment(d *Dialer) fasthttp.DialFunc {
	dial, err := d.GetDialFunc(true)
	if err != nil {
		return failing(err)
	}
	return dial
}

// fixed returns a function that dials through one proxy, whose scheme is the
// given one unless it has its own.
func fixed(d *Dialer, text, scheme string) fasthttp.DialFunc {
	if text == "" {
		return d.direct
	}
	p, err := parseProxy(withScheme(text, scheme))
	if err != nil {
		return failing(err)
	}
	return func(addr string) (net.Conn, error) { return d.through(p, addr) }
}

func failing(err error) fasthttp.DialFunc {
	return func(string) (net.Conn, error) { return nil, err }
}
