package fronts

import (
	"strings"
	"testing"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/compat/internal/serving"
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
	for _, f := range []*front{
		reencrypting(fronts[0], "1.2"), reencrypting(fronts[0], "1.3"),
		reencrypting(fronts[2], "1.2"), reencrypting(fronts[2], "1.3"),
	} {
		for _, how := range setups {
			t.Run(f.name+"/"+how.name, func(t *testing.T) {
				t.Parallel()
				s := &service{conns: make(map[string][]string)}
				server := &fasthttp.Server{Handler: s.serve, StreamRequestBody: how.stream, Logger: logger{t}}
				out, shutDown := serving.Start(t, server, serving.Options{Portable: how.portable, Secure: true})
				in, stop := f.start(t, out)
				askSound(t, s, func() *client { return dial(t, in) })
				log := stop()
				shutDown()
				if n := len(s.conns); n == 0 || n > len(s.seen)/2 {
					t.Errorf("%d connections for %d requests", n, len(s.seen))
				}
				s.checkLog(t, log)
			})
		}
	}
}
