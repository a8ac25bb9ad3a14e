package integrationtests

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
)

// http2PeerSize is the size of the bodies that other programs send and receive.
const http2PeerSize = 1 << 20

// servePeer answers the requests of other programs:
//
//	/proto       the protocol
//	/text?n=     n bytes
//	/stream?n=   the same as a stream of unknown length
//	/echo        the body; also as /echo/stream, while it arrives
//	/trailers    the body, and the trailer X-Sum in the trailer X-Echoed
//	/hints       a 103 before the answer
//	/hang nothing, until the client has disconnected
//
// /hangs waits until the handler of a /hang runs, and /gone reports how the last one has ended.
func servePeer(hanging chan string, left chan error) fasthttp.RequestHandler {
	return func(ctx *fasthttp.RequestCtx) {
		n := ctx.QueryArgs().GetUintOrZero("n")
		switch string(ctx.Path()) {
		case "/proto":
			ctx.SetBody(ctx.Request.Header.Protocol())
		case "/text":
			ctx.SetBodyString(numbered(n))
		case "/stream":
			ctx.SetBodyStreamWriter(func(w *bufio.Writer) { _, _ = w.WriteString(numbered(n)) })
		case "/echo":
			ctx.SetBody(ctx.PostBody())
		case "/echo/stream":
			ctx.SetBodyStream(ctx.RequestBodyStream(), -1)
		case "/trailers":
			body := ctx.PostBody()
			if err := ctx.Response.Header.SetTrailer("X-Echoed"); err != nil {
				ctx.Error(err.Error(), 500)
				return
			}
			ctx.Response.Header.SetBytesV("X-Echoed", ctx.Request.Header.Peek("X-Sum"))
			ctx.SetBody(body)
		case "/hints":
			ctx.Response.Header.Add("Link", "</style.css>; rel=preload; as=style")
			if err := ctx.EarlyHints(); err != nil {
				ctx.Error(err.Error(), 500)
				return
			}
			ctx.SetBodyString("hinted")
		case "/hang":
			ctx.WatchDisconnect()
			ctx.Response.ImmediateHeaderFlush = true
			hanging <- "hangs"
			<-ctx.Done()
			left <- ctx.Err()
		case "/hangs":
			ctx.SetBodyString(<-hanging)
		case "/gone":
			fmt.Fprint(ctx, <-left)
		default:
			ctx.NotFound()
		}
	}
}

// overHTTP2WithPeer runs a parallel test with a server of servePeer.
func overHTTP2WithPeer(t *testing.T, test func(t *testing.T, s *http2Server)) {
	forEachHTTP2Client(t, func(t *testing.T, start http2Starter) {
		server := &fasthttp.Server{Handler: servePeer(make(chan string, 10), make(chan error, 10)), HeaderReceived: func(h *fasthttp.RequestHeader) (c fasthttp.RequestConfig) {
			if strings.HasSuffix(string(h.RequestURI()), "/stream") {
				c.BodyMode = fasthttp.BodyModeStream
			}
			return c
		}}
		server.HTTP2.WriteByteTimeout = servertest.Never // a slow program reads late
		s := start(server)
		test(t, s)
		s.Log.CheckEmpty(t)
	})
}

