package integrationtests

import (
	"bytes"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
)

// outputBuffer has the output of a program, which the test may read meanwhile.
type outputBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *outputBuffer) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

func (o *outputBuffer) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

// dialogue is a program to which the test writes, and whose output it awaits.
type dialogue struct {
	t    *testing.T
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  outputBuffer
	seen int
}

func startDialogue(t *testing.T, path string, args ...string) *dialogue {
	t.Helper()
	d := &dialogue{t: t, cmd: exec.CommandContext(t.Context(), path, args...)}
	d.cmd.Stdout, d.cmd.Stderr = &d.out, &d.out
	d.cmd.WaitDelay = servertest.Patience
	var err error
	if d.in, err = d.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return d
}

func (d *dialogue) say(text string) {
	if _, err := io.WriteString(d.in, text); err != nil {
		d.t.Fatal(err)
	}
}

// await waits for a text after the previously awaited one.
func (d *dialogue) await(text string) {
	d.t.Helper()
	servertest.Eventually(d.t, text, func() bool {
		i := strings.Index(d.out.String()[d.seen:], text)
		if i < 0 {
			return false
		}
		d.seen += i + len(text)
		return true
	})
}

// end closes the input, and returns the output and how the program has ended.
func (d *dialogue) end() (output string, err error) {
	_ = d.in.Close()
	err = d.cmd.Wait()
	return d.out.String(), err
}

func TestOpenSSLSpeaksTLS(t *testing.T) {
	t.Parallel()
	servertest.ForEachTLSEngine(t, testOpenSSLSpeaksTLS)
}

