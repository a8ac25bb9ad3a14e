package rig

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/valyala/fasthttp/bench/internal/serving"
)

// Nginx is the name of nginx in tables.
const Nginx = "nginx"

// nginxConf is the common configuration of all nginx servers. Each is one process, so that its
// processor time is easy to measure.
const nginxConf = `daemon off;
master_process off;
pid nginx.pid;
error_log stderr crit;
events { worker_connections 20000; }
http {
	access_log off;
	log_not_found off;
	client_body_temp_path temp;
	proxy_temp_path temp;
	fastcgi_temp_path temp;
	uwsgi_temp_path temp;
	scgi_temp_path temp;
	keepalive_requests 1000000000;
HTTP
	server {
		listen ADDR backlog=4096 SSL;
SERVER
	}
}
`

// nginxTLS has the manual's recommendations for HTTPS servers, with the version and cipher
// that crypto/tls selects.
const nginxTLS = `	ssl_certificate CERT;
	ssl_certificate_key KEY;
	ssl_protocols TLSv1.3;
	ssl_conf_command Ciphersuites TLS_AES_128_GCM_SHA256;
	ssl_session_cache shared:SSL:10m;
	ssl_session_timeout 10m;
`

// NginxSite has the directives for a site.
type NginxSite struct {
	HTTP   string // for all servers; BACKEND is the address of the server to forward to
	Server string // for the only server
	Module string // required compiled-in module, or ""
}

// HelloSite returns a site with the responses of this module's servers.
func HelloSite() NginxSite {
	return NginxSite{Server: "\t\tdefault_type " + serving.ContentType + ";\n\t\treturn 200 \"" + serving.Body + "\";\n"}
}

// NewNginx returns the installed nginx as a server of the site, with the folder temp for its
// own files. It returns an error if no suitable nginx is installed.
func NewNginx(ctx context.Context, temp string, site NginxSite) (*Server, error) {
	path, err := installed(Nginx, "nginx-light")
	if err != nil {
		return nil, err
	}
	text, err := exec.CommandContext(ctx, path, "-V").CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("nginx -V: %w", err)
	}
	if !strings.Contains(string(text), site.Module) {
		return nil, fmt.Errorf("this nginx has no %s", site.Module)
	}
	line, _, _ := strings.Cut(string(text), "\n")
	_, version, ok := strings.Cut(line, "nginx/")
	if !ok {
		return nil, fmt.Errorf("nginx -V says %q", line)
	}
	dir := filepath.Join(temp, "nginx")
	if err := os.MkdirAll(filepath.Join(dir, "temp"), 0o755); err != nil {
		return nil, err
	}
	return &Server{Name: Nginx, Version: "nginx " + version, binary: path, cannot: []Ability{Waiting}, args: func(addr string, settings Settings) ([]string, error) {
		conf := []byte(site.conf(addr, settings))
		return []string{"-e", "stderr", "-p", dir, "-c", "nginx.conf"}, os.WriteFile(filepath.Join(dir, "nginx.conf"), conf, 0o644)
	}}, nil
}

// conf returns the text of the configuration.
func (s *NginxSite) conf(addr string, settings Settings) string {
	directives, options := strings.ReplaceAll(s.HTTP, "BACKEND", settings.Backend), ""
	if id := settings.Identity; id != nil {
		options = " ssl"
		directives += strings.NewReplacer("CERT", id.Cert, "KEY", id.Key).Replace(nginxTLS)
	}
	if settings.HTTP2 {
		options += " http2"
	}
	return strings.NewReplacer("ADDR", addr, " SSL;", options+";", "HTTP\n", directives, "SERVER\n", s.Server).Replace(nginxConf)
}
