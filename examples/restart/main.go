// Command restart replaces itself by a new process when it gets SIGHUP, without losing a
// request: replace the binary, send the signal, and the new binary serves.
//
// It repeats the bodies of requests to /, over HTTP/1.1 and HTTP/2, and the messages of
// WebSockets to /echo, and -addr may be the path of a UNIX socket. On systems other than Unix it
// cannot be replaced.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/restart"
	"github.com/valyala/fasthttp/websocket"
)

func main() {
	addr := flag.String("addr", ":8080", "the TCP address, or the absolute path of a UNIX socket, to listen on")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *addr, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// run serves until ctx ends or another process has taken over.
func run(ctx context.Context, addr string, stdout io.Writer) error {
	network := "tcp"
	if strings.HasPrefix(addr, "/") {
		network = "unix"
	}
	// the listener of the process before this one, or a new one
	ln, err := restart.Listen(network, addr)
	if err != nil {
		return err
	}
	runner := &restart.Runner{
		Server:  newServer(),
		Signals: []os.Signal{syscall.SIGHUP},
		// clients may keep connections for so long before they learn of the new process
		IdleTime: 5 * time.Second,
		Ready: func(context.Context) error {
			_, err := fmt.Fprintf(stdout, "restart: process %d listens on %s\n", os.Getpid(), ln.Addr())
			return err
		},
	}
	return runner.Run(ctx, ln)
}

func newServer() *fasthttp.Server {
	upgrader := &websocket.Upgrader{}
	server := &fasthttp.Server{
		Name: "restart",
		Handler: func(ctx *fasthttp.RequestCtx) {
			ctx.Response.Header.Set("Process", fmt.Sprint(os.Getpid()))
			if string(ctx.Path()) == "/echo" {
				_ = upgrader.Upgrade(ctx, echo) // which has responded if it fails
				return
			}
			ctx.SetBody(ctx.PostBody())
		},
		ReadTimeout:  10 * time.Second,
		WriteTimeout: 10 * time.Second,
		IdleTimeout:  time.Minute,
		// for requests of the old process
		ShutdownTimeout: 10 * time.Second,
	}
	server.Protocols.SetHTTP1(true)
	server.Protocols.SetUnencryptedHTTP2(true)
	return server
}

// echo repeats messages. When this process is replaced, the connection ends with the code
// CloseGoingAway, and clients connect to the new process.
func echo(c *websocket.Conn) {
	for {
		kind, data, err := c.ReadMessage()
		if err != nil || c.WriteMessage(kind, data) != nil {
			return
		}
	}
}
