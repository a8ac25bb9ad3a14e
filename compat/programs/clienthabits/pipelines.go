package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"
	"golang.org/x/net/http/httpproxy"

	"github.com/valyala/fasthttp/compat/internal/fake"
	"github.com/valyala/fasthttp/compat/internal/report"
	"github.com/valyala/fasthttp/fasthttpproxy"
	"github.com/valyala/fasthttp/tcplisten"
)

func runPipelines() {
	for _, how := range []string{"timeout", "deadline", "do", "request", "later"} {
		report.Run("full/"+how, func(c *report.Case) {
			// the server reads and answers only after answer is closed
			answer := make(chan struct{})
			client := &fasthttp.PipelineClient{
				Addr: "name.test:80", MaxPendingRequests: 1, Logger: quiet{},
				Dial: func(string) (net.Conn, error) {
					here, there := net.Pipe()
					go func() {
						<-answer
						go func() { _, _ = io.Copy(io.Discard, there) }()
						for {
							if _, err := io.WriteString(there, ok); err != nil {
								return
							}
						}
					}()
					return here, nil
				},
			}
			var wg sync.WaitGroup
			for range 12 {
				wg.Add(1)
				go func() {
					defer wg.Done()
					var req fasthttp.Request
					req.SetRequestURI("http://name.test/")
					_ = client.DoTimeout(&req, nil, time.Minute)
				}()
			}
			fill(client)
			c.Val("~pending", client.PendingRequests())
			var req fasthttp.Request
			req.SetRequestURI("http://name.test/")
			start := time.Now()
			var err error
			switch how {
			case "timeout":
				err = client.DoTimeout(&req, nil, 200*time.Millisecond)
			case "deadline":
				err = client.DoDeadline(&req, nil, time.Now().Add(200*time.Millisecond))
			case "do":
				err = client.Do(&req, nil)
			case "request":
				req.SetTimeout(200 * time.Millisecond)
				err = client.Do(&req, nil)
			case "later":
				time.AfterFunc(100*time.Millisecond, func() { close(answer) })
				err = client.DoTimeout(&req, nil, time.Minute)
			}
			c.Str("~took", time.Since(start).String())
			c.Val("timeout", errors.Is(err, fasthttp.ErrTimeout))
			c.Val("overflow", errors.Is(err, fasthttp.ErrPipelineOverflow))
			c.Val("ok", err == nil)
			if how != "later" {
				close(answer)
			}
			wg.Wait()
		})
	}
	for _, addr := range []string{"::1", "::1:443", "a:b:c", "name.test", "name.test:443"} {
		report.Run("tls/"+addr, func(c *report.Case) {
			var dialed atomic.Int32
			dial := func(string) (net.Conn, error) {
				dialed.Add(1)
				return nil, errors.New("down")
			}
			client := &fasthttp.PipelineClient{Addr: addr, IsTLS: true, Logger: quiet{}, Dial: dial}
			var req fasthttp.Request
			req.SetRequestURI("https://name.test/")
			field := "err"
			err := client.DoTimeout(&req, nil, time.Second)
			if dialed.Load() > 0 {
				field = "~err"
			}
			c.Val("dialed", dialed.Load() > 0)
			c.Str(field, fmt.Sprint(err))
			dialed.Store(0)
			err = (&fasthttp.HostClient{Addr: addr, IsTLS: true, Dial: dial}).Do(&req, nil)
			c.Val("host client dialed", dialed.Load() > 0)
			c.Str("host client", fmt.Sprint(err))
		})
	}
}

// fill returns once the client's queue is full: it has refused a call that does not wait.
func fill(client *fasthttp.PipelineClient) {
	for range 1000 {
		result := make(chan error, 1)
		go func() {
			var req fasthttp.Request
			req.SetRequestURI("http://name.test/")
			result <- client.Do(&req, nil)
		}()
		select {
		case err := <-result:
			if errors.Is(err, fasthttp.ErrPipelineOverflow) {
				return
			}
		case <-time.After(20 * time.Millisecond):
			// it is in the queue, or not there yet
		}
	}
}

// here resolves all names to this host.
type here struct{}

func (here) LookupIPAddr(context.Context, string) ([]net.IPAddr, error) {
	return []net.IPAddr{{IP: net.IPv4(127, 0, 0, 1)}}, nil
}

