package h2spec

import (
	"fmt"
	"net"
	"strconv"
	"testing"

	"github.com/summerwind/h2spec/config"
	"github.com/summerwind/h2spec/generic"
	"github.com/summerwind/h2spec/hpack"
	"github.com/summerwind/h2spec/http2"
	"github.com/summerwind/h2spec/spec"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/compat/internal/process"
	"github.com/valyala/fasthttp/compat/internal/serving"
)

// cases is the number of cases in strict mode.
const cases = 146

// byPreface are the cases with input that could also be HTTP/1.1, after which the server ends
// the connection in another way than they expect.
var byPreface = map[string]bool{"http2/3.5/2": true}

func TestServerKeepsTheRules(t *testing.T) {
	for name, engine := range map[string]fasthttp.Engine{"auto": fasthttp.EngineAuto, "portable": fasthttp.EnginePortable} {
		for _, c := range []config.Config{{TLS: true, Insecure: true}, {}} {
			t.Run(name+"/"+c.Scheme(), func(t *testing.T) {
				t.Parallel()
				c.Host, c.Port = "127.0.0.1", startServer(t, engine, c.TLS)
				c.Path, c.Timeout, c.MaxHeaderLen, c.Strict = "/", process.Patience, 4000, true
				run := 0
				for _, group := range []*spec.TestGroup{generic.Spec(), http2.Spec(), hpack.Spec()} {
					run += runGroup(t, &c, group)
				}
				if run != cases {
					t.Errorf("%d cases, want %d", run, cases)
				}
			})
		}
	}
}

// startServer starts a server, which is shut down when the test ends, and returns its port.
func startServer(t *testing.T, engine fasthttp.Engine, secure bool) (port int) {
	s := &fasthttp.Server{
		Handler: func(ctx *fasthttp.RequestCtx) { ctx.SetBodyString("some content") },
		Engine:  engine,
	}
	s.Protocols.SetHTTP1(true)
	s.Protocols.SetHTTP2(true)
	s.Protocols.SetUnencryptedHTTP2(true)
	addr, _ := serving.Start(t, s, serving.Options{Secure: secure})
	_, text, err := net.SplitHostPort(addr)
	if err == nil {
		port, err = strconv.Atoi(text)
	}
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// runGroup runs the cases of a group and of its subgroups, and returns their number.
func runGroup(t *testing.T, c *config.Config, group *spec.TestGroup) (run int) {
	for i, test := range append(group.Tests, group.StrictTests...) {
		id := fmt.Sprintf("%s/%d", group.ID(), i+1)
		run++
		t.Run(id, func(t *testing.T) {
			if byPreface[id] && !c.TLS {
				t.Skip("not for a server that speaks HTTP/1.1 on the same port")
			}
			t.Parallel()
			conn, err := spec.Dial(c)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if err := test.Run(c, conn); err != nil {
				t.Errorf("%s: %v", test.Requirement, err)
			}
		})
	}
	for _, in := range group.Groups {
		run += runGroup(t, c, in)
	}
	return run
}
