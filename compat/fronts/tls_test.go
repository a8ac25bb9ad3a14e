package fronts

import (
	"net"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/compat/internal/process"
)

// reencrypting returns a front whose connections to the server speak TLS. nginx resumes
// its sessions by default, and haproxy does, too.
func reencrypting(f front, version string) *front {
	f.name += ", TLS " + version
	f.config = strings.NewReplacer(
		"server sent 127.0.0.1:OUT", "server sent 127.0.0.1:OUT ssl verify none force-tlsv"+strings.ReplaceAll(version, ".", ""),
		"proxy_pass http://out;", "proxy_pass https://out; proxy_ssl_protocols TLSv"+version+";",
	).Replace(f.config)
	return &f
}

// TestFrontsReEncrypt has front ends that speak TLS to the server, over connections that
// they keep.
func TestFrontsReEncrypt(t *testing.T) {
	skipOriginal(t)
	cert, key, err := fasthttp.GenerateTestCertificate("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range []*front{
		reencrypting(fronts[0], "1.2"), reencrypting(fronts[0], "1.3"),
		reencrypting(fronts[2], "1.2"), reencrypting(fronts[2], "1.3"),
	} {
		for _, how := range setups {
			t.Run(f.name+"/"+how.name, func(t *testing.T) {
				t.Parallel()
				s := &service{conns: make(map[string][]string)}
				server := &fasthttp.Server{Handler: s.serve, StreamRequestBody: how.stream, Logger: logger{t}}
				ln, err := net.Listen("tcp4", "127.0.0.1:0")
				if err != nil {
					t.Fatal(err)
				}
				out := ln.Addr().String()
				if how.portable {
					ln = wrapped{ln}
				}
				served := make(chan error, 1)
				go func() { served <- server.ServeTLSEmbed(ln, cert, key) }()
				in, stop := f.start(t, out)
				askSound(t, s, func() *client { return dial(t, in) })
				log := stop()
				if err := server.Shutdown(); err != nil {
					t.Errorf("Shutdown: %v", err)
				}
				if err := process.Receive(t, "the end of Serve", served); err != nil {
					t.Errorf("Serve: %v", err)
				}
				if n := len(s.conns); n == 0 || n > len(s.seen)/2 {
					t.Errorf("%d connections for %d requests", n, len(s.seen))
				}
				s.checkLog(t, log)
			})
		}
	}
}
