package main

import (
	"bufio"
	"bytes"
	"image"
	"image/png"
	"io"
	"mime/multipart"
	"net/http"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
)

func TestSessionsBeginAndEnd(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	b := s.browser(false)
	b.want("GET", "/api/session", "", 401, "log in first")
	b.want("POST", "/api/session", `{"name":""}`, 422, "1 to 40")
	cookie := b.want("POST", "/api/session", `{"name":"ada"}`, 201, "").Header.Get("Set-Cookie")
	for _, want := range []string{"__Host-session=", "; secure", "; httponly", "; path=/", "; samesite=lax", "; max-age=43200"} {
		if !strings.Contains(strings.ToLower(cookie), strings.ToLower(want)) {
			t.Errorf("the cookie is %q, without %q", cookie, want)
		}
	}
	b.want("GET", "/api/session", "", 200, `{"name":"ada"}`)
	// a second login ends the first session
	b.want("POST", "/api/session", `{"name":"bob"}`, 201, "")
	if n := s.sessions.count(); n != 1 {
		t.Errorf("there are %d sessions", n)
	}
	b.want("DELETE", "/api/session", "", 204, "")
	b.want("GET", "/api/session", "", 401, "log in first")
	// the value of a cookie is of no use after its session has ended
	req := newRequest(t.Context(), t, "GET", "/api/session", "", nil)
	req.Header.Set("Cookie", strings.Split(cookie, ";")[0])
	if resp, _ := s.browser(false).send(req); resp.StatusCode != 401 {
		t.Errorf("an old cookie is answered with %s", resp.Status)
	}
}

func TestSessionsRunOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSessions()
		id, err := s.begin("ada")
		if err != nil {
			t.Fatal(err)
		}
		found := func() bool {
			name, ok := s.find(id)
			return ok && name == "ada"
		}
		// use keeps it, up to sessionTime
		const often = idleTime / 2
		for range int(sessionTime / often) {
			if !found() {
				t.Fatal("a session in use has ended")
			}
			time.Sleep(often)
		}
		time.Sleep(time.Second)
		if found() {
			t.Error("the session goes on forever")
		}
		s.sweep()
		if n := s.count(); n != 0 {
			t.Errorf("%d sessions are left", n)
		}

		if id, err = s.begin("ada"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(idleTime + time.Second)
		if found() {
			t.Error("the session goes on without requests")
		}
		if _, ok := s.find(""); ok {
			t.Error("there is a session without a cookie")
		}
	})
}

func TestClientsAreLimitedOneByOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(2)
		one, same, other := netip.MustParseAddr("2001:db8::1"), netip.MustParseAddr("2001:db8::2"), netip.MustParseAddr("192.0.2.1")
		for range 2 * burst {
			if wait := l.take(one); wait != 0 {
				t.Fatalf("a request must wait for %v", wait)
			}
		}
		if wait := l.take(same); wait != time.Second/2 {
			t.Errorf("one too many must wait for %v", wait)
		}
		if wait := l.take(other); wait != 0 {
			t.Errorf("another client must wait for %v", wait)
		}
		time.Sleep(time.Second)
		for i, want := range []bool{true, true, false} {
			if got := l.take(one) == 0; got != want {
				t.Errorf("a second later request %d may be sent: %v", i, got)
			}
		}
		time.Sleep(burst * time.Second)
		l.sweep()
		if len(l.all) != 0 {
			t.Errorf("%d clients are left", len(l.all))
		}
	})
}

func TestClientsThatAreTooManyShareALimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(1)
		now := time.Now()
		addr := netip.MustParseAddr("10.0.0.0")
		for range maxClients {
			l.all[network(addr)] = &tokens{then: now}
			addr = addr.Next()
		}
		for range burst {
			l.take(addr)
			addr = addr.Next()
		}
		if wait := l.take(addr); wait != time.Second || len(l.all) != maxClients+1 {
			t.Errorf("there are %d clients, and one more waits for %v", len(l.all), wait)
		}
	})
}

