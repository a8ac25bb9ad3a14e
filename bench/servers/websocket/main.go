// Command websocket is the WebSocket server that the socket benchmarks measure, once with each
// of several libraries. It is a separate module because of them. Each library has a file of its
// own. All use the library in the way its documentation shows,
// with its default settings.
//
// serving.EchoPath returns each message, and serving.GroupPath sends it to all sockets of that
// path. Libraries whose writes block write to one socket of the group after another, each
// within serving.GroupWriteTime.
package main

import (
	"crypto/tls"
	"encoding/json"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"runtime/debug"
	"strings"

	"github.com/valyala/fasthttp/bench/internal/serving"
)

// library is a way to serve WebSockets.
type library struct {
	name   string // in tables
	module string
	serve  func(ln net.Listener) error
	// serveTLS is for libraries that perform the handshakes of TLS; the others get connections
	// of crypto/tls.
	serveTLS func(ln net.Listener, cert, key string) error
}

// libraries are in the order of tables.
var libraries = append(ours(),
	library{name: "fasthttp/websocket", module: "github.com/fasthttp/websocket", serve: serveFasthttp},
	library{name: "gorilla/websocket", module: "github.com/gorilla/websocket", serve: serveGorilla},
	library{name: "coder/websocket", module: "github.com/coder/websocket", serve: serveCoder},
	library{name: "lxzan/gws", module: "github.com/lxzan/gws", serve: serveGWS},
	library{name: "gobwas/ws", module: "github.com/gobwas/ws", serve: serveGobwas})

// mostSize is the limit of a message for libraries whose default is below the sizes of the
// benchmark, in bytes.
const mostSize = 1 << 20

var chosen = flag.String(serving.LibraryFlag, "", "which library serves; the argument "+serving.ListWord+" alone prints them")

func main() {
	if len(os.Args) == 2 && os.Args[1] == serving.ListWord {
		if err := list(); err != nil {
			fmt.Fprintln(os.Stderr, "server:", err)
			os.Exit(1)
		}
		return
	}
	serving.Main(func(ln net.Listener, job serving.Job) error {
		l, err := find(*chosen)
		if err != nil {
			return err
		}
		return l.serveJob(ln, job)
	})
}

// serveJob serves with or without TLS.
func (l library) serveJob(ln net.Listener, job serving.Job) error {
	switch {
	case !job.TLS():
		return l.serve(ln)
	case l.serveTLS != nil:
		return l.serveTLS(ln, job.Cert, job.Key)
	}
	cert, err := tls.LoadX509KeyPair(job.Cert, job.Key)
	if err != nil {
		return err
	}
	return l.serve(tls.NewListener(ln, &tls.Config{Certificates: []tls.Certificate{cert}}))
}

func find(name string) (library, error) {
	var names []string
	for _, l := range libraries {
		if l.name == name {
			return l, nil
		}
		names = append(names, l.name)
	}
	return library{}, fmt.Errorf("there is no library %q; there are %s", name, strings.Join(names, ", "))
}

// list prints the libraries and their versions. A library that a folder replaces has none.
func list() error {
	versions := map[string]string{}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			if m.Replace == nil {
				versions[m.Path] = m.Path + " " + m.Version
			}
		}
	}
	var all []serving.Library
	for _, l := range libraries {
		all = append(all, serving.Library{Name: l.name, Version: versions[l.module]})
	}
	return json.NewEncoder(os.Stdout).Encode(all)
}

// serveHTTP serves the two paths with net/http.
func serveHTTP(ln net.Listener, echo, group http.HandlerFunc) error {
	mux := http.NewServeMux()
	mux.Handle(serving.EchoPath, echo)
	mux.Handle(serving.GroupPath, group)
	return http.Serve(ln, mux)
}
