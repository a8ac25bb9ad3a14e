package fasthttpproxy

import (
	"net"
	"time"

	"github.com/valyala/fasthttp"
)

// FasthttpHTTPDialer returns a function that connects through an HTTP proxy, by
// CONNECT:
//
//	c := &fasthttp.Client{
//		Dial: fasthttpproxy.FasthttpHTTPDialer("user:password@localhost:8080"),
//	}
//
// proxy is "host:port" or a URL, as for a Dialer. All connections use it, whatever the
// environment is. An empty proxy means none. If proxy is invalid, every dial fails.
func FasthttpHTTPDialer(proxy string) fasthttp.DialFunc {
	return fixed(new(Dialer), proxy, "http")
}

// FasthttpHTTPDialerTimeout is like FasthttpHTTPDialer, with a timeout. It applies separately
// to the connection to the proxy, and to the connection of the proxy to the target.
func FasthttpHTTPDialerTimeout(proxy string, timeout time.Duration) fasthttp.DialFunc {
	return fixed(&Dialer{Timeout: timeout, ConnectTimeout: timeout}, proxy, "http")
}

// FasthttpHTTPDialerDualStack is like FasthttpHTTPDialer, and connects to the proxy
// over IPv6 as well as IPv4.
func FasthttpHTTPDialerDualStack(proxy string) fasthttp.DialFunc {
	return fixed(&Dialer{DialDualStack: true}, proxy, "http")
}

// FasthttpHTTPDialerDualStackTimeout is like FasthttpHTTPDialerTimeout, and connects
// to the proxy over IPv6 as well as IPv4.
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
// The scheme may be missing. An empty proxyAddr means no proxy. If proxyAddr is
// invalid, every dial fails.
func FasthttpSocksDialer(proxyAddr string) fasthttp.DialFunc {
	return fixed(new(Dialer), proxyAddr, "socks5")
}

// FasthttpSocksDialerDualStack is like FasthttpSocksDialer, and connects to the proxy
// over IPv6 as well as IPv4.
func FasthttpSocksDialerDualStack(proxyAddr string) fasthttp.DialFunc {
	return fixed(&Dialer{DialDualStack: true}, proxyAddr, "socks5")
}

// FasthttpProxyHTTPDialer returns a function that connects through the proxies of the
// environment: see Dialer.GetDialFunc. If one of them is invalid, every dial fails.
func FasthttpProxyHTTPDialer() fasthttp.DialFunc {
	return fromEnvironment(new(Dialer))
}

// FasthttpProxyHTTPDialerTimeout is like FasthttpProxyHTTPDialer, with a timeout. It applies
// separately to the connection to the proxy, and to the connection of the proxy to the target.
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

// fixed returns a function that dials through one proxy. scheme is for a proxy without
// a scheme.
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
