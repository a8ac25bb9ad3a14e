package files

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/valyala/fasthttp/bench/internal/rig"
)

// Nginx is the name of that server in tables.
const Nginx = "nginx"

// nginxConf is that of a server of files whose administrator has read the
// manual. It is one process, whose processor time is easily told. That a file is
// missing is not kept, as it is not by the others.
const nginxConf = `daemon off;
master_process off;
pid nginx.pid;
error_log stderr crit;
events { worker_connections 4096; }
http {
	access_log off;
	log_not_found off;
	client_body_temp_path temp;
	proxy_temp_path temp;
	fastcgi_temp_path temp;
	uwsgi_temp_path temp;
	scgi_temp_path temp;
	sendfile on;
	tcp_nopush on;
	keepalive_requests 1000000000;
	open_file_cache max=1000 inactive=60s;
	open_file_cache_valid 60s;
	gzip_static on;
	gzip_vary on;
	types { text/plain txt; }
	charset utf-8;
	server {
		listen ADDR backlog=4096;
		root ROOT;
	}
}
`

// nginxVersion returns the version of the nginx that is installed. It is an
// error if there is none that can do what is measured.
func nginxVersion(ctx context.Context) (string, error) {
	path, err := nginxProgram()
	if err != nil {
		return "", err
	}
	text, err := exec.CommandContext(ctx, path, "-V").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("nginx -V: %w", err)
	}
	if !strings.Contains(string(text), "http_gzip_static_module") {
		return "", errors.New("this nginx has no gzip_static module")
	}
	line, _, _ := strings.Cut(string(text), "\n")
	_, version, ok := strings.Cut(line, "nginx/")
	if !ok {
		return "", fmt.Errorf("nginx -V says %q", line)
	}
	return "nginx " + version, nil
}

// nginxProgram finds nginx, which is for the administrator on some systems.
func nginxProgram() (string, error) {
	for _, name := range []string{"nginx", "/usr/sbin/nginx"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", errors.New("nginx is not installed; on Debian and Ubuntu: sudo apt-get install nginx-light")
}

// startNginx runs nginx for the files in root.
func startNginx(ctx context.Context, temp, root string, place rig.Place) (*rig.Process, error) {
	path, err := nginxProgram()
	if err != nil {
		return nil, err
	}
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	addr := ln.Addr().String()
	if err := ln.Close(); err != nil {
		return nil, err
	}
	dir := filepath.Join(temp, "nginx")
	if err := os.MkdirAll(filepath.Join(dir, "temp"), 0o755); err != nil {
		return nil, err
	}
	conf := strings.NewReplacer("ADDR", addr, "ROOT", root).Replace(nginxConf)
	if err := os.WriteFile(filepath.Join(dir, "nginx.conf"), []byte(conf), 0o644); err != nil {
		return nil, err
	}
	return rig.StartForeign(ctx, place.Command(path, "-e", "stderr", "-p", dir, "-c", "nginx.conf"), addr)
}
