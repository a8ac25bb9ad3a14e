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

// NginxProxy forwards over connections that are kept.
var NginxProxy = NginxSite{
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

// BuildProxies compiles the proxies, and the server that they ask, backend. All proxies are started
// in mode Forwards.
func BuildProxies(ctx context.Context, dir, temp string, modules Modules) (proxies []*Server, backend *Server, err error) {
	servers, err := buildFasthttp(ctx, dir, temp, modules, "fasthttp")
	if err != nil {
		return nil, nil, err
	}
	for i, name := range []string{RawProxy, ReverseProxy, UpstreamProxy, UpstreamHand} {
		proxy := *servers[i/2*2] // the event engine, and the published fasthttp
		if proxy.Name = name; name == ReverseProxy || name == UpstreamHand {
			proxy.flags = []string{"-mode", string(serving.Proxies)} // the last one counts
		}
		proxies = append(proxies, &proxy)
	}
	return proxies, servers[0], nil
}

// NewHaproxy returns haproxy, with the folder temp for its configuration. It returns an error if
// haproxy is not installed.
func NewHaproxy(ctx context.Context, temp string) (*Server, error) {
	path, version, err := daemon(ctx, Haproxy, Haproxy, "-v")
	if err != nil {
		return nil, err
	}
	version, _, _ = strings.Cut(version, " - ")
	return &Server{Name: Haproxy, Version: version, binary: path, args: func(addr string, settings Settings) ([]string, error) {
		file := filepath.Join(temp, "haproxy.cfg")
		text := strings.NewReplacer("ADDR", addr, "BACKEND", settings.Backend).Replace(haproxyConf)
		return []string{"-db", "-f", file}, os.WriteFile(file, []byte(text), 0o600)
	}}, nil
}
