package http3

import (
	"cmp"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"
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

// aioquic, of Python, has a dynamic table.
func TestClientOfAioquic(t *testing.T) {
	python := pythonWith(t, "aioquic")
	_, addr := run(t, &fasthttp.Server{HTTP2: tables, Handler: func(ctx *fasthttp.RequestCtx) {
		ctx.Response.Header.Set("X-Repeated", "a value that is inserted")
		if !ctx.IsGet() {
			if sum := ctx.Request.Header.PeekTrailer("X-Sum"); len(sum) > 0 {
				ctx.Response.Header.SetTrailer("X-After")
				ctx.Response.Header.SetBytesV("X-After", sum)
			}
			ctx.Write(ctx.PostBody())
			return
		}
		fmt.Fprintf(ctx, "%s %s", ctx.Path(), ctx.Request.Header.Peek("X-Same"))
	}})
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(python, "testdata/aioquic_client.py", port).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var want strings.Builder
	for i := range 20 {
		fmt.Fprintf(&want, "get 200 /%d a value that is in the table\n", i)
	}
	want.WriteString("post 200 300000\ntrailers 200 abc 17\nmany 50\n")
	if string(out) != want.String() {
		t.Errorf("the client has printed\n%s", out)
	}
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
