// Command peers runs a server of another library in Go, which cmd/peers measures beside this
// fasthttp:
//
//	peers hertz|nbio ADDRESS WAIT-MS [CERTIFICATE KEY]
//
// It answers every request as the other servers do, WAIT-MS milliseconds later, until it is killed. It
// is a module of its own because of the libraries.
package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/cloudwego/hertz/pkg/app"
	"github.com/cloudwego/hertz/pkg/app/server"
	"github.com/cloudwego/hertz/pkg/common/config"
	"github.com/cloudwego/hertz/pkg/common/hlog"
	nbtls "github.com/lesismal/llib/std/crypto/tls"
	"github.com/lesismal/nbio/logging"
	"github.com/lesismal/nbio/nbhttp"
)

// The response of all servers.
var (
	body        = []byte("Hello, World!")
	contentType = "text/plain"
)

// A job is the command line.
type job struct {
	addr      string
	wait      time.Duration
	cert, key string // files, or "" for plain HTTP
}

var libraries = map[string]func(job) error{"hertz": serveHertz, "nbio": serveNbio}

func main() {
	j, err := parse(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "usage: peers hertz|nbio ADDRESS WAIT-MS [CERTIFICATE KEY]:", err)
		os.Exit(2)
	}
	if err := libraries[os.Args[1]](j); err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

// parse reads the arguments of the command.
func parse(args []string) (j job, err error) {
	if len(args) != 3 && len(args) != 5 {
		return j, fmt.Errorf("%d arguments", len(args))
	}
	if libraries[args[0]] == nil {
		return j, fmt.Errorf("no library %q", args[0])
	}
	ms, err := strconv.Atoi(args[2])
	j = job{addr: args[1], wait: time.Duration(ms) * time.Millisecond}
	if len(args) == 5 {
		j.cert, j.key = args[3], args[4]
	}
	return j, err
}

func serveHertz(j job) error {
	hlog.SetLevel(hlog.LevelFatal)
	options := []config.Option{server.WithHostPorts(j.addr), server.WithDisablePrintRoute(true)}
	if j.cert != "" {
		cert, err := tls.LoadX509KeyPair(j.cert, j.key)
		if err != nil {
			return err
		}
		options = append(options, server.WithTLS(&tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS13}))
	}
	h := server.New(options...)
	h.NoRoute(func(_ context.Context, ctx *app.RequestContext) {
		if j.wait > 0 {
			time.Sleep(j.wait)
		}
		ctx.Data(http.StatusOK, contentType, body)
	})
	return h.Run()
}

func serveNbio(j job) error {
	logging.SetLevel(logging.LevelNone)
	settings := nbhttp.Config{
		Network: "tcp",
		MaxLoad: 100_000,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if j.wait > 0 {
				time.Sleep(j.wait)
			}
			w.Header().Set("Content-Type", contentType)
			// else nbio sends chunks
			w.Header().Set("Content-Length", strconv.Itoa(len(body)))
			_, _ = w.Write(body)
		}),
	}
	if j.cert == "" {
		settings.Addrs = []string{j.addr}
	} else {
		cert, err := nbtls.LoadX509KeyPair(j.cert, j.key)
		if err != nil {
			return err
		}
		settings.AddrsTLS = []string{j.addr}
		settings.TLSConfig = &nbtls.Config{Certificates: []nbtls.Certificate{cert}, MinVersion: nbtls.VersionTLS13}
	}
	engine := nbhttp.NewEngine(settings)
	if err := engine.Start(); err != nil {
		return err
	}
	select {}
}
