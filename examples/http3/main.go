// Command http3 serves the same handler at one address by three versions of HTTP: HTTP/1.1 and
// HTTP/2 over TCP, which announce HTTP/3 over UDP at the same port. It is a module of its own, so
// that others do not depend on quic-go. Try it with
//
//	go run .
//	curl -k --http1.1 https://localhost:8443/
//	curl -k https://localhost:8443/
//	curl -k --http3-only https://localhost:8443/
//	go run . -get https://localhost:8443/
//
// The last command is a client, which begins with HTTP/2 and follows the announcement.
//
// The program makes its certificate at its start, and no browser trusts it: browsers use HTTP/3 only
// with certificates that they trust.
//
// After SIGINT or SIGTERM it announces to its clients that it accepts no more requests,
// answers the requests that it has accepted, and ends.
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
	"syscall"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/http3"
)

func main() {
	addr := flag.String("addr", ":8443", "the address, of TCP and UDP")
	url := flag.String("get", "", "request this URI three times, instead of serving")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var err error
	if *url != "" {
		err = get(ctx, *url, &tls.Config{InsecureSkipVerify: true}, os.Stdout)
	} else {
		err = run(ctx, *addr, os.Stdout)
	}
	if err != nil {
		log.Fatal(err)
	}
}

// newServer returns a server with the timeouts and limits that a public server needs. All versions
// have the same.
func newServer() *fasthttp.Server {
	server := &fasthttp.Server{
		Handler: func(ctx *fasthttp.RequestCtx) {
			fmt.Fprintf(ctx, "Hello over %s!\n", ctx.Request.Header.Protocol())
		},
		Name:               "http3",
		ReadTimeout:        10 * time.Second,
		WriteTimeout:       30 * time.Second,
		IdleTimeout:        time.Minute,
		MaxRequestBodySize: 1 << 20,
		ShutdownTimeout:    30 * time.Second,
	}
	server.Protocols.SetHTTP1(true)
	server.Protocols.SetHTTP2(true)
	return server
}

// run serves the address until ctx ends.
func run(ctx context.Context, addr string, stdout io.Writer) error {
	server := newServer()
	cert, key, err := fasthttp.GenerateTestCertificate("localhost")
	if err == nil {
		err = server.AppendCertEmbed(cert, key)
	}
	if err != nil {
		return err
	}
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	at := ln.Addr().(*net.TCPAddr)
	pc, err := net.ListenUDP("udp", &net.UDPAddr{IP: at.IP, Port: at.Port, Zone: at.Zone})
	if err != nil {
		_ = ln.Close()
		return err
	}
	defer pc.Close()
	server.ResponseReady = http3.Announce(uint16(at.Port), time.Hour)
	over := &http3.Server{Server: server}
	fmt.Fprintf(stdout, "http3 listens on %s\n", at)

	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	served := make(chan error, 1)
	go func() {
		// the announcement would be wrong
		defer cancel()
		served <- over.Serve(pc)
	}()
	down := make(chan error, 1)
	context.AfterFunc(ctx, func() {
		within, stop := context.WithTimeout(context.Background(), server.ShutdownTimeout)
		defer stop()
		down <- over.Shutdown(within)
	})
	err = server.RunTLS(ctx, "", "", ln)
	cancel()
	return errors.Join(err, <-down, <-served)
}

// get requests a URI several times.
func get(ctx context.Context, url string, config *tls.Config, stdout io.Writer) error {
	transport := new(http3.AltTransport)
	defer transport.Close()
	client := &fasthttp.Client{Transport: transport, TLSConfig: config, Timeout: 10 * time.Second}
	client.Protocols.SetHTTP1(true)
	client.Protocols.SetHTTP2(true)
	defer client.CloseIdleConnections()
	req, resp := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
	defer fasthttp.ReleaseRequest(req)
	defer fasthttp.ReleaseResponse(resp)
	for range 3 {
		req.SetRequestURI(url)
		if err := client.DoContext(ctx, req, resp); err != nil {
			return err
		}
		fmt.Fprintf(stdout, "%s: %s", resp.Header.Protocol(), resp.Body())
	}
	return nil
}