func testOpenSSLSpeaksTLS(t *testing.T, e servertest.Engine) {
	t.Parallel()
	openssl := program(t, "openssl")
	ts := startServer(t, e, &fasthttp.Server{Handler: tellTLS})
	// without -quiet, a line that begins with K or R is a command
	client := func(t *testing.T, args ...string) *dialogue {
		return startDialogue(t, openssl, append([]string{"s_client", "-crlf", "-connect", ts.Listener.Addr().String()}, args...)...)
	}
	get := func(d *dialogue, version, path string) {
		t.Helper()
		d.say("GET " + path + " HTTP/1.1\nHost: a\n\n")
		d.await(version + " HTTP/1.1 " + path + " \n")
	}
	for flag, version := range map[string]string{"-tls1_2": "TLS 1.2", "-tls1_3": "TLS 1.3"} {
		t.Run(version, func(t *testing.T) {
			d := client(t, flag)
			get(d, version, "/1")
			get(d, version, "/2")
			if out, err := d.end(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
			// the session is saved when the ticket has arrived; in TLS 1.3, with the response
			kept := filepath.Join(t.TempDir(), "session")
			d = client(t, flag, "-sess_out", kept)
			d.await("New, TLSv")
			get(d, version, "/3")
			_, _ = d.end()
			d = client(t, flag, "-sess_in", kept)
			d.await("Reused, TLSv")
			get(d, version, "/4")
			if out, err := d.end(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
	t.Run("reconnect", func(t *testing.T) {
		d := client(t, "-tls1_2", "-reconnect")
		for range 5 {
			d.await("Reused, TLSv1.2")
		}
		get(d, "TLS 1.2", "/5")
		_, _ = d.end()
	})
	t.Run("new keys", func(t *testing.T) {
		d := client(t, "-tls1_3")
		for _, command := range []string{"K", "k", "K"} {
			get(d, "TLS 1.3", "/6")
			d.say(command + "\n")
			d.await("KEYUPDATE")
			get(d, "TLS 1.3", "/7")
		}
		if out, err := d.end(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	})
	t.Run("renegotiation", func(t *testing.T) {
		d := client(t, "-tls1_2")
		get(d, "TLS 1.2", "/8")
		d.say("R\n")
		d.await("RENEGOTIATING")
		if out, err := d.end(); err == nil || !strings.Contains(out[d.seen:], "SSL alert number") {
			t.Errorf("the server renegotiates: %v\n%s", err, out)
		}
	})
	servertest.Eventually(t, "no connection", func() bool { return ts.S.GetOpenConnectionsCount() == 0 })
}

// nodeClient sends requests through an agent that keeps one connection.
const nodeClient = `
const https = require('https')
const [host, port] = process.argv[1].split(':')
const agent = new https.Agent({ keepAlive: true, maxSockets: 1, rejectUnauthorized: false, maxVersion: process.argv[2], minVersion: process.argv[2] })
let sockets = new Set()
function ask(method, path, write) {
	return new Promise((resolve, reject) => {
		const req = https.request({ host, port, agent, method, path }, res => {
			sockets.add(res.socket)
			const pieces = []
			res.on('data', piece => pieces.push(piece))
			res.on('end', () => resolve(Buffer.concat(pieces)))
		})
		req.on('error', reject)
		write(req)
	})
}
async function main() {
	const large = Buffer.alloc(3000000, 'some bytes that are not all the same')
	console.log((await ask('GET', '/1', req => req.end())).length)
	console.log((await ask('POST', '/2', req => req.end(large))).equals(large))
	console.log((await ask('POST', '/3', req => {
		// chunks of no known length
		let i = 0
		const more = () => i < 30 ? req.write(large.subarray(i * 100000, ++i * 100000), more) : req.end()
		more()
	})).equals(large))
	console.log((await ask('POST', '/stream', req => req.end(large))).equals(large))
	console.log(sockets.size)
	agent.destroy()
}
main().catch(err => { console.error(err); process.exit(1) })
`

// echoTLS responds with the body of the request, to /stream as a stream.
func echoTLS(ctx *fasthttp.RequestCtx) {
	if string(ctx.Path()) == "/stream" {
		ctx.SetBodyStream(ctx.RequestBodyStream(), -1)
		return
	}
	stream := ctx.RequestBodyStream()
	if stream == nil {
		return
	}
	body, err := io.ReadAll(stream)
	if err != nil {
		ctx.Error(err.Error(), fasthttp.StatusInternalServerError)
		return
	}
	ctx.SetBody(body)
}

func TestNodeSpeaksTLS(t *testing.T) {
	t.Parallel()
	servertest.ForEachTLSEngine(t, func(t *testing.T, e servertest.Engine) {
		t.Parallel()
		node := program(t, "node", "nodejs")
		ts := startServer(t, e, &fasthttp.Server{Handler: echoTLS, StreamRequestBody: true})
		for _, version := range []string{"TLSv1.2", "TLSv1.3"} {
			got := runProgram(t, node, "-e", nodeClient, ts.Listener.Addr().String(), version)
			if got != "0\ntrue\ntrue\ntrue\n1\n" {
				t.Errorf("%s: got %q", version, got)
			}
		}
		ts.Log.CheckEmpty(t)
	})
}

func TestCurlUploadsOverTLS(t *testing.T) {
	t.Parallel()
	servertest.ForEachTLSEngine(t, func(t *testing.T, e servertest.Engine) {
		t.Parallel()
		curl := program(t, "curl")
		ts := startServer(t, e, &fasthttp.Server{Handler: echoTLS, StreamRequestBody: true})
		body := servertest.SampleText(5 << 20)
		origin := "https://" + ts.Listener.Addr().String()
		for _, version := range []string{"1.2", "1.3"} {
			for _, path := range []string{"/", "/stream"} {
				cmd := exec.CommandContext(t.Context(), curl, "-k", "--silent", "--show-error", "--fail", "--max-time", programTime, "--noproxy", "*",
					"--tls-max", version, "--upload-file", "-", origin+path)
				var said bytes.Buffer
				cmd.Stdin, cmd.Stderr = bytes.NewReader(body), &said
				if got, err := cmd.Output(); err != nil || !bytes.Equal(got, body) {
					t.Errorf("TLS %s, %s: %d bytes, %v, %s", version, path, len(got), err, &said)
				}
			}
		}
		ts.Log.CheckEmpty(t)
	})
}

// TestLoadGeneratorsSpeakTLS has many connections at the same time, all of which are
// answered.
func TestLoadGeneratorsSpeakTLS(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		program string
		args    []string
		want    string // the output on success
		never   []string
	}{
		{"wrk", []string{"-t2", "-c64", "-d1s", "--timeout", programTime + "s"}, "Requests/sec:", []string{"Socket errors", "Non-2xx"}},
		{"h2load", []string{"--h1", "-n3000", "-c64", "-m1"}, "3000 succeeded, 0 failed, 0 errored, 0 timeout", nil},
	} {
		t.Run(tc.program, func(t *testing.T) {
			servertest.ForEachTLSEngine(t, func(t *testing.T, e servertest.Engine) {
				t.Parallel()
				path := program(t, tc.program)
				ts := startServer(t, e, &fasthttp.Server{Handler: tellTLS})
				got := runProgram(t, path, append(tc.args, "https://"+ts.Listener.Addr().String()+"/")...)
				if !strings.Contains(got, tc.want) {
					t.Errorf("%s says\n%s", tc.program, got)
				}
				for _, text := range tc.never {
					if strings.Contains(got, text) {
						t.Errorf("%s says\n%s", tc.program, got)
					}
				}
				// wrk breaks off in the middle of requests
				servertest.Eventually(t, "no connection", func() bool { return ts.S.GetOpenConnectionsCount() == 0 })
			})
		})
	}
}