// bodyFile returns a file with a large body.
func bodyFile(t *testing.T) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "body")
	if err := os.WriteFile(name, []byte(numbered(http2PeerSize)), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestCurlSpeaksHTTP2(t *testing.T) {
	curl := program(t, "curl")
	if !strings.Contains(runProgram(t, curl, "--version"), "HTTP2") {
		t.Skip("the curl of this machine has no HTTP/2")
	}
	t.Parallel()
	overHTTP2WithPeer(t, func(t *testing.T, s *http2Server) {
		file, large := bodyFile(t), numbered(http2PeerSize)
		version := "--http2-prior-knowledge"
		if s.Engine.TLS {
			version = "--http2"
		}
		run := func(args ...string) string {
			t.Helper()
			return runProgram(t, curl, append([]string{version, "-k", "--silent", "--show-error", "--fail", "--max-time", programTime}, args...)...)
		}
		for _, tc := range []struct {
			name, path, want string
			args             []string
		}{
			{"GET", "/proto", "HTTP/2.0", nil},
			{"a megabyte", fmt.Sprint("/text?n=", http2PeerSize), large, nil},
			{"a stream", fmt.Sprint("/stream?n=", http2PeerSize), large, nil},
			{"POST", "/echo", large, []string{"--data-binary", "@" + file}},
			{"POST that streams", "/echo/stream", large, []string{"--data-binary", "@" + file}},
			{"an upload", "/echo", large, []string{"-X", "POST", "--upload-file", file}},
			{"Expect", "/echo", large, []string{"-X", "POST", "--upload-file", file, "-H", "Expect: 100-continue"}},
			{"trailers", "/trailers", "abc", []string{"-d", "abc"}},
			{"a form", "/echo", "a=1&b=2", []string{"-d", "a=1", "-d", "b=2"}},
		} {
			if got := run(append(tc.args, s.url(tc.path))...); got != tc.want {
				t.Errorf("%s: got %d bytes %.100q, want %d", tc.name, len(got), got, len(tc.want))
			}
		}
		cmd := exec.CommandContext(t.Context(), curl, version, "-k", "--silent", "--show-error", "--fail", "--max-time", programTime,
			"-X", "POST", "--upload-file", "-", s.url("/echo/stream"))
		cmd.Stdin = strings.NewReader(large)
		if got, err := cmd.Output(); string(got) != large || err != nil {
			t.Errorf("an upload of unknown length: %d bytes, %v", len(got), err)
		}
		head := run("--head", s.url("/text?n=1000"))
		if !strings.HasPrefix(head, "HTTP/2 200") || !strings.Contains(head, "content-length: 1000\r\n") {
			t.Errorf("HEAD: got %q", head)
		}
		hinted := run("--include", s.url("/hints"))
		if !strings.HasPrefix(hinted, "HTTP/2 103 \r\nlink: </style.css>; rel=preload; as=style\r\n\r\nHTTP/2 200 \r\n") || !strings.HasSuffix(hinted, "\r\n\r\nhinted") {
			t.Errorf("early hints: got %q", hinted)
		}
		// the trailers are printed after the content
		if got := run("--include", "-d", "abc", s.url("/trailers")); !strings.Contains(got, "\r\ntrailer: X-Echoed\r\n") {
			t.Errorf("trailers: got %q", got)
		}
		got := run("--parallel", "--parallel-immediate", "--parallel-max", "100", "--write-out", "%{http_version} %{size_download}\n",
			"--output", filepath.Join(t.TempDir(), "#1"), s.url("/text?n=[1000-1099]"))
		if n := strings.Count(got, "2 10"); n != 100 || strings.Count(got, "\n") != 100 {
			t.Errorf("100 requests at a time: got %q", got)
		}
		if !s.Engine.TLS {
			// there is no upgrade: the response is HTTP/1.1
			got := runProgram(t, curl, "--http2", "--silent", "--show-error", "--fail", "--max-time", programTime, s.url("/proto"))
			if got != "HTTP/1.1" {
				t.Errorf("to a request for an upgrade: %q", got)
			}
		}
	})
}

func TestNghttpSpeaksHTTP2(t *testing.T) {
	nghttp := program(t, "nghttp")
	t.Parallel()
	overHTTP2WithPeer(t, func(t *testing.T, s *http2Server) {
		file, large := bodyFile(t), numbered(http2PeerSize)
		run := func(args ...string) string {
			t.Helper()
			return runProgram(t, nghttp, append([]string{"--no-verify-peer", "--timeout=" + programTime}, args...)...)
		}
		for _, tc := range []struct {
			name, path, want string
			args             []string
		}{
			{"GET", "/proto", "HTTP/2.0", nil},
			{"a megabyte", fmt.Sprint("/text?n=", http2PeerSize), large, nil},
			{"a stream", fmt.Sprint("/stream?n=", http2PeerSize), large, nil},
			{"POST", "/echo", large, []string{"--data=" + file}},
			{"POST that streams", "/echo/stream", large, []string{"--data=" + file}},
			{"Expect", "/echo", large, []string{"--expect-continue", "--data=" + file}},
			{"small windows", "/stream?n=100000", large[:100_000], []string{"--window-bits=10", "--connection-window-bits=12"}},
			{"no tables", "/text?n=10", large[:10], []string{"--header-table-size=0", "--encoder-header-table-size=0"}},
			{"padding", "/echo", large, []string{"--padding=100", "--data=" + file}},
			{"100 at a time", "/text?n=7", strings.Repeat(large[:7], 100), []string{"--multiply=100"}},
		} {
			if got := run(append(tc.args, s.url(tc.path))...); got != tc.want {
				t.Errorf("%s: got %d bytes %.100q, want %d", tc.name, len(got), got, len(tc.want))
			}
		}
		got := run("--verbose", "--trailer=x-sum: 7", "--data="+file, "--null-out", s.url("/trailers"))
		if !strings.Contains(got, " x-echoed: 7\n") {
			t.Errorf("trailers: got %s", got)
		}
		got = run("--verbose", "--null-out", s.url("/hints"))
		if hint, final := strings.Index(got, ":status: 103"), strings.Index(got, ":status: 200"); hint < 0 || final < hint {
			t.Errorf("early hints: got %s", got)
		}
		got = run("--verbose", "--null-out", "-H:method: HEAD", s.url("/text?n=1000"))
		if !strings.Contains(got, " content-length: 1000\n") || strings.Contains(got, "recv DATA") {
			t.Errorf("HEAD: got %s", got)
		}
	})
}

func TestH2loadSpeaksHTTP2(t *testing.T) {
	h2load := program(t, "h2load")
	t.Parallel()
	overHTTP2WithPeer(t, func(t *testing.T, s *http2Server) {
		file := bodyFile(t)
		protocol := "Application protocol: h2c"
		if s.Engine.TLS {
			protocol = "Application protocol: h2\n"
		}
		for _, args := range [][]string{
			{"-n1000", "-c1", "-m100", s.url("/text?n=100")},
			{"-n1000", "-c20", "-m10", s.url("/text?n=100")},
			{"-n10", "-c2", "-m5", s.url(fmt.Sprint("/stream?n=", http2PeerSize))},
			{"-n10", "-c2", "-m5", "-d" + file, s.url("/echo")},
			{"-n4", "-c2", "-m2", "-w12", "-W13", "-d" + file, s.url("/echo/stream")},
		} {
			want := fmt.Sprintf("%s succeeded, 0 failed, 0 errored, 0 timeout", args[0][2:])
			if got := runProgram(t, h2load, args...); !strings.Contains(got, want) || !strings.Contains(got, protocol) {
				t.Errorf("%s: h2load says\n%s", strings.Join(args, " "), got)
			}
		}
	})
}

func TestNodeSpeaksHTTP2(t *testing.T) {
	node := program(t, "node", "nodejs")
	runHTTP2Script(t, node, "http2.js", "get\nlarge\nstream\npost\npost stream\nhead\ntrailers\nhints\ncontinue\nduplex\nat once\nreset\none connection\n")
}

func TestPythonSpeaksHTTP2(t *testing.T) {
	python := ""
	for _, name := range []string{"python3", "/usr/bin/python3", "python"} {
		if python == "" && exec.CommandContext(t.Context(), name, "-c", "import h2").Run() == nil {
			python = name
		}
	}
	if python == "" {
		t.Skip("this machine has no Python with h2")
	}
	runHTTP2Script(t, python, "http2.py", "get\nlarge\nstream\npost\npost stream\nhead\ntrailers\nhints\ncontinue\nat once\nreset\none connection\n")
}

// TestHyperSpeaksHTTP2 builds a client on hyper, and so needs its packages the first time.
func TestHyperSpeaksHTTP2(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("to build hyper takes long")
	}
	cargo := program(t, "cargo")
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Skip(err)
	}
	manifest := filepath.Join("testdata", "hyper", "Cargo.toml")
	if out, err := exec.CommandContext(t.Context(), cargo, "fetch", "--locked", "--manifest-path", manifest).CombinedOutput(); err != nil {
		t.Skipf("the packages of hyper are not to be had: %v\n%s", err, out)
	}
	target := filepath.Join(cache, "fasthttp-hyper")
	runProgram(t, cargo, "build", "--quiet", "--locked", "--offline", "--manifest-path", manifest, "--target-dir", target)
	overHTTP2WithPeer(t, func(t *testing.T, s *http2Server) {
		if s.Engine.TLS {
			t.Skip("hyper has no TLS of its own")
		}
		const want = "get\nlarge\nstream\npost\npost stream\nhead\ntrailers\nhints\nat once\nreset\none connection\n"
		if got := runProgram(t, filepath.Join(target, "debug", "hyper-http2"), s.url("")); got != want {
			t.Errorf("the client got through %q, want %q", got, want)
		}
	})
}

