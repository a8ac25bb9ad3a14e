package fasthttpadaptor_test

import (
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/fasthttpadaptor"
)

// NewFastHTTPHandler runs a net/http mux on a fasthttp server.
func ExampleNewFastHTTPHandler() {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /hello/{name}", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "Hello, %s!", r.PathValue("name"))
	})
	server := &fasthttp.Server{
		Handler:           fasthttpadaptor.NewFastHTTPHandler(mux),
		StreamRequestBody: true, // let handlers read bodies as they arrive
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(ln) }()

	fmt.Println(get("http://" + ln.Addr().String() + "/hello/world"))
	if err := server.Shutdown(); err != nil {
		log.Fatal(err)
	}
	if err := <-served; err != nil {
		log.Fatal(err)
	}
	// Output: Hello, world!
}

// NewHTTPHandler lets a fasthttp handler serve one path of a net/http mux.
func ExampleNewHTTPHandler() {
	fast := func(ctx *fasthttp.RequestCtx) {
		fmt.Fprintf(ctx, "fast: %s", ctx.Path())
	}
	mux := http.NewServeMux()
	mux.Handle("/fast/", fasthttpadaptor.NewHTTPHandler(fast))
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "as ever: %s", r.URL.Path)
	})
	server := httptest.NewServer(mux)
	defer server.Close()

	fmt.Println(get(server.URL + "/fast/a"))
	fmt.Println(get(server.URL + "/b"))
	// Output:
	// fast: /fast/a
	// as ever: /b
}

func get(url string) string {
	resp, err := http.Get(url)
	if err != nil {
		log.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		log.Fatal(err)
	}
	return string(body)
}