func TestLimitedClientsAreToldToWait(t *testing.T) {
	t.Parallel()
	s := start(t, func(a *app) { a.clients = newLimiter(0.001) })
	b := s.browser(false)
	b.want("GET", "/", "", 200, "")
	resp := b.want("GET", "/", "", 429, "too many requests")
	// some seconds may have passed
	if after, err := strconv.Atoi(resp.Header.Get("Retry-After")); err != nil || after < 900 || after > 1000 {
		t.Errorf("Retry-After is %q", resp.Header.Get("Retry-After"))
	}
}

// events reads a stream of events.
type events struct {
	t *testing.T
	*bufio.Reader
	body io.Closer
}

func (b *browser) events() *events {
	b.t.Helper()
	resp, err := b.Do(newRequest(b.t.Context(), b.t, "GET", "/api/events", "", nil))
	if err != nil {
		b.t.Fatal(err)
	}
	if kind := resp.Header.Get("Content-Type"); resp.StatusCode != 200 || kind != "text/event-stream" {
		b.t.Fatalf("got %s, %q", resp.Status, kind)
	}
	b.t.Cleanup(func() { _ = resp.Body.Close() })
	return &events{b.t, bufio.NewReader(resp.Body), resp.Body}
}

func (e *events) want(kind, text string) {
	e.t.Helper()
	var all string
	for !strings.HasSuffix(all, "\n\n") {
		line, err := e.ReadString('\n')
		if err != nil {
			e.t.Fatal(err)
		}
		all += line
	}
	if !strings.HasPrefix(all, "event: "+kind+"\ndata: {") || !strings.Contains(all, text) {
		e.t.Errorf("got %q, want %s with %s", all, kind, text)
	}
}

func TestOthersSeeWhatChanges(t *testing.T) {
	t.Parallel()
	for name, old := range map[string]bool{"HTTP/1.1": true, "HTTP/2.0": false} {
		t.Run(name, func(t *testing.T) {
			s := start(t, nil)
			s.browser(old).want("GET", "/api/events", "", 401, "log in first")
			ada, bob := s.user("ada", old), s.user("bob", old)
			here, there := ada.events(), bob.events()
			ada.want("POST", "/api/notes", `{"text":"two\nlines"}`, 201, "")
			here.want("saved", `"text":"two\nlines"`)
			there.want("saved", `"author":"ada"`)
			ada.want("DELETE", "/api/notes/1", "", 204, "")
			there.want("removed", `"id":1`)

			// the end of one does not affect the other
			_ = here.body.Close()
			for s.events.Len() != 1 {
				ada.want("POST", "/api/notes", `{"text":"more"}`, 201, "")
			}
			// a shutdown ends the streams cleanly
			if err := s.stop(); err != nil {
				t.Error(err)
			}
			if _, err := io.Copy(io.Discard, there); err != nil {
				t.Errorf("the stream ends with %v", err)
			}
			// a goroutine of its own removes a stream that has ended
			servertest.Eventually(t, "no subscriber", func() bool { return s.events.Len() == 0 })
		})
	}
}

func TestSlowSubscribersAreDropped(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	slow := s.user("ada", true).events()
	long := note{Text: strings.Repeat("a", 1000)}
	for sent := 0; s.events.Ended() == 0; sent++ {
		if sent > 1e6 {
			t.Fatal("the stream still has room")
		}
		s.publish("saved", long)
	}
	if n := s.events.Len(); n != 0 {
		t.Errorf("there are %d subscribers", n)
	}
	// it gets the events before the end
	slow.want("saved", long.Text)
	if _, err := io.Copy(io.Discard, slow); err != nil {
		t.Errorf("the stream ends with %v", err)
	}
}

func TestStreamsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		done := make(chan struct{})
		wait(done, streamTime)
		if taken := time.Since(began); taken != streamTime {
			t.Errorf("a stream ends after %v", taken)
		}
		close(done)
		wait(done, streamTime)
		if taken := time.Since(began); taken != streamTime {
			t.Errorf("without its client it ends after %v", taken-streamTime)
		}
	})
}

// upload posts a file as the picture of a note.
func (b *browser) upload(path, field string, file []byte) (*http.Response, string) {
	b.t.Helper()
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	part, err := w.CreateFormFile(field, "../../evil.html")
	if err != nil {
		b.t.Fatal(err)
	}
	if _, err := part.Write(file); err != nil {
		b.t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		b.t.Fatal(err)
	}
	return b.send(newRequest(b.t.Context(), b.t, "POST", path, w.FormDataContentType(), body.Bytes()))
}

