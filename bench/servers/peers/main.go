// Command peers runs a server of another library in Go, which cmd/peers measures beside this
// fasthttp:
//
//	peers hertz|nbio ADDRESS
//
// It answers every request as the other servers do, until it is killed. It is a module of its
// own because of the libraries.
package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strconv"

	"github.com/cloudwego/hertz/pkg/app"
	"github.com/cloudwego/hertz/pkg/app/server"
	"github.com/cloudwego/hertz/pkg/common/hlog"
	"github.com/lesismal/nbio/logging"
	"github.com/lesismal/nbio/nbhttp"
)

// The response of all servers.
var (
	body        = []byte("Hello, World!")
	contentType = "text/plain"
)

var libraries = map[string]func(addr string) error{"hertz": serveHertz, "nbio": serveNbio}

func main() {
	if len(os.Args) != 3 || libraries[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: peers hertz|nbio ADDRESS")
		os.Exit(2)
	}
	if err := libraries[os.Args[1]](os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

func serveHertz(addr string) error {
	hlog.SetLevel(hlog.LevelFatal)
	h := server.New(server.WithHostPorts(addr), server.WithDisablePrintRoute(true))
	h.NoRoute(func(_ context.Context, ctx *app.RequestContext) { ctx.Data(http.StatusOK, contentType, body) })
	return h.Run()
}

func serveNbio(addr string) error {
	logging.SetLevel(logging.LevelNone)
	engine := nbhttp.NewEngine(nbhttp.Config{
		Network: "tcp",
		Addrs:   []string{addr},
		MaxLoad: 100_000,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", contentType)
			// else nbio sends chunks
			w.Header().Set("Content-Length", strconv.Itoa(len(body)))
			_, _ = w.Write(body)
		}),
	})
	if err := engine.Start(); err != nil {
		return err
	}
	select {}
}
