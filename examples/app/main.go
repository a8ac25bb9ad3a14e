// Command app is a complete service to start from: a board on which users post notes and
// pictures, and see new ones at once. README.md describes the files.
package main

import (
	"context"
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/valyala/fasthttp"
)

func main() {
	var c config
	flag.StringVar(&c.addr, "addr", "localhost:8443", "the TCP `address` of the service; :8443 is reachable from other machines")
	flag.StringVar(&c.admin, "admin", "localhost:9090", "the TCP `address` of probes, metrics and profiles, for operators alone")
	flag.StringVar(&c.data, "data", "", "the `directory` for pictures; a temporary one by default")
	flag.StringVar(&c.cert, "cert", "", "the `file` of the TLS certificate; without one the program makes its own, which no browser trusts")
	flag.StringVar(&c.key, "key", "", "the `file` of the certificate's key")
	flag.Float64Var(&c.rate, "rate", 20, "how many requests a second each client may send")
	flag.DurationVar(&c.notice, "notice", 0, "how long to serve on after SIGTERM, until load balancers have seen that the service is not ready any more")
	flag.DurationVar(&c.grace, "grace", 20*time.Second, "how long requests may take at the end")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// a second signal ends the program at once
	context.AfterFunc(ctx, stop)
	if err := run(ctx, c, os.Stdout, os.Stderr); err != nil {
		log.Fatal(err)
	}
}

// config has the options of the command line.
type config struct {
	addr, admin     string
	data, cert, key string
	rate            float64
	notice, grace   time.Duration
}

// run serves until ctx ends. The log goes to stderr.
func run(ctx context.Context, c config, stdout, stderr io.Writer) error {
	if c.data == "" {
		temp, err := os.MkdirTemp("", "app")
		if err != nil {
			return err
		}
		defer os.RemoveAll(temp)
		c.data = temp
	}
	certs, err := certificates(&c)
	if err != nil {
		return err
	}
	public, err := net.Listen("tcp", c.addr)
	if err != nil {
		return err
	}
	admin, err := net.Listen("tcp", c.admin)
	if err != nil {
		_ = public.Close()
		return err
	}
	a, err := newApp(c, slog.New(slog.NewJSONHandler(stderr, nil)))
	if err != nil {
		return errors.Join(err, public.Close(), admin.Close())
	}
	fmt.Fprintf(stdout, "app listens on %s and %s\n", public.Addr(), admin.Addr())
	return a.serve(ctx, &tls.Config{GetCertificate: certs.GetCertificate}, public, admin)
}

// certificates returns the certificate of c, which is read again when its files change: a
// renewal needs no restart.
func certificates(c *config) (*fasthttp.TLSReloader, error) {
	if c.cert == "" && c.key == "" {
		cert, key, err := fasthttp.GenerateTestCertificate("localhost")
		if err != nil {
			return nil, err
		}
		c.cert, c.key = filepath.Join(c.data, "cert.pem"), filepath.Join(c.data, "key.pem")
		if err := errors.Join(os.WriteFile(c.cert, cert, 0o600), os.WriteFile(c.key, key, 0o600)); err != nil {
			return nil, err
		}
	}
	return fasthttp.NewTLSReloader(c.cert, c.key)
}
