package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/valyala/fasthttp/internal/servertest"
)

// program returns the proxy in front of a server.
func program(backend string) servertest.Program {
	return func(ctx context.Context, stdout io.Writer) error {
		return run(ctx, "127.0.0.1:0", backend, stdout)
	}
}

// start starts a proxy in front of backend.
func start(t *testing.T, backend http.HandlerFunc) (base string) {
	t.Helper()
	server := httptest.NewUnstartedServer(backend)
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.Start()
	p := program(server.URL).Start(t)
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		p.End()
		server.Close()
	})
	return "http://" + p.Addr()
}

func read(t *testing.T, resp *http.Response, err error) string {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

func TestRequestIsPassedOn(t *testing.T) {
	base := start(t, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		w.Header().Set("X-Answer", "yes")
		w.Header().Add("Set-Cookie", "a=1")
		w.Header().Add("Set-Cookie", "b=2")
		w.Header().Set("Connection", "X-Hop")
		w.Header().Set("X-Hop", "1")
		w.WriteHeader(http.StatusTeapot)
		fmt.Fprintf(w, "%s %s %d %q %v for %s proto %s hop %q te %q own %q agent %q", r.Method, r.RequestURI, r.ContentLength, body, err,
			r.Header.Get("X-Forwarded-For"), r.Header.Get("X-Forwarded-Proto"), r.Header.Get("X-Hop"), r.Header.Get("Te"),
			r.Header["X-Own"], r.UserAgent())
	})
	req, err := http.NewRequest("POST", base+"/a//b/../c%2Fd?x=%41", strings.NewReader("hello"))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = http.Header{
		"Connection": {"X-Hop, close"}, "X-Hop": {"1"}, "Te": {"trailers"}, "X-Own": {"1", "2"},
		"X-Forwarded-For": {"192.0.2.1"}, "User-Agent": {"me"},
	}
	resp, err := http.DefaultClient.Do(req)
	got := read(t, resp, err)
	want := `POST /a//b/../c%2Fd?x=%41 5 "hello" <nil> for 127.0.0.1 proto http hop "" te "trailers" own ["1" "2"] agent "me"`
	if got != want {
		t.Errorf("the other server got\n%s\nwant\n%s", got, want)
	}
	if resp.StatusCode != http.StatusTeapot || resp.Header.Get("X-Answer") != "yes" || len(resp.Header["Set-Cookie"]) != 2 ||
		resp.Header.Get("X-Hop") != "" || len(resp.Header["Date"]) != 1 {
		t.Errorf("the answer is %s with %v", resp.Status, resp.Header)
	}
}

func TestHeadAndEmptyAnswers(t *testing.T) {
	base := start(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/head":
			w.Header().Set("Content-Length", "12345")
		case "/none":
			w.WriteHeader(http.StatusNoContent)
		case "/same":
			w.Header().Set("Etag", `"x"`)
			w.WriteHeader(http.StatusNotModified)
		}
	})
	resp, err := http.Head(base + "/head")
	if read(t, resp, err); resp.ContentLength != 12345 {
		t.Errorf("the length is %d", resp.ContentLength)
	}
	for path, status := range map[string]int{"/none": 204, "/same": 304} {
		resp, err := http.Get(base + path)
		if read(t, resp, err); resp.StatusCode != status {
			t.Errorf("%s: the status is %d", path, resp.StatusCode)
		}
	}
}

// zeros is a body that takes no memory itself. It measures the memory of the process.
type zeros struct {
	left int64
	peak *uint64
}

func (z *zeros) Read(p []byte) (int, error) {
	if z.left == 0 {
		return 0, io.EOF
	}
	n := int(min(int64(len(p)), z.left))
	clear(p[:n])
	if z.left/(64<<20) != (z.left-int64(n))/(64<<20) {
		var stats runtime.MemStats
		runtime.ReadMemStats(&stats)
		*z.peak = max(*z.peak, stats.HeapInuse)
	}
	z.left -= int64(n)
	return n, nil
}

func TestLargeBodiesTakeNoMemory(t *testing.T) {
	size := int64(256 << 20)
	if testing.Short() {
		size = 64 << 20
	}
	const limit = 64 << 20
	var down, up uint64
	base := start(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			_, _ = io.Copy(w, &zeros{size, &down})
			return
		}
		n, err := io.Copy(io.Discard, r.Body)
		fmt.Fprint(w, n, " ", err)
	})
	resp, err := http.Get(base)
	if err != nil {
		t.Fatal(err)
	}
	n, err := io.Copy(io.Discard, resp.Body)
	_ = resp.Body.Close()
	if n != size || err != nil {
		t.Errorf("down came %d of %d bytes, %v", n, size, err)
	}
	resp, err = http.Post(base, "text/plain", &zeros{size, &up})
	if got, want := read(t, resp, err), fmt.Sprint(size, " <nil>"); got != want {
		t.Errorf("up went %s, want %s", got, want)
	}
	if down == 0 || up == 0 || down > limit || up > limit {
		t.Errorf("%d bytes of memory were in use on the way down, %d on the way up", down, up)
	}
}

