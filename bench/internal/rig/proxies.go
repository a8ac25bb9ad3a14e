package rig

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/valyala/fasthttp/bench/internal/serving"
)

// The names of the proxies, in the order they are measured and shown.
const (
	RawProxy      = "ours, HostClient.Do"
	ReverseProxy  = "ours, ReverseProxy"
	UpstreamProxy = Upstream + ", HostClient.Do"
	UpstreamHand  = Upstream + ", a proxy by hand"
	Haproxy       = "haproxy"
)

// nginxProxy forwards over connections that are kept.
var nginxProxy = NginxSite{
	HTTP: "\tupstream behind { server BACKEND; keepalive 1024; keepalive_requests 1000000000; }\n",
	Server: `		location / {
			proxy_pass http://behind;
			proxy_http_version 1.1;
			proxy_set_header Connection "";
			proxy_buffering on;
		}
`,
}

const haproxyConf = `global
	nbthread 1
	maxconn 4000
defaults
	mode http
	timeout connect 10s
	timeout client 60s
	timeout server 60s
	option http-keep-alive
	http-reuse always
frontend front
	bind ADDR
	default_backend back
backend back
	server one BACKEND
`

// BuildProxies compiles the proxies, and finds nginx and haproxy. missing has the reason for each
// of the two if it finds none. backend is the server that they ask. They are started in mode
// Forwards.
func BuildProxies(ctx context.Context, dir, temp string, modules Modules) (proxies []*Server, backend *Server, missing []string, err error) {
	servers, err := buildFasthttp(ctx, dir, temp, modules, "fasthttp")
	if err != nil {
		return nil, nil, nil, err
	}
	backend = servers[0]
	for i, name := range []string{RawProxy, ReverseProxy, UpstreamProxy, UpstreamHand} {
		proxy := *servers[i/2*2] // the event engine, and the published fasthttp
		if proxy.Name = name; name == ReverseProxy || name == UpstreamHand {
			proxy.flags = []string{"-mode", string(serving.Proxies)} // the last one counts
		}
		proxies = append(proxies, &proxy)
	}
	if nginx, err := NewNginx(ctx, temp, nginxProxy); err != nil {
		missing = append(missing, err.Error())
	} else {
		proxies = append(proxies, nginx)
	}
	if path, version, err := daemon(ctx, Haproxy, Haproxy, "-v"); err != nil {
		missing = append(missing, err.Error())
	} else {
		version, _, _ = strings.Cut(version, " - ")
		proxies = append(proxies, &Server{Name: Haproxy, Version: version, binary: path, args: func(addr string, settings Settings) ([]string, error) {
			file := filepath.Join(temp, "haproxy.cfg")
			text := strings.NewReplacer("ADDR", addr, "BACKEND", settings.Backend).Replace(haproxyConf)
			return []string{"-db", "-f", file}, os.WriteFile(file, []byte(text), 0o600)
		}})
	}
	return proxies, backend, missing, nil
}