func runProxies() {
	for name, config := range report.Sorted(map[string]httpproxy.Config{
		"both":       {HTTPProxy: "127.0.0.1:1", HTTPSProxy: "127.0.0.1:1"},
		"both-urls":  {HTTPProxy: "http://127.0.0.1:1", HTTPSProxy: "http://127.0.0.1:1"},
		"both-mixed": {HTTPProxy: "http://127.0.0.1:1", HTTPSProxy: "127.0.0.1:1"},
		"both-no":    {HTTPProxy: "127.0.0.1:1", HTTPSProxy: "127.0.0.1:1", NoProxy: "other.test"},
		"different":  {HTTPProxy: "127.0.0.1:1", HTTPSProxy: "127.0.0.2:1"},
		"plain":      {HTTPProxy: "127.0.0.1:1"},
		"secure":     {HTTPSProxy: "127.0.0.1:1"},
		"none":       {},
		"socks":      {HTTPProxy: "socks5://127.0.0.1:1", HTTPSProxy: "socks5://127.0.0.1:1"},
		"both-user":  {HTTPProxy: "http://u:p@127.0.0.1:1", HTTPSProxy: "http://u:p@127.0.0.1:1"},
	}) {
		for _, target := range []string{"localhost:80", "localhost:443", "127.0.0.1:80", "127.0.0.1:443", "[::1]:80", "0.0.0.0:80", "name.test:80"} {
			for how, get := range report.Sorted(map[string]func(d *fasthttpproxy.Dialer) (fasthttp.DialFunc, error){
				"guess":  func(d *fasthttpproxy.Dialer) (fasthttp.DialFunc, error) { return d.GetDialFunc(false) },
				"plain":  func(d *fasthttpproxy.Dialer) (fasthttp.DialFunc, error) { return d.GetDialFuncForTLS(false, false) },
				"secure": func(d *fasthttpproxy.Dialer) (fasthttp.DialFunc, error) { return d.GetDialFuncForTLS(false, true) },
			}) {
				report.Run("proxy/"+name+"/"+how+"/"+target, func(c *report.Case) {
					proxied, got := fake.Proxy("HTTP/1.1 200 OK\r\n\r\n")
					d := &fasthttpproxy.Dialer{Config: config, Timeout: time.Minute, ConnectTimeout: time.Minute}
					d.Resolver = here{}
					d.HTTPProxy = strings.ReplaceAll(config.HTTPProxy, "127.0.0.1:1", proxied)
					d.HTTPSProxy = strings.ReplaceAll(config.HTTPSProxy, "127.0.0.1:1", proxied)
					dial, err := get(d)
					c.Val("valid", err == nil)
					if err == nil {
						conn, err := dial(target)
						if err == nil {
							_ = conn.Close()
						}
						c.Str("~err", fmt.Sprint(err))
					}
					c.Str("asked", fmt.Sprintf("%.40q", got()))
				})
			}
		}
	}
}

func runTexts() {
	report.Run("text/tls", func(c *report.Case) {
		s := &fasthttp.Server{}
		c.Str("serve", fmt.Sprint(s.ListenAndServeTLS("127.0.0.1:0", "", "")))
		c.Str("embed", fmt.Sprint(s.ListenAndServeTLSEmbed("127.0.0.1:0", nil, nil)))
		c.Str("append", fmt.Sprint(s.AppendCert("", "")))
		c.Str("append-embed", fmt.Sprint(s.AppendCertEmbed(nil, nil)))
		ln, err := net.Listen("tcp4", "127.0.0.1:0")
		if err != nil {
			panic(err)
		}
		c.Str("ln", fmt.Sprint(s.ServeTLS(ln, "", "")))
		_ = ln.Close()
		ln, _ = net.Listen("tcp4", "127.0.0.1:0")
		c.Str("ln-embed", fmt.Sprint(s.ServeTLSEmbed(ln, nil, nil)))
		_ = ln.Close()
	})
	for _, network := range []string{"tcp4", "tcp6", "tcp", "udp"} {
		for _, addr := range []string{"", "127.0.0.1", "127.0.0.1:99999", "127.0.0.1:x", ":::", "[::1", "[::1]:99999", "fe80::1%zz:80"} {
			report.Run("tcplisten/"+network+"/"+addr, func(c *report.Case) {
				var cfg tcplisten.Config
				ln, err := cfg.NewListener(network, addr)
				if err == nil {
					_ = ln.Close()
				}
				c.Str("err", fmt.Sprint(err))
			})
		}
	}
	for _, name := range []struct {
		name string
		err  error
	}{
		{"ErrNoFreeConns", fasthttp.ErrNoFreeConns},
		{"ErrConnectionClosed", fasthttp.ErrConnectionClosed},
		{"ErrConnPoolStrategyNotImpl", fasthttp.ErrConnPoolStrategyNotImpl},
		{"ErrMissingLocation", fasthttp.ErrMissingLocation},
		{"ErrTooManyRedirects", fasthttp.ErrTooManyRedirects},
		{"ErrRedirectBodyStream", fasthttp.ErrRedirectBodyStream},
		{"ErrHostClientRedirectToDifferentScheme", fasthttp.ErrHostClientRedirectToDifferentScheme},
		{"ErrTimeout", fasthttp.ErrTimeout},
		{"ErrTLSHandshakeTimeout", fasthttp.ErrTLSHandshakeTimeout},
		{"ErrPipelineOverflow", fasthttp.ErrPipelineOverflow},
		{"ErrDialTimeout", fasthttp.ErrDialTimeout},
		{"ErrBodyTooLarge", fasthttp.ErrBodyTooLarge},
		{"ErrNoMultipartForm", fasthttp.ErrNoMultipartForm},
		{"ErrMissingFile", fasthttp.ErrMissingFile},
		{"ErrGetOnly", fasthttp.ErrGetOnly},
		{"ErrPerIPConnLimit", fasthttp.ErrPerIPConnLimit},
		{"ErrConcurrencyLimit", fasthttp.ErrConcurrencyLimit},
		{"ErrAlreadyServing", fasthttp.ErrAlreadyServing},
		{"ErrNoArgValue", fasthttp.ErrNoArgValue},
		{"ErrorInvalidURI", fasthttp.ErrorInvalidURI},
		{"ErrNonNumericChars", fasthttp.ErrNonNumericChars},
		{"ErrNeedMore", fasthttp.ErrNeedMore},
		{"ErrSmallReadBuffer", fasthttp.ErrSmallReadBuffer},
		{"ErrContentEncodingUnsupported", fasthttp.ErrContentEncodingUnsupported},
	} {
		report.Run("text/"+name.name, func(c *report.Case) { c.Str("text", name.err.Error()) })
	}
}
