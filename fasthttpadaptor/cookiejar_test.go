package fasthttpadaptor

import (
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"testing"

	"github.com/valyala/fasthttp"
)

func TestCookieJarOfNetHTTP(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/set":
			http.SetCookie(w, &http.Cookie{Name: "session", Value: "17", Path: "/"})
			http.SetCookie(w, &http.Cookie{Name: "elsewhere", Value: "1", Path: "/elsewhere"})
			w.Header().Add("Set-Cookie", "=nothing")
			http.Redirect(w, r, "/show", http.StatusFound)
		case "/drop":
			http.SetCookie(w, &http.Cookie{Name: "session", MaxAge: -1, Path: "/"})
		default:
			_, _ = w.Write([]byte(r.Header.Get("Cookie")))
		}
	}))
	defer server.Close()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	client := &fasthttp.Client{Jar: NewCookieJar(jar)}
	defer client.CloseIdleConnections()
	for _, step := range []struct{ path, want string }{
		{"/show", ""},
		{"/set", "session=17"}, // after the redirect
		{"/show", "session=17"},
		{"/drop", ""},
		{"/show", ""},
	} {
		_, body, err := client.Get(nil, server.URL+step.path)
		if err != nil || string(body) != step.want {
			t.Errorf("%s: got %q, %v, want %q", step.path, body, err, step.want)
		}
	}
}

// A server gets its cookies back as it has set them, with their quotes. If several have the
// same name, it gets all of them, the one with the longest path first.
func TestCookieJarKeepsQuotesAndPaths(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for _, cookie := range []string{"a=root; Path=/", `q="v w"; Path=/`, "a=deep; Path=/x/y", "a=x; Path=/x", "a=other; Path=/z"} {
			if r.URL.Path == "/set" {
				w.Header().Add("Set-Cookie", cookie)
			}
		}
		_, _ = w.Write([]byte(r.Header.Get("Cookie")))
	}))
	defer server.Close()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	client := &fasthttp.Client{Jar: NewCookieJar(jar)}
	defer client.CloseIdleConnections()
	for _, step := range []struct{ path, want string }{
		{"/set", ""},
		{"/x/y/z", `a=deep; a=x; a=root; q="v w"`},
		{"/x", `a=x; a=root; q="v w"`},
	} {
		_, body, err := client.Get(nil, server.URL+step.path)
		if err != nil || string(body) != step.want {
			t.Errorf("%s: got %q, %v, want %q", step.path, body, err, step.want)
		}
	}
}
