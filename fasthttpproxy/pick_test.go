package fasthttpproxy

import (
	"net/url"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
	"golang.org/x/net/http/httpproxy"
)

func TestOneProxyIsForThisHostToo(t *testing.T) {
	const proxy = "127.0.0.1:1"
	for name, c := range map[string]struct {
		config httpproxy.Config
		// whether the proxy is used for this host: if it is not known whether the
		// connection is for TLS, without TLS, and with TLS
		guess, plain, secure bool
	}{
		"both":      {httpproxy.Config{HTTPProxy: proxy, HTTPSProxy: proxy}, true, true, true},
		"urls":      {httpproxy.Config{HTTPProxy: "http://" + proxy, HTTPSProxy: "http://" + proxy}, true, true, true},
		"different": {httpproxy.Config{HTTPProxy: proxy, HTTPSProxy: "http://" + proxy}, false, true, true},
		"plain":     {httpproxy.Config{HTTPProxy: proxy}, false, true, false},
		"secure":    {httpproxy.Config{HTTPSProxy: proxy}, false, false, true},
		"none":      {httpproxy.Config{}, false, false, false},
		"excluded":  {httpproxy.Config{HTTPProxy: proxy, HTTPSProxy: proxy, NoProxy: "name.test"}, false, false, false},
		"cgi":       {httpproxy.Config{HTTPProxy: proxy, HTTPSProxy: proxy, CGI: true}, false, false, false},
	} {
		d := &Dialer{Config: c.config}
		configure, err := d.ConfigureClient(false)
		if err != nil {
			t.Fatal(err)
		}
		for _, target := range []string{"localhost:80", "localhost:443", "127.0.0.1:8080", "[::1]:443"} {
			guess, err := d.GetDialFunc(false)
			if err != nil {
				t.Fatal(err)
			}
			if got := goesThrough(t, guess, target); got != c.guess {
				t.Errorf("%s: %s goes through the proxy: %v", name, target, got)
			}
			for isTLS, want := range map[bool]bool{false: c.plain, true: c.secure} {
				dial, err := d.GetDialFuncForTLS(false, isTLS)
				if err != nil {
					t.Fatal(err)
				}
				if got := goesThrough(t, dial, target); got != want {
					t.Errorf("%s: %s with TLS=%v goes through the proxy: %v", name, target, isTLS, got)
				}
				hc := &fasthttp.HostClient{Addr: target, IsTLS: isTLS}
				if err := configure(hc); err != nil {
					if !c.config.CGI {
						t.Fatal(err)
					}
					continue
				}
				if got := goesThrough(t, hc.Dial, target); got != c.guess {
					t.Errorf("%s: a client of %s with TLS=%v goes through the proxy: %v", name, target, isTLS, got)
				}
			}
		}
	}
}

// A program of CGI uses no proxy that its client may have chosen, and does not connect without one either.
func TestPlainHTTPFailsForCGI(t *testing.T) {
	d := &Dialer{Config: httpproxy.Config{HTTPProxy: "127.0.0.1:1", CGI: true}}
	guess, err := d.GetDialFunc(false)
	servertest.Must(t, err)
	known, err := d.GetDialFuncForTLS(false, false)
	servertest.Must(t, err)
	for _, dial := range []fasthttp.DialFunc{guess, known} {
		if _, err := dial("127.0.0.1:1"); err == nil || !strings.Contains(err.Error(), "CGI") {
			t.Errorf("got %v", err)
		}
	}
}

// NO_PROXY may have IPv6 addresses in brackets, with a port and without, as URLs have them.
func TestNoProxyKnowsBrackets(t *testing.T) {
	for list, wants := range map[string]map[string]bool{
		"[2001:db8::4]":            {"[2001:db8::4]:80": false, "[2001:db8::4]:8080": false, "[2001:db8::5]:80": true},
		"a.test, [2001:db8::4] ,b": {"[2001:db8::4]:80": false, "[2001:db8::5]:80": true},
		"[2001:db8::4]:80":         {"[2001:db8::4]:80": false, "[2001:db8::4]:8080": true},
		"2001:db8::4":              {"[2001:db8::4]:80": false},
		"[]":                       {"[2001:db8::4]:80": true},
	} {
		d := &Dialer{Config: httpproxy.Config{HTTPProxy: "127.0.0.1:1", HTTPSProxy: "127.0.0.1:1", NoProxy: list}}
		config, err := d.config(false)
		if err != nil {
			t.Fatal(err)
		}
		pick := pickerForAll(config)
		for target, want := range wants {
			found, err := pick(&url.URL{Scheme: "http", Host: target})
			if err != nil || (found != nil) != want {
				t.Errorf("%s: %s has the proxy %v, %v", list, target, found, err)
			}
		}
		if d.Config.NoProxy != list {
			t.Errorf("the application's NoProxy has become %q", d.Config.NoProxy)
		}
	}
}

// goesThrough reports whether a function dials through the proxy, at whose address no
// server listens.
func goesThrough(t *testing.T, dial fasthttp.DialFunc, target string) bool {
	t.Helper()
	conn, err := dial(target)
	if err == nil {
		_ = conn.Close()
		return false
	}
	_, through := err.(*Error)
	return through
}
