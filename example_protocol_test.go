package fasthttp_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"time"

	"github.com/valyala/fasthttp"
)

// shouting is a protocol in which the server sends each line back in upper case.
type shouting struct {
	conn fasthttp.EventConn
}

func (*shouting) Opened(*fasthttp.EventConn) {}

// Received leaves a line without its end, which is then passed again together with the rest.
func (*shouting) Received(c *fasthttp.EventConn, p []byte) (n int) {
	for line := range bytes.Lines(p) {
		if bytes.HasSuffix(line, []byte("\n")) {
			c.Write(bytes.ToUpper(line))
			n += len(line)
		}
	}
	return n
}

func (*shouting) Drained(*fasthttp.EventConn) {}

func (*shouting) Tick(*fasthttp.EventConn) {}

func (*shouting) ShuttingDown(c *fasthttp.EventConn) { c.Close() }

func (*shouting) Ended(*fasthttp.EventConn, error) {}

// switching sends a request for another protocol, and returns a reader of all that follows the
// response.
func switching(c net.Conn) *bufio.Reader {
	fmt.Fprint(c, "GET / HTTP/1.1\r\nHost: any.host\r\nConnection: Upgrade\r\nUpgrade: shout\r\n\r\n")
	r := bufio.NewReader(c)
	var resp fasthttp.Response
	if err := resp.Header.Read(r); err != nil {
		log.Fatal(err)
	}
	fmt.Println(resp.StatusCode())
	return r
}

// The connection speaks another protocol. On Linux it has no goroutine while nothing happens.
func ExampleRequestCtx_SwitchProtocols() {
	client, stop := serve(&fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
		ctx.SetStatusCode(fasthttp.StatusSwitchingProtocols)
		ctx.Response.Header.Set(fasthttp.HeaderConnection, "Upgrade")
		ctx.Response.Header.Set(fasthttp.HeaderUpgrade, "shout")
		s := new(shouting)
		ctx.SwitchProtocols(&s.conn, s)
	}})
	defer stop()

	c, err := client.Dial("")
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	r := switching(c)
	for _, text := range []string{"hello\n", "and good", "bye\n"} {
		fmt.Fprint(c, text)
	}
	for range 2 {
		line, err := r.ReadString('\n')
		if err != nil {
			log.Fatal(err)
		}
		fmt.Print(line)
	}
	// Output:
	// 101
	// HELLO
	// AND GOODBYE
}

// countdown pushes a line each millisecond.
type countdown struct {
	push fasthttp.Push
	left int
}

// Opened and Tick are called by the server, and push a line each.
func (c *countdown) Opened(p *fasthttp.Push) { c.Tick(p) }

func (c *countdown) Tick(p *fasthttp.Push) {
	if c.left == 0 {
		p.Close()
		return
	}
	_ = p.Send(fmt.Appendf(nil, "%d\n", c.left))
	c.left--
	p.SetTick(time.Millisecond)
}

func (c *countdown) ShuttingDown(p *fasthttp.Push) { p.Close() }

func (c *countdown) Ended(*fasthttp.Push, error) {}

// The body is sent piece by piece. On Linux the connection has no goroutine in between.
func ExampleRequestCtx_PushBody() {
	client, stop := serve(&fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
		c := &countdown{left: 3}
		ctx.PushBody(&c.push, c)
	}})
	defer stop()

	_, body, err := client.Get(nil, "http://any.host/")
	fmt.Printf("%s%v\n", body, err)
	// Output:
	// 3
	// 2
	// 1
	// <nil>
}

// A shutdown does not wait for hijacked connections, unless they ask for that.
func ExampleRequestCtx_OnShutdown() {
	client, stop := serve(&fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
		ctx.SetStatusCode(fasthttp.StatusSwitchingProtocols)
		ctx.Response.Header.Set(fasthttp.HeaderConnection, "Upgrade")
		ctx.Response.Header.Set(fasthttp.HeaderUpgrade, "shout")
		ctx.Hijack(func(c net.Conn) {
			ctx.OnShutdown(func(context.Context) {
				fmt.Fprintln(c, "the server shuts down")
				c.Close()
			})
			fmt.Fprintln(c, "hello")
			io.Copy(io.Discard, c)
		})
	}})

	c, err := client.Dial("")
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	r := switching(c)
	line, err := r.ReadString('\n')
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(line)
	stop()
	rest, err := io.ReadAll(r)
	fmt.Printf("%s%v\n", rest, err)
	// Output:
	// 101
	// hello
	// the server shuts down
	// <nil>
}
