package rig

import (
	"context"
	"fmt"
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

// nginxProxy forwards to ADDR over connections that are kept.
const nginxProxy = `		location / {
			proxy_pass http://behind;
			proxy_http_version 1.1;
			proxy_set_header Connection "";
			proxy_buffering on;
		}
`

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
// of the two if it finds none. StartProxy starts them. backend is the server that they ask.
func BuildProxies(ctx context.Context, dir, temp string, modules Modules) (proxies []*Server, backend *Server, missing []string, err error) {
	servers, err := buildFasthttp(ctx, dir, temp, modules, "fasthttp")
	if err != nil {
		return nil, nil, nil, err
	}
	backend = servers[0]
	for i, name := range []string{RawProxy, ReverseProxy, UpstreamProxy, UpstreamHand} {
		proxy := *servers[i/2*2] // the event engine, and the published fasthttp
		proxy.Name = name
		proxies = append(proxies, &proxy)
	}
	if nginx, err := NewNginx(ctx, temp, NginxSite{}); err != nil {
		missing = append(missing, err.Error())
	} else {
		proxies = append(proxies, nginx)
	}
	if path, version, err := daemon(ctx, Haproxy, Haproxy, "-v"); err != nil {
		missing = append(missing, err.Error())
	} else {
		version, _, _ = strings.Cut(version, " - ")
		proxies = append(proxies, &Server{Name: Haproxy, Version: version, binary: path, dir: temp})
	}
	return proxies, backend, missing, nil
}

// StartProxy runs a proxy that forwards to the server at backend.
func (s *Server) StartProxy(ctx context.Context, place Place, backend string) (*Process, error) {
	switch s.Name {
	case Nginx:
		s.site = &NginxSite{
			HTTP:   fmt.Sprintf("\tupstream behind { server %s; keepalive 1024; keepalive_requests 1000000000; }\n", backend),
			Server: nginxProxy,
		}
		return s.startNginx(ctx, Settings{Place: place})
	case Haproxy:
		addr, err := freeAddr()
		if err != nil {
			return nil, err
		}
		file := filepath.Join(s.dir, "haproxy.cfg")
		text := strings.NewReplacer("ADDR", addr, "BACKEND", backend).Replace(haproxyConf)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			return nil, err
		}
		return StartForeign(ctx, place.Command(s.binary, "-db", "-f", file), addr)
	}
	mode := serving.Forwards
	if s.Name == ReverseProxy || s.Name == UpstreamHand {
		mode = serving.Proxies
	}
	return s.Start(ctx, Settings{Mode: mode, Place: place, Procs: 1, Args: []string{"-" + serving.BackendFlag, backend}})
}
