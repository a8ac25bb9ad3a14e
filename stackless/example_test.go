package stackless_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"log"

	"github.com/valyala/fasthttp/stackless"
)

// fib is an example of work that needs a processor and much stack.
func fib(n int) int {
	if n < 2 {
		return n
	}
	return fib(n-1) + fib(n-2)
}

type fibCall struct{ n, result int }

var stacklessFib = stackless.NewFunc(func(ctx any) {
	c := ctx.(*fibCall)
	c.result = fib(c.n)
})

func ExampleNewFunc() {
	c := &fibCall{n: 20}
	if !stacklessFib(c) {
		log.Fatal("too many calls are waiting")
	}
	fmt.Println(c.result)
	// Output: 6765
}

func ExampleNewWriter() {
	var compressed bytes.Buffer
	w := stackless.NewWriter(&compressed, func(w io.Writer) stackless.Writer {
		return gzip.NewWriter(w)
	})
	fmt.Fprint(w, "hello")
	if err := w.Close(); err != nil {
		log.Fatal(err)
	}

	r, err := gzip.NewReader(&compressed)
	if err != nil {
		log.Fatal(err)
	}
	text, err := io.ReadAll(r)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s\n", text)
	// Output: hello
}
