package clients

import (
	"bytes"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/valyala/fasthttp"
)

// curl runs a curl that prints errors and has a timeout, and returns its output.
func curl(t *testing.T, args ...string) string {
	t.Helper()
	args = append([]string{"--silent", "--show-error", "--noproxy", "*", "--max-time", "300"}, args...)
	return output(t, command(t, program(t, "curl"), args...))
}

// noise returns n bytes in which every byte value occurs.
func noise(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(b)
	return b
}

// source writes content to a file for curl to send.
func source(t *testing.T, content []byte) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "source")
	if err := os.WriteFile(name, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// cutWritten splits the output into the body and the text of --write-out.
func cutWritten(t *testing.T, out string) (body, written string) {
	t.Helper()
	i := strings.LastIndex(out, "\n--written ")
	if i < 0 {
		t.Fatalf("curl printed %d bytes without its report", len(out))
	}
	return out[:i], out[i+len("\n--written "):]
}

// TestCurlNegotiatesItsOwnCodings lets curl choose the codings that it accepts.
func TestCurlNegotiatesItsOwnCodings(t *testing.T) {
	program(t, "curl")
	want := string(text(200_000))
	eachEngine(t, general(false), func(t *testing.T, origin string) {
		for _, path := range []string{"/text?n=200000", "/stream?n=200000"} {
			out := curl(t, "--compressed", "--write-out", "\n--written %{http_code} %{size_download} %header{content-encoding}", origin+path)
			body, written := cutWritten(t, out)
			var status, size int
			var coding string
			if n, err := fmt.Sscan(written, &status, &size, &coding); n != 3 || status != 200 || size >= len(want)/2 {
				t.Errorf("%s: %q, %v", path, written, err)
			}
			if body != want {
				t.Errorf("%s in %s: the content differs", path, coding)
			}
		}
	})
}

func TestCurlUploadsForms(t *testing.T) {
	program(t, "curl")
	content := noise(3 << 20)
	file := source(t, content)
	bodies(t, func(t *testing.T, origin string) {
		for _, tc := range []struct{ part, want, named string }{
			{"first", string(content), `a näme; (1), 2.bin image/png`},
			{"second", string(content), "source application/octet-stream"},
			{"field", "a=b&c", " "},
			{"text", string(content), " "},
			{"missing", "", " "},
		} {
			for _, framing := range []string{"X-Framing: length", "Transfer-Encoding: chunked"} {
				out := curl(t, "--header", framing,
					"--form", "first=@"+file+`;filename="a näme; (1), 2.bin";type=image/png`,
					"--form-string", "field=a=b&c", "--form", "second=@"+file, "--form", "text=<"+file,
					"--write-out", "\n--written %{http_code} %header{x-file}", origin+"/form?part="+tc.part)
				body, written := cutWritten(t, out)
				if want := "200 " + tc.named; strings.TrimSpace(written) != strings.TrimSpace(want) {
					t.Errorf("%s, %s: %q, want %q", tc.part, framing, written, want)
				}
				if body != tc.want {
					t.Errorf("%s, %s: %d bytes that differ from the %d sent", tc.part, framing, len(body), len(tc.want))
				}
			}
		}
	})
}

// TestCurlIsToldToContinue gives curl less time than it would wait for the 100
// before it sends the body without one.
func TestCurlIsToldToContinue(t *testing.T) {
	program(t, "curl")
	content := noise(2 << 20)
	file := source(t, content)
	bodies(t, func(t *testing.T, origin string) {
		for _, framing := range []string{"X-Framing: length", "Transfer-Encoding: chunked"} {
			got := curl(t, "--header", "Expect: 100-continue", "--header", framing, "--expect100-timeout", "600",
				"--data-binary", "@"+file, origin+"/echo")
			if got != string(content) {
				t.Errorf("%s: %d bytes that differ from the %d sent", framing, len(got), len(content))
			}
		}
	})
}

// TestCurlIsRefusedBeforeItSends has servers that refuse the body.
func TestCurlIsRefusedBeforeItSends(t *testing.T) {
	program(t, "curl")
	content := noise(2 << 20)
	file := source(t, content)
	for _, streams := range []bool{false, true} {
		var asked atomic.Int32
		eachEngine(t, func() *fasthttp.Server {
			s := general(streams)()
			asked.Store(0)
			s.ContinueHandler = func(h *fasthttp.RequestHeader) bool {
				asked.Add(1)
				return false
			}
			return s
		}, func(t *testing.T, origin string) {
			out := curl(t, "--header", "Expect: 100-continue", "--expect100-timeout", "600",
				"--data-binary", "@"+file, "--write-out", "\n--written %{http_code} %{size_upload}", origin+"/echo")
			body, written := cutWritten(t, out)
			// some versions of curl repeat a request without Expect after a 417
			again := written == fmt.Sprint("200 ", len(content)) && strings.HasSuffix(body, string(content))
			if written != "417 0" && !again || asked.Load() != 1 {
				t.Errorf("status and sent bytes are %q after %d questions", written, asked.Load())
			}
		})
	}
	eachEngine(t, func() *fasthttp.Server {
		s := general(false)()
		s.MaxRequestBodySize = len(content) - 1
		// the server logs the refusal
		s.Logger = log.New(io.Discard, "", 0)
		return s
	}, func(t *testing.T, origin string) {
		out := curl(t, "--header", "Expect: 100-continue", "--expect100-timeout", "600",
			"--data-binary", "@"+file, "--write-out", "\n--written %{http_code} %{size_upload}", origin+"/echo")
		if _, written := cutWritten(t, out); written != "413 0" {
			t.Errorf("a body that is too large: status and sent bytes are %q", written)
		}
	})
}

func TestCurlSpeaksHTTP10(t *testing.T) {
	program(t, "curl")
	want := string(text(300_000))
	file := source(t, []byte(want))
	eachEngine(t, general(false), func(t *testing.T, origin string) {
		for _, tc := range []struct {
			name        string
			args        []string
			path        string
			connections string
		}{
			{"sized", nil, "/text?n=300000", "1 1"},
			{"kept alive", []string{"--header", "Connection: keep-alive"}, "/text?n=300000", "1 0"},
			// only the end of the connection ends the body
			{"unsized", []string{"--header", "Connection: keep-alive"}, "/stream?n=300000", "1 1"},
			{"encoded", []string{"--compressed"}, "/stream?n=300000", "1 1"},
			{"posted", []string{"--data-binary", "@" + file}, "/echo", "1 1"},
		} {
			args := append([]string{"--http1.0", "--write-out", "\n--written %{http_version} %{num_connects} %header{transfer-encoding}"}, tc.args...)
			out := curl(t, append(args, origin+tc.path, origin+tc.path)...)
			second, written := cutWritten(t, out)
			first, after, _ := strings.Cut(second, "\n--written ")
			// the output of --write-out ends at the start of the next body
			before, second := after[:min(len(after), len(after)-len(want))], after[max(0, len(after)-len(want)):]
			if first != want || second != want {
				t.Errorf("%s: the contents of %d and %d bytes differ from what was sent", tc.name, len(first), len(second))
			}
			var version, again, connects, more string
			if n, _ := fmt.Sscan(before+" "+written, &version, &connects, &again, &more); n != 4 || connects+" "+more != tc.connections {
				t.Errorf("%s: %q, %q, want connections %s", tc.name, before, written, tc.connections)
			}
			if strings.Contains(before+written, "chunked") {
				t.Errorf("%s: chunks for HTTP/1.0", tc.name)
			}
		}
	})
}

// TestCurlUploadsChunks has a source of unknown length.
func TestCurlUploadsChunks(t *testing.T) {
	path := program(t, "curl")
	bodies(t, func(t *testing.T, origin string) {
		for _, size := range []int{0, 1, 100, 70_000, 5 << 20} {
			content := noise(size)
			cmd := command(t, path, "--silent", "--show-error", "--noproxy", "*", "--max-time", "300", "--fail",
				"--upload-file", "-", "--request", "POST", origin+"/echo")
			cmd.Stdin = bytes.NewReader(content)
			if got := output(t, cmd); got != string(content) {
				t.Errorf("%d bytes that differ from the %d sent", len(got), size)
			}
		}
	})
}

func TestCurlKeepsItsConnection(t *testing.T) {
	program(t, "curl")
	eachEngine(t, general(true), func(t *testing.T, origin string) {
		args := []string{"--write-out", " %{num_connects}\n"}
		for i := range 20 {
			args = append(args, fmt.Sprintf("%s/text?n=%d", origin, i))
		}
		var want strings.Builder
		for i := range 20 {
			connects := 0
			if i == 0 {
				connects = 1
			}
			fmt.Fprintf(&want, "%s %d\n", text(i), connects)
		}
		if got := curl(t, args...); got != want.String() {
			t.Errorf("got %q, want %q", got, want.String())
		}
	})
}
