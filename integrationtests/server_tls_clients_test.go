package integrationtests

import (
	"bytes"
	"crypto/tls"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
)

// program returns the path of a third-party program. It skips the test if the machine does not
// have it.
func program(t *testing.T, names ...string) string {
	t.Helper()
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skipf("this machine has no %s", strings.Join(names, " or "))
	return ""
}

// programTime is how many seconds a program has. It is more than Patience, since programs cannot
// tell that the machine stood still.
const programTime = "300"

// runProgram returns the output of a program.
func runProgram(t *testing.T, path string, args ...string) string {
	t.Helper()
	var stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), path, args...)
	cmd.Stderr = &stderr
	// the test does not use proxies of the machine
	cmd.Env = append(os.Environ(), "NO_PROXY=*", "no_proxy=*")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(cmd.Args, " "), err, stderr.Bytes())
	}
	return string(out)
}

// tellTLS responds with the TLS version, the protocol and the body of the request.
func tellTLS(ctx *fasthttp.RequestCtx) {
	state := ctx.TLSConnectionState()
	_, _ = ctx.WriteString(strings.Join([]string{
		tls.VersionName(state.Version), string(ctx.Request.Header.Protocol()), string(ctx.Path()), string(ctx.PostBody()),
	}, " ") + "\n")
}

func TestCurlSpeaksTLS(t *testing.T) {
	t.Parallel()
	servertest.ForEachTLSEngine(t, testCurlSpeaksTLS)
}

func testCurlSpeaksTLS(t *testing.T, e servertest.Engine) {
	t.Parallel()
	curl := program(t, "curl")
	ts := startServer(t, e, &fasthttp.Server{Handler: tellTLS})
	url := "https://" + ts.Listener.Addr().String()
	certFile := filepath.Join(t.TempDir(), "cert.pem")
	cert, _ := servertest.Certificate()
	if err := os.WriteFile(certFile, cert, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name string
		args []string
		want string
	}{
		{"any certificate", []string{"-k", url + "/a"}, "TLS 1.3 HTTP/1.1 /a \n"},
		{"trusted certificate", []string{"--cacert", certFile, url + "/a"}, "TLS 1.3 HTTP/1.1 /a \n"},
		{"TLS 1.2", []string{"-k", "--tls-max", "1.2", url + "/a"}, "TLS 1.2 HTTP/1.1 /a \n"},
		{"TLS 1.3", []string{"-k", "--tlsv1.3", "--tls-max", "1.3", url + "/a"}, "TLS 1.3 HTTP/1.1 /a \n"},
		{"HTTP/2 if possible", []string{"-k", "--http2", url + "/a"}, "TLS 1.3 HTTP/1.1 /a \n"},
		{"body", []string{"-k", "-d", "some body", url + "/b"}, "TLS 1.3 HTTP/1.1 /b some body\n"},
		{"keep-alive", []string{"-k", url + "/1", url + "/2"}, "TLS 1.3 HTTP/1.1 /1 \nTLS 1.3 HTTP/1.1 /2 \n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			args := append([]string{"--silent", "--show-error", "--fail", "--max-time", programTime}, tc.args...)
			if got := runProgram(t, curl, args...); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
	ts.Log.CheckEmpty(t)

	plain := strings.Replace(url, "https:", "http:", 1)
	got := runProgram(t, curl, "--silent", "--show-error", "--max-time", programTime, "--write-out", "%{http_code}", plain)
	if want := "Client sent an HTTP request to an HTTPS server.\n400"; got != want {
		t.Errorf("over plain HTTP: got %q, want %q", got, want)
	}
}

// pythonClient sends some requests over one connection, and verifies the
// certificate.
const pythonClient = `
import http.client, ssl, sys
context = ssl.create_default_context(cafile=sys.argv[2])
context.minimum_version = context.maximum_version = getattr(ssl.TLSVersion, sys.argv[3])
c = http.client.HTTPSConnection(sys.argv[1], timeout=300, context=context)
for method, path, body in ("GET", "/1", None), ("POST", "/2", "x" * 20000), ("GET", "/3", None):
    c.request(method, path, body)
    r = c.getresponse()
    words = r.read().decode().split()
    print(r.status, *words[:4], *map(len, words[4:]))
c.close()
`

func TestPythonSpeaksTLS(t *testing.T) {
	t.Parallel()
	servertest.ForEachTLSEngine(t, testPythonSpeaksTLS)
}

func testPythonSpeaksTLS(t *testing.T, e servertest.Engine) {
	t.Parallel()
	python := program(t, "python3", "python")
	if err := exec.CommandContext(t.Context(), python, "-c", "import ssl, http.client; ssl.TLSVersion.TLSv1_3").Run(); err != nil {
		t.Skipf("the Python of this machine has no ssl: %v", err)
	}
	ts := startServer(t, e, &fasthttp.Server{Handler: tellTLS})
	certFile := filepath.Join(t.TempDir(), "cert.pem")
	cert, _ := servertest.Certificate()
	if err := os.WriteFile(certFile, cert, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, version := range map[string]string{"TLSv1_2": "TLS 1.2", "TLSv1_3": "TLS 1.3"} {
		got := runProgram(t, python, "-c", pythonClient, ts.Listener.Addr().String(), certFile, name)
		want := strings.NewReplacer("VERSION", version, "\r\n", "\n").Replace(
			"200 VERSION HTTP/1.1 /1\n200 VERSION HTTP/1.1 /2 20000\n200 VERSION HTTP/1.1 /3\n")
		if strings.ReplaceAll(got, "\r\n", "\n") != want {
			t.Errorf("%s: got %q, want %q", version, got, want)
		}
	}
	servertest.Eventually(t, "no connection", func() bool { return ts.S.GetOpenConnectionsCount() == 0 })
	ts.Log.CheckEmpty(t)
}
