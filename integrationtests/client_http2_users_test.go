package integrationtests

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http/httptrace"
	"net/textproto"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
)

// h2User is a client, and a server of this package that it calls by HTTP/2 over TLS.
type h2User struct {
	t      *testing.T
	client *fasthttp.Client
	base   string
}

// overH2Users runs a test on the engines that have TLS.
func overH2Users(t *testing.T, handler fasthttp.RequestHandler, test func(t *testing.T, u *h2User)) {
	t.Parallel()
	for _, e := range servertest.TLSEngines {
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			ts := serveHTTP2(t, e, &fasthttp.Server{Handler: handler, HeaderReceived: func(h *fasthttp.RequestHeader) (c fasthttp.RequestConfig) {
				if strings.HasPrefix(string(h.RequestURI()), "/stream") {
					c.BodyMode = fasthttp.BodyModeStream
				}
				return c
			}})
			u := &h2User{t: t, client: &fasthttp.Client{TLSConfig: servertest.TrustCertificate()}, base: "https://" + ts.Listener.Addr().String()}
			u.client.Protocols.SetHTTP1(true)
			u.client.Protocols.SetHTTP2(true)
			defer u.client.CloseIdleConnections()
			test(t, u)
			if n := u.client.ConnsCount(); n > 1 {
				t.Errorf("there are %d connections", n)
			}
		})
	}
}

// is checks a response.
func (u *h2User) is(resp *fasthttp.Response, err error, status int, content string) {
	u.t.Helper()
	if err != nil || resp.StatusCode() != status || string(resp.Body()) != content {
		u.t.Errorf("got %d %.100q, %v, want %d %.100q", resp.StatusCode(), resp.Body(), err, status, content)
	}
	if got := string(resp.Header.Protocol()); got != "HTTP/2.0" {
		u.t.Errorf("the response came by %s", got)
	}
}

// handleUsers answers the requests of the tests below.
func handleUsers(ctx *fasthttp.RequestCtx) {
	switch string(ctx.Path()) {
	case "/redirect":
		n := ctx.QueryArgs().GetUintOrZero("n")
		target := "/echo"
		if n > 0 {
			target = fmt.Sprint("/redirect?n=", n-1)
		}
		ctx.Redirect(target, fasthttp.StatusTemporaryRedirect)
	case "/gzip":
		ctx.Response.Header.SetContentEncoding("gzip")
		ctx.SetBodyString(gzipped(numbered(10_000)))
	case "/cookie":
		ctx.SetBodyString(string(ctx.Request.Header.Cookie("a")) + string(ctx.Request.Header.Cookie("b")))
		ctx.Response.Header.Add("Set-Cookie", "a=1; Path=/")
		ctx.Response.Header.Add("Set-Cookie", "b=2; Path=/")
	case "/form":
		form, err := ctx.MultipartForm()
		if err != nil {
			ctx.Error(err.Error(), 400)
			return
		}
		fmt.Fprint(ctx, form.Value["name"], " ", len(form.File["file"]))
	case "/hints":
		ctx.Response.Header.Add("Link", "</a>")
		_ = ctx.EarlyHints()
		ctx.SetBodyString("hinted")
	case "/wait":
		ctx.WatchDisconnect()
		<-ctx.Done()
	case "/stream":
		ctx.SetBodyStream(ctx.RequestBodyStream(), -1)
	case "/error":
		ctx.Error("no", 503)
	default:
		ctx.SetBody(ctx.PostBody())
	}
}

