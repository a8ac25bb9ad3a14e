package grpc

import (
	"strings"
	"testing"

	"google.golang.org/grpc/credentials/insecure"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/compat/internal/process"
)

// nginxConf is a front end for a gRPC service.
const nginxConf = process.NginxHead + `
	access_log off;
	upstream out {
		server 127.0.0.1:OUT;
		keepalive 16;
	}
	server {
		listen 127.0.0.1:IN http2;
		location / {
			grpc_pass SCHEME://out;
		}
	}
}
`

// startNginx runs nginx in front of a server.
func startNginx(t *testing.T, s *served) (addr string) {
	t.Helper()
	scheme := "grpc"
	if s.tls {
		scheme = "grpcs"
	}
	addr, _ = process.StartFront(t, "nginx", strings.Replace(nginxConf, "SCHEME", scheme, 1), s.addr, process.NginxArgs...)
	return addr
}

func TestCallsThroughNginx(t *testing.T) {
	eachServer(t, nil, func(t *testing.T, s *served) {
		checkCalls(t, dial(t, startNginx(t, s), insecure.NewCredentials()))
	})
}

// TestConnectionsOfNginxEnd has a server that ends the connections of nginx after some
// calls.
func TestConnectionsOfNginxEnd(t *testing.T) {
	eachServer(t, func(s *fasthttp.Server) { s.MaxRequestsPerConn = 7 }, func(t *testing.T, s *served) {
		c := dial(t, startNginx(t, s), insecure.NewCredentials())
		for range 50 {
			if got, err := unary(callContext(t), c, "Unary", "x"); got != "x" || err != nil {
				t.Errorf("got %q, %v", got, err)
			}
		}
	})
}
