package rig

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/valyala/fasthttp/bench/internal/serving"
)

// The names of other servers of HTTP/2 in tables.
const (
	Nghttpd = "nghttpd"
	H2O     = "h2o"
)

// PlantHello writes the response of this module's servers to a file in a folder of temp, for
// servers that serve only files.
func PlantHello(temp string) (root string, err error) {
	root = filepath.Join(temp, "hello")
	if err := os.MkdirAll(root, 0o755); err != nil {
		return "", err
	}
	return root, os.WriteFile(filepath.Join(root, "index.html"), []byte(serving.Body), 0o644)
}

// NewNghttpd returns the server of nghttp2 with the files of root. It returns an error if
// nghttpd is not installed.
func NewNghttpd(ctx context.Context, root string) (*Server, error) {
	path, version, err := daemon(ctx, "nghttpd", "nghttp2-server", "--version")
	if err != nil {
		return nil, err
	}
	return &Server{Name: Nghttpd, Version: version, binary: path, args: func(addr string, settings Settings) ([]string, error) {
		host, port, err := net.SplitHostPort(addr)
		args, id := []string{"-a", host, "-d", root}, settings.Identity
		if id == nil {
			return append(args, "--no-tls", port), err
		}
		return append(args, port, id.Key, id.Cert), err
	}}, nil
}

// h2oConf is a configuration with one thread, like the other servers. It names the current
// user: otherwise h2o would switch from the administrator to another user.
const h2oConf = `num-threads: 1
USER
max-connections: 20000
listen:
  host: HOST
  port: PORT
SSLhosts:
  default:
    paths:
      /:
        file.dir: ROOT
`

const h2oTLS = `  ssl:
    certificate-file: CERT
    key-file: KEY
    neverbleed: OFF
    ocsp-update-interval: 0
`

// NewH2O returns h2o with the files of root, and the folder temp for its configuration. It
// returns an error if h2o is not installed.
func NewH2O(ctx context.Context, temp, root string) (*Server, error) {
	path, version, err := daemon(ctx, "h2o", "h2o", "--version")
	if err != nil {
		return nil, err
	}
	return &Server{Name: H2O, Version: version, binary: path, args: func(addr string, settings Settings) ([]string, error) {
		host, port, err := net.SplitHostPort(addr)
		if err != nil {
			return nil, err
		}
		ssl, user := "", ""
		if os.Getuid() == 0 {
			user = "user: root"
		}
		if id := settings.Identity; id != nil {
			ssl = strings.NewReplacer("CERT", id.Cert, "KEY", id.Key).Replace(h2oTLS)
		}
		file := filepath.Join(temp, "h2o.conf")
		text := strings.NewReplacer("HOST", host, "PORT", port, "SSL", ssl, "ROOT", root, "USER", user).Replace(h2oConf)
		return []string{"-c", file}, os.WriteFile(file, []byte(text), 0o644)
	}}, nil
}

// installed finds a program, which may be in the administrator's folders.
func installed(name, debian string) (path string, err error) {
	for _, place := range []string{name, "/usr/sbin/" + name} {
		if path, err = exec.LookPath(place); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("%s is not installed; on Debian and Ubuntu: sudo apt-get install %s", name, debian)
}

// daemon finds an installed program, and asks for its version by flag.
func daemon(ctx context.Context, name, debian, flag string) (path, version string, err error) {
	if path, err = installed(name, debian); err != nil {
		return "", "", err
	}
	text, err := exec.CommandContext(ctx, path, flag).CombinedOutput()
	if err != nil {
		return "", "", fmt.Errorf("%s %s: %w", name, flag, err)
	}
	version, _, _ = strings.Cut(string(text), "\n")
	return path, version, nil
}
