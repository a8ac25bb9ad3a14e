// Command letsencrypt serves HTTPS with certificates from Let's Encrypt, which it
// requests and renews by itself:
//
//	letsencrypt -cache /var/lib/certificates example.com www.example.com
//
// The hosts must resolve to this machine, and its ports 443 and 80 must be reachable. By
// starting the program you agree to the terms of Let's Encrypt. The cache folder keeps
// the certificates, so that a restart does not request new ones: only a few a week are
// issued for each host.
//
// The program proves control of a host in a TLS handshake (RFC 8737). So port 80 only
// redirects browsers to port 443.
package main

import (
	"context"
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"golang.org/x/crypto/acme"
	"golang.org/x/crypto/acme/autocert"

	"github.com/valyala/fasthttp"
)

func main() {
	var o options
	flag.StringVar(&o.https, "https", ":443", "the TCP address for HTTPS")
	flag.StringVar(&o.http, "http", ":80", "the TCP address for plain HTTP")
	flag.StringVar(&o.cache, "cache", "certificates", "the folder where certificates are kept")
	flag.StringVar(&o.email, "email", "", "whom to tell of problems with the certificates")
	flag.StringVar(&o.directory, "directory", autocert.DefaultACMEDirectory, "the URL of the certificate authority")
	flag.Parse()
	o.hosts = flag.Args()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

type options struct {
	https, http             string
	cache, email, directory string
	hosts                   []string
}

// run serves both addresses until ctx ends.
func run(ctx context.Context, o options, stdout io.Writer) error {
	if len(o.hosts) == 0 {
		return errors.New("name the hosts to get certificates for")
	}
	manager := &autocert.Manager{
		Prompt:     autocert.AcceptTOS,
		Cache:      autocert.DirCache(o.cache),
		HostPolicy: autocert.HostWhitelist(o.hosts...),
		Email:      o.email,
		Client:     &acme.Client{DirectoryURL: o.directory},
	}
	secure, err := net.Listen("tcp", o.https)
	if err != nil {
		return err
	}
	plain, err := net.Listen("tcp", o.http)
	if err != nil {
		_ = secure.Close()
		return err
	}
	// two servers, since their handlers differ
	https := newServer(greet)
	https.TLSConfig = &tls.Config{
		GetCertificate: manager.GetCertificate,
		// the protocol by which the certificate authority checks a host
		NextProtos: []string{acme.ALPNProto},
	}
	http := newServer(redirector(o.hosts, secure.Addr()))
	fmt.Fprintf(stdout, "letsencrypt listens on %s and %s\n", secure.Addr(), plain.Addr())
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	served := make(chan error, 1)
	go func() {
		// one server without the other is of no use
		defer cancel()
		served <- http.Run(ctx, plain)
	}()
	err = https.RunTLS(ctx, "", "", secure)
	cancel()
	return errors.Join(err, <-served)
}

// newServer returns a server with the timeouts that a public server needs.
func newServer(handler fasthttp.RequestHandler) *fasthttp.Server {
	return &fasthttp.Server{
		Handler:      handler,
		Name:         "letsencrypt",
		ReadTimeout:  10 * time.Second,
		WriteTimeout: 30 * time.Second,
		IdleTimeout:  2 * time.Minute,
	}
}

// greet is the handler for HTTPS.
func greet(ctx *fasthttp.RequestCtx) {
	state := ctx.TLSConnectionState()
	fmt.Fprintf(ctx, "Hello over %s, %s!\n", tls.VersionName(state.Version), ctx.Host())
	ctx.SetContentType("text/plain; charset=utf-8")
	// from now on browsers use HTTPS without a redirect
	ctx.Response.Header.Set("Strict-Transport-Security", "max-age=31536000")
}

// redirector returns the handler for plain HTTP, which redirects clients to the address
// of HTTPS. It redirects to the given hosts only, so that an attacker cannot use it to
// send a browser to another host.
func redirector(hosts []string, secure net.Addr) fasthttp.RequestHandler {
	port := ""
	if addr, ok := secure.(*net.TCPAddr); ok && addr.Port != 443 {
		port = fmt.Sprintf(":%d", addr.Port)
	}
	return func(ctx *fasthttp.RequestCtx) {
		host := string(ctx.Host())
		if name, _, err := net.SplitHostPort(host); err == nil {
			host = name
		}
		if !slices.Contains(hosts, host) {
			ctx.Error("No such host here.\n", fasthttp.StatusMisdirectedRequest)
			return
		}
		target := "https://" + host + port + string(ctx.URI().RequestURI())
		// 308 keeps the method, whatever that is
		ctx.Redirect(target, fasthttp.StatusPermanentRedirect)
	}
}
