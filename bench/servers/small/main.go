// Command small is the program whose size the benchmarks compare: the first one that README shows.
package main

import "github.com/valyala/fasthttp"

func main() {
	err := fasthttp.ListenAndServe(":8080", func(ctx *fasthttp.RequestCtx) {
		switch string(ctx.Path()) {
		case "/hello":
			ctx.WriteString("Hello, " + string(ctx.QueryArgs().Peek("name")) + "!\n")
		default:
			ctx.NotFound()
		}
	})
	panic(err)
}