// TestHTTP2ClientConveniences makes calls in all ways that a client has.
func TestHTTP2ClientConveniences(t *testing.T) {
	overH2Users(t, handleUsers, func(t *testing.T, u *h2User) {
		status, body, err := u.client.Get(nil, u.base+"/echo")
		if status != 200 || len(body) != 0 || err != nil {
			t.Errorf("Get: %d %q, %v", status, body, err)
		}
		var args fasthttp.Args
		args.Set("a", "b")
		status, body, err = u.client.Post(nil, u.base+"/echo", &args)
		if status != 200 || string(body) != "a=b" || err != nil {
			t.Errorf("Post: %d %q, %v", status, body, err)
		}
		status, body, err = u.client.GetTimeout(nil, u.base+"/gzip", servertest.Patience)
		if status != 200 || len(body) == 0 || err != nil {
			t.Errorf("GetTimeout: %d, %d bytes, %v", status, len(body), err)
		}
		if _, _, err = u.client.GetTimeout(nil, u.base+"/wait", servertest.Short); !errors.Is(err, fasthttp.ErrTimeout) {
			t.Errorf("GetTimeout: %v", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(servertest.Short, cancel)
		if _, _, err = u.client.GetContext(ctx, nil, u.base+"/wait"); !errors.Is(err, context.Canceled) {
			t.Errorf("GetContext: %v", err)
		}
		req, resp := requestTo(t, "POST", u.base+"/echo"), responseFor(t)
		req.SetBodyString("pay")
		u.is(resp, u.client.DoDeadline(req, resp, time.Now().Add(servertest.Patience)), 200, "pay")
		u.is(resp, u.client.DoContext(t.Context(), req, resp), 200, "pay")
		servertest.Must(t, u.client.Do(req, nil))
		resp.SkipBody = true
		u.is(resp, u.client.Do(req, resp), 200, "")
		resp.SkipBody = false

		req.Header.SetMethod("GET")
		req.SetRequestURI(u.base + "/gzip")
		req.ResetBody()
		err = u.client.Do(req, resp)
		if text, bad := resp.BodyUncompressed(); string(text) != numbered(10_000) || err != nil || bad != nil {
			t.Errorf("decoded: %d bytes, %v, %v", len(text), err, bad)
		}
		req.SetRequestURI(u.base + "/form")
		req.Header.SetMethod("POST")
		var form strings.Builder
		w := multipart.NewWriter(&form)
		servertest.Must(t, w.WriteField("name", "value"))
		part, err := w.CreateFormFile("file", "a.txt")
		servertest.Must(t, err)
		_, _ = io.WriteString(part, numbered(100_000))
		servertest.Must(t, w.Close())
		req.Header.SetContentType(w.FormDataContentType())
		req.SetBodyString(form.String())
		u.is(resp, u.client.Do(req, resp), 200, "[value] 1")
	})
}

// TestHTTP2ClientRedirects follows redirects, whose calls use the same connection.
func TestHTTP2ClientRedirects(t *testing.T) {
	overH2Users(t, handleUsers, func(t *testing.T, u *h2User) {
		req, resp := requestTo(t, "POST", u.base+"/redirect?n=3"), responseFor(t)
		req.SetBodyString("pay")
		u.is(resp, u.client.DoRedirects(req, resp, 5), 200, "pay")
		req.SetRequestURI(u.base + "/redirect?n=3")
		if err := u.client.DoRedirects(req, resp, 2); !errors.Is(err, fasthttp.ErrTooManyRedirects) {
			t.Errorf("got %v", err)
		}
	})
}

// TestHTTP2ClientJar keeps cookies.
func TestHTTP2ClientJar(t *testing.T) {
	overH2Users(t, handleUsers, func(t *testing.T, u *h2User) {
		jar := &listJar{cookies: [][2]string{{"a", "x"}, {"b", "y"}}}
		u.client.Jar = jar
		req, resp := requestTo(t, "GET", u.base+"/cookie"), responseFor(t)
		u.is(resp, u.client.Do(req, resp), 200, "xy")
		if !slices.Equal(jar.set, []string{"a=1; Path=/", "b=2; Path=/"}) {
			t.Errorf("the jar got %q", jar.set)
		}
	})
}

// countingTripper counts the attempts of calls.
type countingTripper struct{ calls atomic.Int32 }

func (c *countingTripper) RoundTrip(hc *fasthttp.HostClient, req *fasthttp.Request, resp *fasthttp.Response) (bool, error) {
	c.calls.Add(1)
	return fasthttp.DefaultTransport.RoundTrip(hc, req, resp)
}

// TestHTTP2ClientRoundTripper makes calls through a RoundTripper of the application.
func TestHTTP2ClientRoundTripper(t *testing.T) {
	overH2Users(t, handleUsers, func(t *testing.T, u *h2User) {
		tripper := &countingTripper{}
		u.client.Transport = tripper
		req, resp := requestTo(t, "POST", u.base+"/echo"), responseFor(t)
		req.SetBodyString("pay")
		u.is(resp, u.client.Do(req, resp), 200, "pay")
		req.SetRequestURI(u.base + "/wait")
		servertest.Doubling(t, func(limit time.Duration) error {
			if err := u.client.DoTimeout(req, resp, limit); !errors.Is(err, fasthttp.ErrTimeout) {
				t.Errorf("got %v", err)
			}
			if tripper.calls.Load() == 1 {
				return errors.New("the time was over before the attempt")
			}
			return nil
		})
		if n := tripper.calls.Load(); n != 2 {
			t.Errorf("%d attempts, want 2", n)
		}
	})
}

// TestHTTP2ClientTrace runs the hooks of a trace in their order, with one connection.
func TestHTTP2ClientTrace(t *testing.T) {
	overH2Users(t, handleUsers, func(t *testing.T, u *h2User) {
		var events []string
		trace := tracing(&events)
		trace.Got1xxResponse = func(code int, h textproto.MIMEHeader) error {
			events = append(events, fmt.Sprint(code, " ", h.Get("Link")))
			return nil
		}
		trace.TLSHandshakeDone = func(state tls.ConnectionState, err error) {
			events = append(events, "TLS done "+state.NegotiatedProtocol)
		}
		exchange := []string{"wrote headers", "wrote request", "first byte", "103 </a>"}
		for i, begin := range [][]string{
			{"get conn", "connect", "connected", "TLS", "TLS done h2", "got new conn"},
			{"get conn", "got old conn"},
		} {
			events = nil
			req, resp := requestTo(t, "GET", u.base+"/hints"), responseFor(t)
			u.is(resp, u.client.DoContext(httptrace.WithClientTrace(t.Context(), trace), req, resp), 200, "hinted")
			got := slices.DeleteFunc(slices.Clone(events), func(e string) bool { return e == "put conn" })
			if want := append(begin, exchange...); !slices.Equal(got, want) {
				t.Errorf("call %d: %q, want %q", i, got, want)
			}
		}
		events = nil
		req, resp := requestTo(t, "POST", u.base+"/echo"), responseFor(t)
		req.SetBodyString(numbered(300_000))
		u.is(resp, u.client.DoContext(httptrace.WithClientTrace(t.Context(), trace), req, resp), 200, numbered(300_000))
		if i, j := slices.Index(events, "wrote request"), slices.Index(events, "first byte"); i < 0 || j < i {
			t.Errorf("a large request: %q", events)
		}
	})
}

// TestHTTP2ClientBalances has an LBClient with clients that speak HTTP/2.
func TestHTTP2ClientBalances(t *testing.T) {
	t.Parallel()
	var lb fasthttp.LBClient
	var counts [2]atomic.Int32
	for i := range counts {
		ts := serveHTTP2(t, servertest.TLSEngines[i], &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
			counts[i].Add(1)
			ctx.SetBody(ctx.Request.Header.Protocol())
		}})
		hc := &fasthttp.HostClient{Addr: ts.Listener.Addr().String(), IsTLS: true, TLSConfig: servertest.TrustCertificate()}
		hc.Protocols.SetHTTP2(true)
		defer hc.CloseIdleConnections()
		lb.Clients = append(lb.Clients, hc)
	}
	var all sync.WaitGroup
	for range 100 {
		all.Go(func() {
			req, resp := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
			defer fasthttp.ReleaseRequest(req)
			defer fasthttp.ReleaseResponse(resp)
			req.SetRequestURI("https://a.test/")
			if err := lb.DoTimeout(req, resp, servertest.Patience); err != nil || string(resp.Body()) != "HTTP/2.0" {
				t.Errorf("got %q, %v", resp.Body(), err)
			}
		})
	}
	all.Wait()
	if a, b := counts[0].Load(), counts[1].Load(); a+b != 100 || a < 20 || b < 20 {
		t.Errorf("the servers got %d and %d requests", a, b)
	}
}

