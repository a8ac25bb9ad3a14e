package fasthttp_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"
	"strings"
	"time"

	"github.com/valyala/fasthttp"
)

// The target of a request for a client is an absolute URI.
func ExampleRequest_SetRequestURI() {
	client, stop := hello()
	defer stop()

	req, resp := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
	defer fasthttp.ReleaseRequest(req)
	defer fasthttp.ReleaseResponse(resp)
	for _, page := range []string{"/first", "/second?part=2"} {
		req.SetRequestURI("http://any.host" + page)
		if err := client.Do(req, resp); err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s\n", resp.Body())
	}
	// Output:
	// GET /first
	// GET /second?part=2
}

// A change of the URI changes the request. The arguments are encoded as they are set.
func ExampleRequest_URI() {
	client, stop := hello()
	defer stop()

	req, resp := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
	defer fasthttp.ReleaseRequest(req)
	defer fasthttp.ReleaseResponse(resp)
	req.SetRequestURI("http://any.host/search")
	req.URI().QueryArgs().Set("q", "fish & chips")
	if err := client.Do(req, resp); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s\n", resp.Body())
	// Output: GET /search?q=fish+%26+chips
}

// SetBody copies its argument, which the caller may reuse at once.
func ExampleRequest_SetBody() {
	client, stop := hello()
	defer stop()

	data, err := json.Marshal(map[string]string{"text": "buy milk"})
	if err != nil {
		log.Fatal(err)
	}
	req, resp := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
	defer fasthttp.ReleaseRequest(req)
	defer fasthttp.ReleaseResponse(resp)
	req.SetRequestURI("http://any.host/notes")
	req.Header.SetMethod(fasthttp.MethodPost)
	req.Header.SetContentType("application/json")
	req.SetBody(data)
	if err := client.Do(req, resp); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s\n", resp.Body())
	// Output: POST /notes {"text":"buy milk"}
}

// SetBodyString sets the content for a test of a handler.
func ExampleRequest_SetBodyString() {
	req := fasthttp.AcquireRequest()
	defer fasthttp.ReleaseRequest(req)
	req.Header.SetMethod(fasthttp.MethodPost)
	req.SetRequestURI("/echo")
	req.SetBodyString("hello")

	answer(func(ctx *fasthttp.RequestCtx) { ctx.SetBody(ctx.PostBody()) }, req)
	// Output: 200 hello
}

// A client sends content from a reader, here of a known size. With the size -1 it is sent
// in chunks.
func ExampleRequest_SetBodyStream() {
	client, stop := hello()
	defer stop()

	file := strings.NewReader("the content of a file") // closed after the call if it is an io.Closer
	req, resp := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
	defer fasthttp.ReleaseRequest(req)
	defer fasthttp.ReleaseResponse(resp)
	req.SetRequestURI("http://any.host/files/a.txt")
	req.Header.SetMethod(fasthttp.MethodPut)
	req.SetBodyStream(file, file.Len())
	if err := client.Do(req, resp); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s\n", resp.Body())
	// Output: PUT /files/a.txt the content of a file
}

// Body is a part of the request. A value that outlives the handler is a copy.
func ExampleRequest_Body() {
	var last string
	handler := func(ctx *fasthttp.RequestCtx) {
		last = string(ctx.Request.Body())
		ctx.SetStatusCode(fasthttp.StatusAccepted)
		ctx.WriteString("thank you")
	}
	req := get("/")
	req.Header.SetMethod(fasthttp.MethodPost)
	req.SetBodyString("a message")
	answer(handler, req)
	fmt.Println(last)
	// Output:
	// 202 thank you
	// a message
}

// The timeout stays with the request, whichever method sends it.
func ExampleRequest_SetTimeout() {
	client, stop := hello()
	defer stop()

	req, resp := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
	defer fasthttp.ReleaseRequest(req)
	defer fasthttp.ReleaseResponse(resp)
	req.SetRequestURI("http://any.host/slow")
	req.SetTimeout(10 * time.Millisecond)
	err := client.Do(req, resp)
	fmt.Println(errors.Is(err, fasthttp.ErrTimeout))
	// Output: true
}

