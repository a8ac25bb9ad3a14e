package http3

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
)

// hyperBuildTime is how long a test waits for the build of hyper: half a minute of processor time, of a
// machine that others may use as well.
const hyperBuildTime = 5 * time.Minute

// errNoHyper is the reason for tests without hyper.
var errNoHyper = errors.New("there is no hyper here")

// hyperPeer returns the program of testdata/hyper. It is built in a folder that the user's other
// builds of it share, or in the one that CARGO_TARGET_DIR names.
var hyperPeer = sync.OnceValues(func() (string, error) {
	cargo, err := exec.LookPath("cargo")
	if err != nil {
		return "", fmt.Errorf("%w: %w", errNoHyper, err)
	}
	target := os.Getenv("CARGO_TARGET_DIR")
	if target == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return "", fmt.Errorf("%w: %w", errNoHyper, err)
		}
		target = filepath.Join(cache, "fasthttp-http3-hyper")
	}
	within, cancel := context.WithTimeout(context.Background(), hyperBuildTime)
	defer cancel()
	runCargo := func(args ...string) error {
		cmd := exec.CommandContext(within, cargo, args...)
		cmd.Dir, cmd.WaitDelay = filepath.Join("testdata", "hyper"), wait
		out, err := cmd.CombinedOutput()
		if within.Err() != nil {
			return fmt.Errorf("%w: cargo has taken %v", errNoHyper, hyperBuildTime)
		} else if err != nil {
			return fmt.Errorf("cargo %s: %w\n%s", args[0], err, out)
		}
		return nil
	}
	if err := runCargo("fetch", "--locked"); err != nil {
		return "", fmt.Errorf("%w: %w", errNoHyper, err)
	}
	if err := runCargo("build", "--quiet", "--release", "--locked", "--offline", "--target-dir", target); err != nil {
		return "", err
	}
	name := "hyper-peer"
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	return filepath.Join(target, "release", name), nil
})

// hyper returns a command of the program of testdata/hyper, which ends with within.
func hyper(t *testing.T, within context.Context, args ...string) *exec.Cmd {
	t.Helper()
	if testing.Short() {
		t.Skip("to build hyper takes long")
	}
	program, err := hyperPeer()
	if errors.Is(err, errNoHyper) {
		t.Skip(err)
	} else if err != nil {
		t.Fatal(err)
	}
	return exec.CommandContext(within, program, args...)
}

// certificateFiles writes the certificate and its key to files.
func certificateFiles(t *testing.T) (cert, key string) {
	t.Helper()
	text, err := x509.MarshalPKCS8PrivateKey(certificate().PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	cert, key = filepath.Join(folder, "cert.der"), filepath.Join(folder, "key.der")
	servertest.Must(t, os.WriteFile(cert, certificate().Certificate[0], 0o600))
	servertest.Must(t, os.WriteFile(key, text, 0o600))
	return cert, key
}

// The client is h3, of hyper, on quinn.
func TestClientOfHyper(t *testing.T) {
	began, down := make(chan *Server, 1), make(chan error, 1)
	s, addr := run(t, &fasthttp.Server{StreamRequestBody: true, Handler: func(ctx *fasthttp.RequestCtx) {
		switch string(ctx.Path()) {
		case "/both":
			ctx.SetBodyStream(ctx.RequestBodyStream(), -1)
		case "/shutdown":
			s := servertest.Receive(t, "the server", began)
			go func() { down <- s.Shutdown(context.Background()) }()
		default:
			ofPeers(ctx)
		}
	}})
	began <- s
	cert, _ := certificateFiles(t)
	within, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	out, err := hyper(t, within, "client", addr[strings.LastIndexByte(addr, ':')+1:], cert).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	wantPrinted(t, out, "a value", "both 200\nboth 1\nboth 1001\nboth 31001\nboth ends true\ngoaway before after\nend without error\n")
	if err := servertest.Receive(t, "the end of Shutdown", down); err != nil {
		t.Error(err)
	}
}

// runHyper runs the server of hyper, and returns its address.
func runHyper(t *testing.T) string {
	t.Helper()
	cert, key := certificateFiles(t)
	within, cancel := context.WithTimeout(context.Background(), wait)
	t.Cleanup(cancel)
	return runPeer(t, hyper(t, within, "server", cert, key))
}

// The server is h3, of hyper, on quinn. It echoes, and its responses have the number of the connection.
func TestClientOfTheServerOfHyper(t *testing.T) {
	url := runHyper(t)
	c, transport := newClient(t)
	get := func(path string) (connection string) {
		t.Helper()
		resp, err := call(t, c, url+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := string(resp.Header.Peek("X-Seen")); resp.StatusCode() != fasthttp.StatusOK || got != "GET "+path {
			t.Errorf("%d %q", resp.StatusCode(), got)
		}
		return string(resp.Header.Peek("X-Connection"))
	}
	if got := get("/path"); got != "1" {
		t.Errorf("the first request is on connection %s", got)
	}
	echoes(t, c, url)

	// a request continues while its connection ends, and others get another connection
	r, w := io.Pipe()
	resp, err := call(t, c, url+"/both", func(req *fasthttp.Request, resp *fasthttp.Response) {
		resp.StreamBody = true
		req.Header.SetMethod("POST")
		req.SetBodyStream(r, -1)
	})
	if err != nil {
		t.Fatal(err)
	}
	send := func(size int) {
		t.Helper()
		piece := strings.Repeat("x", size)
		if _, err := io.WriteString(w, piece); err != nil {
			t.Fatal(err)
		}
		got := make([]byte, size)
		if _, err := io.ReadFull(resp.BodyStream(), got); err != nil || string(got) != piece {
			t.Fatalf("%d bytes are not echoed: %v", size, err)
		}
	}
	send(1)
	send(1000)
	if got := get("/goaway"); got != "1" {
		t.Errorf("the request for GOAWAY is on connection %s", got)
	}
	servertest.Eventually(t, "another connection", func() bool { return get("/next") == "2" })
	send(30_000)
	w.Close()
	if rest, err := io.ReadAll(resp.BodyStream()); err != nil || len(rest) > 0 {
		t.Errorf("%q, %v", rest, err)
	}
	servertest.Must(t, resp.CloseBodyStream())
	awaitRequests(t, transport, 0)
	servertest.Eventually(t, "the end of the first connection", func() bool { return transport.ConnsCount() == 1 })
}

// echoes sends requests with content and trailers, at the same time.
func echoes(t *testing.T, c *fasthttp.Client, url string) {
	t.Helper()
	var all sync.WaitGroup
	for i, size := range []int{0, 1, 1000, 30_000, 1 << 20} {
		all.Go(func() {
			path, body := fmt.Sprint("/", i), strings.Repeat("x", size)
			resp, err := call(t, c, url+path, func(req *fasthttp.Request, _ *fasthttp.Response) {
				req.Header.SetMethod("POST")
				req.Header.Set("X-Same", "a value")
				req.Header.SetTrailer("X-Sum")
				req.Header.Set("X-Sum", path)
				req.SetBodyStream(strings.NewReader(body), -1)
			})
			if err != nil {
				t.Error(err)
				return
			}
			h := &resp.Header
			if got := string(h.Peek("X-Seen")); got != "POST "+path+" a value" || string(resp.Body()) != body || string(h.PeekTrailer("X-After")) != path {
				t.Errorf("%q, %d bytes, %q", got, len(resp.Body()), h.PeekTrailer("X-After"))
			}
		})
	}
	all.Wait()
}
