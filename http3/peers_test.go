package http3

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
)

// pythonWith returns a Python that has a package. The variable FASTHTTP_PYTHON names another
// one than python3.
func pythonWith(t *testing.T, name string) string {
	t.Helper()
	python := cmp.Or(os.Getenv("FASTHTTP_PYTHON"), "python3")
	if err := exec.Command(python, "-c", "import "+name).Run(); err != nil {
		t.Skipf("%s has no %s", python, name)
	}
	return python
}

// runPeer runs a server that prints its port, and ends with its input. It returns the address. The
// server must end well, and write nothing to stderr, unless that is set.
func runPeer(t *testing.T, cmd *exec.Cmd) (url string) {
	t.Helper()
	var faults bytes.Buffer
	if cmd.Stderr == nil {
		cmd.Stderr = &faults
	}
	in, err := cmd.StdinPipe()
	servertest.Must(t, err)
	out, err := cmd.StdoutPipe()
	servertest.Must(t, err)
	servertest.Must(t, cmd.Start())
	t.Cleanup(func() {
		_ = in.Close()
		if err := cmd.Wait(); err != nil || faults.Len() > 0 {
			t.Errorf("the server: %v\n%s", err, faults.Bytes())
		}
	})
	var port int
	if _, err := fmt.Fscan(out, &port); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint("https://localhost:", port)
}

// ofPeers is the handler for the clients of hyper and aioquic, whose checks begin alike.
func ofPeers(ctx *fasthttp.RequestCtx) {
	if ctx.IsGet() {
		fmt.Fprintf(ctx, "%s %s", ctx.Path(), ctx.Request.Header.Peek("X-Same"))
		return
	}
	var body []byte
	var err error
	if stream := ctx.RequestBodyStream(); stream == nil {
		body = ctx.PostBody()
	} else if body, err = io.ReadAll(stream); err != nil {
		ctx.Error(err.Error(), fasthttp.StatusInternalServerError)
		return
	}
	if sum := ctx.Request.Header.PeekTrailer("X-Sum"); len(sum) > 0 {
		ctx.Response.Header.SetTrailer("X-After")
		ctx.Response.Header.SetBytesV("X-After", sum)
	}
	ctx.Write(body)
}

// wantPrinted checks the output of such a client, with the values of the field X-Same, and rest.
func wantPrinted(t *testing.T, out []byte, same, rest string) {
	t.Helper()
	var want strings.Builder
	for i := range 20 {
		fmt.Fprintf(&want, "get 200 /%d %s\n", i, same)
	}
	want.WriteString("post 200 300000\ntrailers 200 abc 17\nmany 50\n" + rest)
	if string(out) != want.String() {
		t.Errorf("the client has printed\n%s", out)
	}
}

// aioquic, of Python, has a dynamic table.
func TestClientOfAioquic(t *testing.T) {
	python := pythonWith(t, "aioquic")
	_, addr := run(t, &fasthttp.Server{HTTP2: tables, Handler: func(ctx *fasthttp.RequestCtx) {
		ctx.Response.Header.Set("X-Repeated", "a value that is inserted")
		ofPeers(ctx)
	}})
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(python, "testdata/aioquic_client.py", port).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	wantPrinted(t, out, "a value that is in the table", "")
}

// The rules of RFC 9114 that a server decides, by frames that aioquic sends.
func TestRulesByAioquic(t *testing.T) {
	python := pythonWith(t, "aioquic")
	_, addr := run(t, &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) { ctx.PostBody() }})
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(python, "testdata/aioquic_probe.py", port).CombinedOutput()
	if err != nil || !strings.HasSuffix(string(out), " rules, 0 broken\n") {
		t.Errorf("%v\n%s", err, out)
	} else {
		t.Logf("%s", out)
	}
}