func TestWhatIsCutOffIsNotPassedOnAsTheWhole(t *testing.T) {
	base := start(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/sized" {
			w.Header().Set("Content-Length", "1000")
		}
		io.WriteString(w, "half of it")
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	})
	for _, path := range []string{"/sized", "/chunked"} {
		resp, err := http.Get(base + path)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err == nil || string(body) != "half of it" {
			t.Errorf("%s: got %q, %v", path, body, err)
		}
	}
}

func TestTrailersArriveBehindTheirBodies(t *testing.T) {
	base := start(t, func(w http.ResponseWriter, r *http.Request) {
		// one is announced, the other is not, and a third is never sent
		w.Header().Set("Trailer", "X-Sum, X-None")
		w.Header().Set("X-More", "in the header")
		body, err := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %v %q", body, err, r.Trailer["X-Asked"])
		w.Header().Add("X-Sum", "1")
		w.Header().Add("X-Sum", "2")
		w.Header().Set(http.TrailerPrefix+"X-Late", "late")
	})
	req, err := http.NewRequest("POST", base, io.MultiReader(strings.NewReader("hello")))
	if err != nil {
		t.Fatal(err)
	}
	req.Trailer = http.Header{"X-Asked": {"a", "b"}}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if got := resp.Header.Get("X-More"); got != "in the header" || resp.Header.Get("X-Sum") != "" {
		t.Errorf("the header is %v", resp.Header)
	}
	if got, want := read(t, resp, nil), `hello <nil> ["a" "b"]`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	want := http.Header{"X-Sum": {"1", "2"}, "X-Late": {"late"}, "X-None": nil}
	if !maps.EqualFunc(resp.Trailer, want, slices.Equal) {
		t.Errorf("the trailers are %v, want %v", resp.Trailer, want)
	}
}

func TestPiecesArriveAsTheyAreSent(t *testing.T) {
	for _, length := range []string{"", "6"} {
		next := make(chan struct{})
		base := start(t, func(w http.ResponseWriter, _ *http.Request) {
			if length != "" {
				w.Header().Set("Content-Length", length)
			}
			for range 3 {
				<-next
				io.WriteString(w, "ab")
				w.(http.Flusher).Flush()
			}
		})
		go func() { next <- struct{}{} }()
		resp, err := http.Get(base)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 3 {
			piece := make([]byte, 2)
			if _, err := io.ReadFull(resp.Body, piece); err != nil || string(piece) != "ab" {
				t.Fatalf("got %q, %v", piece, err)
			}
			if i < 2 {
				next <- struct{}{}
			}
		}
		_ = resp.Body.Close()
	}
}

func TestCallEndsWhenTheClientLeaves(t *testing.T) {
	for _, path := range []string{"/silent", "/streaming"} {
		began, ended := make(chan struct{}), make(chan struct{})
		base := start(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/streaming" {
				w.(http.Flusher).Flush()
			}
			close(began)
			<-r.Context().Done()
			close(ended)
		})
		ctx, cancel := context.WithCancel(t.Context())
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		failed := make(chan error, 1)
		go func() {
			resp, err := http.DefaultClient.Do(req)
			if err == nil {
				_, err = io.ReadAll(resp.Body)
				_ = resp.Body.Close()
			}
			failed <- err
		}()
		servertest.Receive(t, "the request", began)
		cancel()
		if err := servertest.Receive(t, "the end of the call", failed); err == nil {
			t.Error("the client did not fail")
		}
		servertest.Receive(t, "the end of the handler", ended)
	}
}

func TestServerThatCannotBeReached(t *testing.T) {
	for _, bad := range []string{"", "localhost:80", "ftp://a", "http://", "http://a?b", "http://a b"} {
		if err := run(t.Context(), "127.0.0.1:0", bad, io.Discard); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
	base := start(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	resp, err := http.Get(base)
	if read(t, resp, err); resp.StatusCode != http.StatusBadGateway {
		t.Errorf("the status is %d", resp.StatusCode)
	}
}

func TestShutdownWaitsForTheOtherServer(t *testing.T) {
	begun, goOn := make(chan struct{}), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		close(begun)
		select {
		case <-goOn:
			fmt.Fprint(w, "late")
		case <-r.Context().Done():
			t.Error("the proxy has given up")
		}
	}))
	defer server.Close()
	p := program(server.URL).Start(t)
	go func() {
		<-begun
		p.Cancel()
		// when the listener is closed, the shutdown has begun
		for {
			c, err := net.Dial("tcp", p.Addr())
			if err != nil {
				break
			}
			_ = c.Close()
		}
		close(goOn)
	}()
	resp, err := http.Get("http://" + p.Addr() + "/")
	if got := read(t, resp, err); got != "late" {
		t.Errorf("got %s %q", resp.Status, got)
	}
	p.End()
}

// A signal may arrive before the server has begun.
func TestRunEndsAtOnce(t *testing.T) { program("http://127.0.0.1:1").EndsAtOnce(t) }
