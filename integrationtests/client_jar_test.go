package integrationtests

import (
	"iter"
	"slices"
	"testing"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
)

// listJar returns the same cookies for every URL, and stores the ones that are set.
type listJar struct {
	cookies [][2]string
	set     []string
}

func (j *listJar) Cookies(*fasthttp.URI) iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for _, c := range j.cookies {
			if !yield(c[0], c[1]) {
				return
			}
		}
	}
}

func (j *listJar) SetCookies(_ *fasthttp.URI, values []string) { j.set = append(j.set, values...) }

func TestClientJar(t *testing.T) {
	var got string
	p := servertest.NewPeer(t, func(c *servertest.PeerConn) {
		for req := c.Request(); req != nil; req = c.Request() {
			got = req.Header.Get("Cookie")
			c.Send("HTTP/1.1 200 OK\r\nSet-Cookie: a=1; Path=/\r\nSet-Cookie: b=2\r\nContent-Length: 0\r\n\r\n")
		}
	})
	hc := hostFor(p)
	jar := &listJar{cookies: [][2]string{{"session", "from the jar"}, {"own", "from the jar"}}}
	hc.Jar = jar
	req := requestTo(t, fasthttp.MethodGet, p.URL("/"))
	req.Header.SetCookie("own", "mine")
	for range 2 {
		servertest.Must(t, hc.Do(req, responseFor(t)))
		if got != "own=mine; session=from the jar" {
			t.Errorf("the server got %q", got)
		}
		if string(req.Header.Peek("Cookie")) != "own=mine" {
			t.Errorf("the request of the caller has %q", req.Header.Peek("Cookie"))
		}
	}
	if want := []string{"a=1; Path=/", "b=2", "a=1; Path=/", "b=2"}; !slices.Equal(jar.set, want) {
		t.Errorf("the jar got %q, want %q", jar.set, want)
	}
}

// The client sends all cookies of one name with different paths, in the order of the
// jar, and removes them from the request afterwards.
func TestClientJarMayHaveANameTwice(t *testing.T) {
	got := make(chan string, 1)
	p := servertest.NewPeer(t, func(c *servertest.PeerConn) {
		for req := c.Request(); req != nil; req = c.Request() {
			got <- req.Header.Get("Cookie")
			c.Send(servertest.OK)
		}
	})
	hc := hostFor(p)
	hc.Jar = &listJar{cookies: [][2]string{{"a", "/x/y"}, {"own", "jar"}, {"q", `"v w"`}, {"a", "/x"}, {"own", "jar"}, {"b;d", "x;y\r\nz"}}}
	req := requestTo(t, fasthttp.MethodGet, p.URL("/x/y"))
	req.Header.Set("Cookie", "own=1; other=2")
	for range 2 {
		servertest.Must(t, hc.Do(req, responseFor(t)))
		if cookies, want := servertest.Receive(t, "a request", got), `own=1; other=2; a=/x/y; q="v w"; a=/x; b d=x y  z`; cookies != want {
			t.Errorf("sent %s, want %s", cookies, want)
		}
		if left := string(req.Header.Peek("Cookie")); left != "own=1; other=2" {
			t.Errorf("the request of the caller has %s", left)
		}
	}
}

// The server of a HostClient gets no cookies of other hosts, and sets none for them, by a redirect
// there. A proxy does.
func TestClientJarAndRedirectsToOtherOrigins(t *testing.T) {
	for _, absolute := range []bool{false, true} {
		got := make(chan string, 3)
		p := servertest.NewPeer(t, func(c *servertest.PeerConn) {
			for _, location := range []string{"http://other.test/", c.Peer.URL("/"), ""} {
				req := c.Request()
				if req == nil {
					return
				}
				got <- req.Header.Get("Cookie")
				status := "HTTP/1.1 200 OK"
				if location != "" {
					status = "HTTP/1.1 302 Found\r\nLocation: " + location
				}
				c.Send(status + "\r\nSet-Cookie: of=" + req.Host + "\r\nContent-Length: 0\r\n\r\n")
			}
		})
		jar := &listJar{cookies: [][2]string{{"a", "b"}}}
		hc := hostFor(p)
		hc.Jar, hc.AbsoluteForm = jar, absolute
		servertest.Must(t, hc.DoRedirects(requestTo(t, fasthttp.MethodGet, p.URL("/")), responseFor(t), 2))
		var cookies []string
		for range 3 {
			cookies = append(cookies, servertest.Receive(t, "a request", got))
		}
		sent, set := []string{"a=b", "", "a=b"}, []string{"of=" + p.Addr(), "of=" + p.Addr()}
		if absolute {
			sent[1], set = "a=b", slices.Insert(set, 1, "of=other.test")
		}
		if !slices.Equal(cookies, sent) || !slices.Equal(jar.set, set) {
			t.Errorf("absolute %v: the peer got %q, and the jar %q", absolute, cookies, jar.set)
		}
	}
}