func picture(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 8, 8))); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestPictures(t *testing.T) {
	t.Parallel()
	for name, old := range map[string]bool{"HTTP/1.1": true, "HTTP/2.0": false} {
		t.Run(name, func(t *testing.T) {
			s := start(t, nil)
			ada, bob, stranger := s.user("ada", old), s.user("bob", old), s.browser(old)
			ada.want("POST", "/api/notes", `{"text":"a"}`, 201, "")
			image := picture(t)
			large := append(bytes.Clone(image), make([]byte, 5<<20)...) // written to the disk while it arrives
			for _, c := range []struct {
				who         *browser
				path, field string
				file        []byte
				status      int
				want        string
			}{
				{stranger, "/api/notes/1/picture", "picture", image, 401, "log in first"},
				{bob, "/api/notes/1/picture", "picture", image, 403, "somebody else"},
				{ada, "/api/notes/2/picture", "picture", image, 404, "no such note"},
				{ada, "/api/notes/1/picture", "file", image, 415, "a picture is"},
				{ada, "/api/notes/1/picture", "picture", []byte("<html>"), 415, "a picture is"},
				{ada, "/api/notes/1/picture", "picture", nil, 415, "a picture is"},
				{ada, "/api/notes/1/picture", "picture", large, 200, `.png"`},
				{ada, "/api/notes/1/picture", "picture", image, 200, `.png"`},
			} {
				if resp, body := c.who.upload(c.path, c.field, c.file); resp.StatusCode != c.status || !strings.Contains(body, c.want) {
					t.Errorf("%.20q to %s: %d %s, want %d %s", c.file, c.path, resp.StatusCode, body, c.status, c.want)
				}
			}
			resp, body := bob.ask("GET", "/api/notes/1/picture", "")
			if resp.Header.Get("Content-Type") != "image/png" || resp.Header.Get("X-Content-Type-Options") != "nosniff" || body != strings.TrimSpace(string(image)) {
				t.Errorf("the picture is %q with %v", body, resp.Header)
			}
			// replaced and refused pictures are not left
			if left, err := os.ReadDir(s.config.data); err != nil || len(left) != 1 {
				t.Errorf("there are %v, %v", left, err)
			}
			ada.want("DELETE", "/api/notes/1", "", 204, "")
			if left, err := os.ReadDir(s.config.data); err != nil || len(left) != 0 {
				t.Errorf("there are %v, %v", left, err)
			}
		})
	}
}

// A picture from a client without a session is refused before it is sent.
func TestHeadsDecideWhatMayFollow(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	var h fasthttp.RequestHeader
	h.SetMethod("POST")
	h.SetRequestURI("/api/notes/1/picture?a=b")
	if c := s.allow(&h); c.RefuseStatus != 401 {
		t.Errorf("a stranger gets %+v", c)
	}
	id, err := s.sessions.begin("ada")
	if err != nil {
		t.Fatal(err)
	}
	h.SetCookie(cookieName, id)
	if c := s.allow(&h); c.RefuseStatus != 0 || c.MaxRequestBodySize != maxPicture {
		t.Errorf("a user gets %+v", c)
	}
	h.SetRequestURI("/api/notes")
	if c := s.allow(&h); c != (fasthttp.RequestConfig{}) {
		t.Errorf("a note gets %+v", c)
	}
}

func TestPatterns(t *testing.T) {
	t.Parallel()
	for path, want := range map[string][2]string{
		"/api/notes":           {"/api/notes", ""},
		"/api/notes/":          {"/api/notes/", ""},
		"/api/notes/7":         {"/api/notes/{id}", "7"},
		"/api/notes/7/":        {"/api/notes/{id}/", "7"},
		"/api/notes/7/picture": {"/api/notes/{id}/picture", "7"},
		"/api/notes//picture":  {"/api/notes/{id}/picture", ""},
		"/other":               {"/other", ""},
	} {
		if key, id := pattern(path); [2]string{key, id} != want {
			t.Errorf("%s: %q, %q", path, key, id)
		}
	}
}
