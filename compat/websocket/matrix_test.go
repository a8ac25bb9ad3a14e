package websocket

import (
	"fmt"
	"testing"
)

type server struct {
	name  string
	start func(t *testing.T, o options) (addr string)
}

type client struct {
	name string
	dial dialer
}

// The libraries in Go, other than this module.
var (
	foreignServers = []server{{name: "gorilla", start: startGorilla}, {name: "coder", start: startCoder}}
	foreignClients = []client{{"gorilla", dialGorilla}, {"coder", dialCoder}}
)

// eachOption runs a test with each of the options.
func eachOption(t *testing.T, name string, test func(t *testing.T, o options)) {
	for _, o := range []options{{}, {compress: true}, {tls: true}, {tls: true, compress: true}} {
		t.Run(fmt.Sprintf("%s/tls=%t,compress=%t", name, o.tls, o.compress), func(t *testing.T) {
			t.Parallel()
			test(t, o)
		})
	}
}

func (o options) scheme() string {
	if o.tls {
		return "wss://"
	}
	return "ws://"
}

func exercisePair(t *testing.T, c client, s server) {
	eachOption(t, c.name+" to "+s.name, func(t *testing.T, o options) {
		tp := newTap(t, s.start(t, o))
		exercise(t, c.dial, o.scheme()+tp.addr(), o)
		checkTraffic(t, tp, o.compress)
	})
}

// TestForeignLibrariesAgree shows that these tests are right about libraries that are known to
// agree with each other.
func TestForeignLibrariesAgree(t *testing.T) {
	for _, c := range foreignClients {
		for _, s := range foreignServers {
			exercisePair(t, c, s)
		}
	}
}
