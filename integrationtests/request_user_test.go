package integrationtests

import (
	"bufio"
	"encoding/base64"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
)

// basicOf returns the user and password that a request head has, or "-".
func basicOf(t *testing.T, head string) string {
	t.Helper()
	const name = "\r\nAuthorization: "
	if strings.Count(head, name) == 0 {
		return "-"
	}
	_, value, _ := strings.Cut(head, name)
	value, _, _ = strings.Cut(value, "\r\n")
	coded, basic := strings.CutPrefix(value, "Basic ")
	if text, err := base64.StdEncoding.DecodeString(coded); basic && err == nil && strings.Count(head, name) == 1 {
		return string(text)
	}
	return value
}

func TestUserInformationIsSentDecoded(t *testing.T) {
	for uri, want := range map[string]string{
		"http://user:pass@h/":         "user:pass",
		"http://us%40er:p%3Ass@h/":    "us@er:p:ss",
		"http://u%20x:%C3%A4%00@h/":   "u x:\u00e4\x00",
		"http://:tok@h/":              ":tok",
		"http://user@h/":              "user:",
		"http://user:@h/":             "user:",
		"http://a:b:c@h/":             "a:b:c",
		"http://us@er:p@ss@h/":        "us@er:p@ss",
		"http://u:100%@h/":            "u:100%",
		"http://u+v:w@h/":             "u+v:w",
		"http://@h/":                  "-",
		"http://:@h/":                 "-",
		"http://h/u:p@x":              "-",
		"http://user:pass@h:80/a?b=c": "user:pass",
	} {
		var req fasthttp.Request
		req.SetRequestURI(uri)
		if got := basicOf(t, req.String()); got != want {
			t.Errorf("%s: sends %q, want %q", uri, got, want)
		}
		if string(req.URI().Host()) != "h" && string(req.URI().Host()) != "h:80" {
			t.Errorf("%s: the host is %q", uri, req.URI().Host())
		}
	}
}

// A user name and a password are text. They are not parsed as a part of a URI.
func TestUserThatWasSetIsSentAsItIs(t *testing.T) {
	var req fasthttp.Request
	req.SetRequestURI("http://a%40b:c%40d@h/")
	check := func(want string) {
		t.Helper()
		if got := basicOf(t, req.String()); got != want {
			t.Errorf("sends %q, want %q", got, want)
		}
		var again fasthttp.Request
		req.CopyTo(&again)
		if got := basicOf(t, again.String()); got != want {
			t.Errorf("a copy sends %q, want %q", got, want)
		}
	}
	check("a@b:c@d")
	req.URI().SetUsername("x%41")
	check("x%41:c@d")
	req.URI().SetPassword("y%41@:")
	check("x%41:y%41@:")
	req.URI().Update("http://bad host/")
	check("-")
	req.URI().Update("http://a%41@h/")
	check("aA:")
	req.URI().Reset()
	req.SetHost("h")
	check("-")
}

// Credentials belong to one URI, and are not a field of the request.
func TestUserInformationStaysWithItsURI(t *testing.T) {
	heads := make(chan string, 4)
	p := servertest.NewPeer(t, func(c *servertest.PeerConn) {
		for req := c.Request(); req != nil; req = c.Request() {
			if req.URL.IsAbs() {
				t.Errorf("the target is %s", req.RequestURI)
			}
			heads <- "\r\nAuthorization: " + req.Header.Get("Authorization") + "\r\n"
			c.Send(servertest.OK)
		}
	})
	with := strings.Replace(p.URL("/"), "http://", "http://us%40er:p@", 1)
	client, hc, pc := &fasthttp.Client{}, hostFor(p), &fasthttp.PipelineClient{Addr: p.Addr()}
	defer client.CloseIdleConnections()
	for name, do := range map[string]func(*fasthttp.Request, *fasthttp.Response) error{"Client": client.Do, "HostClient": hc.Do, "PipelineClient": pc.Do} {
		req := requestTo(t, fasthttp.MethodGet, with)
		for _, uri := range []string{with, p.URL("/")} {
			req.SetRequestURI(uri)
			servertest.Must(t, do(req, responseFor(t)))
			if got := req.Header.Peek("Authorization"); got != nil {
				t.Errorf("%s: the request has %q after the call", name, got)
			}
		}
		req.Header.Set("Authorization", "own")
		servertest.Must(t, do(req, responseFor(t)))
		req.SetRequestURI(with)
		servertest.Must(t, do(req, responseFor(t)))
		if got := string(req.Header.Peek("Authorization")); got != "own" {
			t.Errorf("%s: Authorization became %q", name, got)
		}
		for i, want := range []string{"us@er:p", "", "own", "own"} {
			if got := basicOf(t, servertest.Receive(t, "a head", heads)); got != want {
				t.Errorf("%s: call %d sent %q, want %q", name, i, got, want)
			}
		}
	}
	var b strings.Builder
	w := bufio.NewWriter(&b)
	req := requestTo(t, fasthttp.MethodGet, with)
	servertest.Must(t, req.Write(w))
	_ = w.Flush()
	if basicOf(t, b.String()) != "us@er:p" || req.Header.Peek("Authorization") != nil {
		t.Errorf("written %q, the request has %q", b.String(), req.Header.Peek("Authorization"))
	}
}

// The client sends them after a redirect within the origin, and not to another
// origin.
func TestUserInformationFollowsRedirectsWithinItsOrigin(t *testing.T) {
	got := make(chan string, 1)
	serve := func(location string) *servertest.Peer {
		return servertest.NewPeer(t, func(c *servertest.PeerConn) {
			for req := c.Request(); req != nil; req = c.Request() {
				if req.URL.Path == "/from" {
					c.Send("HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: " + strings.ReplaceAll(location, "SELF", c.Peer.Addr()) + "\r\n\r\n")
					continue
				}
				got <- basicOf(t, "\r\nAuthorization: "+req.Header.Get("Authorization")+"\r\n")
				c.Send(servertest.OK)
			}
		})
	}
	target := serve("")
	for location, want := range map[string]string{
		"/to": "us@er:p", "http://SELF/to": "us@er:p", "//SELF/to": "us@er:p", "http://x%41:y@SELF/to": "xA:y",
		target.URL("/to"): "", strings.Replace(target.URL("/to"), "//", "//v:w@", 1): "v:w",
	} {
		from := serve(location)
		req := requestTo(t, fasthttp.MethodGet, strings.Replace(from.URL("/from"), "//", "//us%40er:p@", 1))
		client := &fasthttp.Client{}
		servertest.Must(t, client.DoRedirects(req, responseFor(t), 1))
		if sent := servertest.Receive(t, "a request", got); sent != want {
			t.Errorf("%s: sent %q, want %q", location, sent, want)
		}
		client.CloseIdleConnections()
	}
}
