package fronts

import (
	"strings"
	"testing"

	"github.com/valyala/fasthttp/compat/internal/process"
)

// front is a proxy that sends its requests to a server.
type front struct {
	name, program string
	// config and args are those of process.StartFront.
	config string
	args   []string
	// passesTrailers is set if trailers of requests reach the server.
	passesTrailers bool
	// comparesTargets is set if a rule for paths compares the target as received.
	comparesTargets bool
}

// Both fronts set X-Real-Ip and X-Team, delete X-Auth-User and X-Role, and deny
// targets that begin with /admin. They wait for a client for a second, and log the
// status and the target of every request that they have sent to the server. haproxy adds which
// side has ended the exchange, the number of bytes sent, and the time in milliseconds.
const haproxyConf = `
global
	log stdout format raw local0
	log-tag front
defaults
	mode http
	log global
	log-format "%s %ST %HU %tsc %B %Ta"
	timeout connect 10s
	timeout client 1s
	timeout http-request 1s
	timeout http-keep-alive 1s
	timeout server 4s
	timeout tunnel 1s
	http-reuse always
	OPTION
frontend in
	bind 127.0.0.1:IN
	http-request set-header X-Real-Ip 192.0.2.1
	http-request set-header X-Team front
	http-request del-header X-Auth-User
	http-request del-header X-Role
	http-request deny if { path_beg /admin }
	default_backend out
backend out
	server sent 127.0.0.1:OUT
`

const nginxConf = process.NginxHead + `
	log_format front "$sent $status $request_uri";
	map $upstream_addr $sent { default sent; "" none; }
	access_log /dev/stdout front;
	client_header_timeout 1s;
	client_body_timeout 1s;
	keepalive_timeout 1s;
	lingering_timeout 1s;
	upstream out {
		server 127.0.0.1:OUT;
		keepalive 16;
	}
	server {
		listen 127.0.0.1:IN;
		OPTION
		location /admin { return 403; }
		location / {
			proxy_pass http://out;
			proxy_http_version 1.1;
			proxy_set_header Host $http_host;
			proxy_set_header Connection "";
			proxy_set_header X-Real-Ip 192.0.2.1;
			proxy_set_header X-Team front;
			proxy_set_header X-Auth-User "";
			proxy_set_header X-Role "";
		}
	}
}
`

func haproxy(name, option string) front {
	return front{name, "haproxy", strings.Replace(haproxyConf, "OPTION", option, 1), []string{"-db", "-f", "conf"}, true, true}
}

func nginx(name, option string) front {
	return front{name, "nginx", strings.Replace(nginxConf, "OPTION", option, 1), process.NginxArgs, false, false}
}

var fronts = []front{
	haproxy("haproxy", ""),
	haproxy("haproxy that takes more", "option accept-invalid-http-request"),
	nginx("nginx", ""),
	nginx("nginx that takes more", "ignore_invalid_headers off; underscores_in_headers on; proxy_request_buffering off;"),
}

// start runs the front between two addresses. stop ends it and returns its log.
func (f *front) start(t *testing.T, out string) (in string, stop func() (log string)) {
	t.Helper()
	return process.StartFront(t, f.program, f.config, out, f.args...)
}