// runHTTP2Script runs a script of testdata. It prints the name of each part that has
// passed, and fails at the first wrong byte.
func runHTTP2Script(t *testing.T, interpreter, script, want string) {
	t.Parallel()
	overHTTP2WithPeer(t, func(t *testing.T, s *http2Server) {
		got := runProgram(t, interpreter, filepath.Join("testdata", script), s.url(""))
		if strings.ReplaceAll(got, "\r\n", "\n") != want {
			t.Errorf("the script got through %q, want %q", got, want)
		}
	})
}

// TestHTTP2ShutdownMeetsLoad shuts a server down while h2load sends requests. Requests that
// were sent before are answered.
func TestHTTP2ShutdownMeetsLoad(t *testing.T) {
	h2load := program(t, "h2load")
	overHTTP2(t, func(t *testing.T, start http2Starter) {
		begun := make(chan struct{}, 1)
		s := start(&fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
			select {
			case begun <- struct{}{}:
			default:
			}
			ctx.SetBodyString("well")
		}})
		cmd := exec.CommandContext(t.Context(), h2load, "-D1", "-c10", "-m10", s.url("/"))
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		servertest.Receive(t, "a request", begun)
		servertest.ShutDown(t, s.S)
		// it tries to connect again, and fails
		got, _ := io.ReadAll(out)
		_ = cmd.Wait()
		if !strings.Contains(string(got), " 0 4xx, 0 5xx") {
			t.Errorf("h2load says\n%s", got)
		}
	})
}