// TestHTTP2ClientConcurrentCallers has many goroutines that share a client.
func TestHTTP2ClientConcurrentCallers(t *testing.T) {
	overH2Users(t, handleUsers, func(t *testing.T, u *h2User) {
		// the first call learns the protocol of the server
		_, _, err := u.client.Get(nil, u.base)
		servertest.Must(t, err)
		var all sync.WaitGroup
		for i := range 50 {
			all.Go(func() {
				req, resp := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
				defer fasthttp.ReleaseRequest(req)
				defer fasthttp.ReleaseResponse(resp)
				for j := range 10 {
					text := numbered(i * j * 100)
					req.Header.SetMethod("POST")
					req.SetRequestURI(u.base + []string{"/echo", "/stream"}[j%2])
					if j%3 == 0 {
						req.SetBodyStream(strings.NewReader(text), -1)
					} else {
						req.SetBodyString(text)
					}
					resp.StreamBody = j%4 == 0
					err := u.client.DoTimeout(req, resp, servertest.Patience)
					content, bad := io.ReadAll(streamOf(resp))
					if err != nil || bad != nil || string(content) != text {
						t.Errorf("%d bytes: got %d, %v, %v", len(text), len(content), err, bad)
					}
					_ = resp.CloseBodyStream()
				}
			})
		}
		all.Wait()
	})
}