// A status is never an error of the client: check it.
func ExampleResponse_StatusCode() {
	client, stop := serve(&fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) { ctx.NotFound() }})
	defer stop()

	fetch := func(url string) error {
		req, resp := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
		defer fasthttp.ReleaseRequest(req)
		defer fasthttp.ReleaseResponse(resp)
		req.SetRequestURI(url)
		if err := client.Do(req, resp); err != nil {
			return err
		}
		if status := resp.StatusCode(); status != fasthttp.StatusOK {
			return fmt.Errorf("%s: %d %s", url, status, fasthttp.StatusMessage(status))
		}
		return nil
	}
	fmt.Println(fetch("http://any.host/lost"))
	// Output: http://any.host/lost: 404 Not Found
}

// Body is valid until the response is changed or released. Decode it, or copy it, before.
func ExampleResponse_Body() {
	client, stop := serve(&fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
		ctx.WriteString(`{"name": "eve", "age": 40}`)
	}})
	defer stop()

	type person struct {
		Name string
		Age  int
	}
	fetch := func() (p person, err error) {
		req, resp := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
		defer fasthttp.ReleaseRequest(req)
		defer fasthttp.ReleaseResponse(resp)
		req.SetRequestURI("http://any.host/people/eve")
		if err = client.Do(req, resp); err != nil {
			return p, err
		}
		err = json.Unmarshal(resp.Body(), &p)
		return p, err
	}
	p, err := fetch()
	fmt.Println(p.Name, p.Age, err)
	// Output: eve 40 <nil>
}

// With StreamResponseBody, a program handles lines as they arrive. It closes the stream,
// also if it does not read all of it.
func ExampleResponse_BodyStream() {
	client, stop := serve(&fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
		ctx.WriteString("one\ntwo\n")
	}})
	defer stop()
	client.StreamResponseBody = true

	req, resp := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
	defer fasthttp.ReleaseRequest(req)
	defer fasthttp.ReleaseResponse(resp)
	req.SetRequestURI("http://any.host/lines")
	if err := client.Do(req, resp); err != nil {
		log.Fatal(err)
	}
	defer resp.CloseBodyStream()
	lines := bufio.NewScanner(resp.BodyStream())
	for lines.Scan() {
		fmt.Println("line:", lines.Text())
	}
	fmt.Println(lines.Err())
	// Output:
	// line: one
	// line: two
	// <nil>
}

// BodyWriteTo writes the body to a file, or to any other writer. It reads a stream to its
// end and closes it.
func ExampleResponse_BodyWriteTo() {
	client, stop := hello()
	defer stop()

	req, resp := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
	defer fasthttp.ReleaseRequest(req)
	defer fasthttp.ReleaseResponse(resp)
	req.SetRequestURI("http://any.host/file")
	if err := client.Do(req, resp); err != nil {
		log.Fatal(err)
	}
	if err := resp.BodyWriteTo(os.Stdout); err != nil {
		log.Fatal(err)
	}
	// Output: GET /file
}

// One pair of messages serves for several calls: each call replaces the response.
func ExampleAcquireResponse() {
	client, stop := hello()
	defer stop()

	req, resp := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
	defer fasthttp.ReleaseRequest(req)
	defer fasthttp.ReleaseResponse(resp)
	for i := range 3 {
		req.SetRequestURI(fmt.Sprint("http://any.host/notes/", i))
		if err := client.Do(req, resp); err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s\n", resp.Body())
	}
	// Output:
	// GET /notes/0
	// GET /notes/1
	// GET /notes/2
}

// After ReleaseRequest another goroutine may get the request. A string that was copied
// from it stays valid.
func ExampleReleaseRequest() {
	req := fasthttp.AcquireRequest()
	req.SetRequestURI("http://example.com/notes?page=2")
	page := string(req.URI().QueryArgs().Peek("page"))
	fasthttp.ReleaseRequest(req)

	fmt.Println(page)
	// Output: 2
}

// A response is released once, when neither it nor its body is used any more.
func ExampleReleaseResponse() {
	client, stop := hello()
	defer stop()

	req, resp := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
	req.SetRequestURI("http://any.host/notes")
	err := client.Do(req, resp)
	size := len(resp.Body()) // a number is a copy
	fasthttp.ReleaseResponse(resp)
	fasthttp.ReleaseRequest(req)

	fmt.Println(size, err)
	// Output: 10 <nil>
}
