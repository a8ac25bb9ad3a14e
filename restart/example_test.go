package restart_test

import (
	"context"
	"fmt"
	"log"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/restart"
)

// A service replaces its process when it gets SIGHUP or SIGUSR2, and ends when ctx does. Its ctx
// is from signal.NotifyContext; here it ends after the first request.
func ExampleRunner_Run() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	// after a restart, or below systemd, this listener is inherited
	ln, err := restart.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	r := &restart.Runner{
		Server: &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) { ctx.WriteString("Hello!") }},
		Ready: func(context.Context) error {
			defer stop()
			_, body, err := fasthttp.Get(nil, "http://"+ln.Addr().String())
			fmt.Printf("it serves: %s\n", body)
			return err
		},
	}
	if err := r.Run(ctx, ln); err != nil {
		log.Fatal(err)
	}
	fmt.Println("it has drained its connections")
	// Output:
	// it serves: Hello!
	// it has drained its connections
}
