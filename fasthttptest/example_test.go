package fasthttptest_test

import (
	"fmt"
	"log"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/fasthttptest"
)

// A call of a server in memory. t is the *testing.T of the test.
func ExampleNew() {
	t := &fakeT{}
	defer t.end()

	server := fasthttptest.New(t, func(ctx *fasthttp.RequestCtx) {
		fmt.Fprintf(ctx, "you asked for %s", ctx.Path())
	})
	status, body, err := server.Client.Get(nil, server.URL+"/notes")
	fmt.Printf("%d %s %v\n", status, body, err)
	// Output: 200 you asked for /notes <nil>
}

// A handler without a server.
func ExampleDo() {
	handler := func(ctx *fasthttp.RequestCtx) {
		if len(ctx.PostBody()) == 0 {
			ctx.Error("the note is empty", fasthttp.StatusBadRequest)
		}
	}
	var req fasthttp.Request
	req.Header.SetMethod("POST")
	req.SetRequestURI("/notes")
	resp, err := fasthttptest.Do(handler, &req)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d %s\n", resp.StatusCode(), resp.Body())
	// Output: 400 the note is empty
}

// A client whose server closes the connection in the middle of a response. t is the *testing.T of
// the test.
func ExamplePeer_Accept() {
	t := &fakeT{}
	defer t.end()

	peer := fasthttptest.NewPeer(t)
	client := peer.Client()
	result := make(chan error)
	go func() {
		_, _, err := client.Get(nil, "http://any.host/")
		result <- err
	}()
	c := peer.Accept()
	c.ExpectHead()
	c.Send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf")
	c.Close()
	fmt.Println("an error:", <-result != nil)
	// Output: an error: true
}
