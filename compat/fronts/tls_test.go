package fronts

import (
	"errors"
	"fmt"
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
				for try := 1; ; try++ {
					target, err := askReencrypting(t, f, how)
					if err == nil {
						return
					}
					if try == 3 || !errors.Is(err, errFrontStalls) {
						t.Fatalf("%s: %v", target, err)
					}
					t.Logf("%s: %v", target, err)
				}
			})
		}
	}
}

// errFrontStalls is the error of a response that the server has sent, and of which the front has passed
// on a part only. haproxy 2.6.12 does that now and then: it has read everything from its socket, and waits
// for more until its time is over, while some of the response is in the memory of its TLS.
var errFrontStalls = errors.New("the front has not passed on what the server has sent")

// askReencrypting sends the sound requests to a server by way of a front. It returns the target of a
// response that does not arrive.
func askReencrypting(t *testing.T, f *front, how setup) (target string, err error) {
	t.Helper()
	s := &service{conns: make(map[string][]string)}
	server := &fasthttp.Server{Handler: s.serve, StreamRequestBody: how.stream, Logger: logger{t}}
	s.recordSent(server)
	out, shutDown := serving.Start(t, server, serving.Options{Portable: how.portable, Secure: true})
	in, stop := f.start(t, out)
	target, err = trySound(t, s, func() *client { return dial(t, in) })
	log := stop()
	shutDown()
	if err != nil {
		if s.hasSent(target) && timedOut(log, target) {
			err = fmt.Errorf("%w: %w", errFrontStalls, err)
		}
		return target, err
	}
	if n := len(s.conns); n == 0 || n > len(s.seen)/2 {
		t.Errorf("%d connections for %d requests", n, len(s.seen))
	}
	s.checkLog(t, log)
	return "", nil
}

// timedOut reports whether haproxy has logged that the content of a response did not end in time.
func timedOut(log, target string) bool {
	for line := range strings.Lines(log) {
		if fields := strings.Fields(line); len(fields) > 3 && fields[2] == target && strings.HasPrefix(fields[3], "sD") {
			return true
		}
	}
	return false
}
