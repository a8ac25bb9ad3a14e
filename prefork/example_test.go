package prefork_test

import (
	"log"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/prefork"
)

// A server that runs as one child process for each processor.
func ExampleNew() {
	server := &fasthttp.Server{
		Handler: func(ctx *fasthttp.RequestCtx) { ctx.WriteString("hello") },
	}
	p := prefork.New(server)
	p.OnMasterReady = func(childPIDs []int) error {
		log.Printf("%d children are serving", len(childPIDs))
		return nil
	}
	if err := p.ListenAndServe(":8080"); err != nil {
		log.Fatal(err)
	}
}

// The master does what must be done only once.
func ExampleIsChild() {
	if !prefork.IsChild() {
		log.Print("this is the master")
	}
}
