package websocket

import (
	"testing"

	"github.com/valyala/fasthttp/compat/internal/process"
)

// front is a proxy between clients and a server.
type front struct {
	program, config string
	args            []string
}

var fronts = []front{
	{"nginx", process.NginxHead + `
	access_log off;
	map $http_upgrade $connection_upgrade { default upgrade; '' close; }
	server {
		listen 127.0.0.1:IN;
		location / {
			proxy_pass http://127.0.0.1:OUT;
			proxy_http_version 1.1;
			proxy_set_header Host $http_host;
			proxy_set_header Upgrade $http_upgrade;
			proxy_set_header Connection $connection_upgrade;
			proxy_read_timeout 60s;
		}
	}
}
`, process.NginxArgs},
	{"haproxy", `
defaults
	mode http
	timeout connect 60s
	timeout client 60s
	timeout server 60s
	timeout tunnel 60s
frontend in
	bind 127.0.0.1:IN
	default_backend out
backend out
	server sent 127.0.0.1:OUT
`, []string{"-db", "-f", "conf"}},
}

func TestBehindFronts(t *testing.T) {
	for i := range fronts {
		f := &fronts[i]
		for _, s := range ours {
			for _, c := range []client{foreignClients[0], ourClient} {
				for _, compress := range []bool{false, true} {
					t.Run(f.program+"/"+c.name+" to "+s.name+"/compress="+onOff(compress), func(t *testing.T) {
						t.Parallel()
						o := options{compress: compress}
						tp := newTap(t, s.start(t, o))
						in, _ := process.StartFront(t, f.program, f.config, tp.addr(), f.args...)
						exercise(t, c.dial, "ws://"+in, o)
						checkTraffic(t, tp, compress)
					})
				}
			}
		}
	}
}
