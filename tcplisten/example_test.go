package tcplisten_test

import (
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/tcplisten"
)

// A server that accepts connections only after the client has sent its request, if
// the system can do that.
func ExampleConfig_NewListener() {
	cfg := tcplisten.Config{DeferAccept: true, Backlog: 1024}
	ln, err := cfg.NewListener("tcp4", "127.0.0.1:0")
	if errors.Is(err, errors.ErrUnsupported) {
		ln, err = new(tcplisten.Config).NewListener("tcp4", "127.0.0.1:0")
	}
	if err != nil {
		log.Fatal(err)
	}
	server := &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
		ctx.WriteString("hello")
	}}
	served := make(chan error, 1)
	go func() { served <- server.Serve(ln) }()

	resp, err := http.Get("http://" + ln.Addr().String())
	if err != nil {
		log.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s\n", body)
	if err := server.Shutdown(); err != nil {
		log.Fatal(err)
	}
	fmt.Println("served:", <-served)
	// Output:
	// hello
	// served: <nil>
}
