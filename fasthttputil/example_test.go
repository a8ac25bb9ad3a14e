package fasthttputil_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"

	"github.com/valyala/fasthttp/fasthttputil"
)

// A net/http server and its client, without a port.
func ExampleInmemoryListener() {
	ln := fasthttputil.NewInmemoryListener()
	server := &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprintf(w, "hello from %s\n", r.URL.Path)
		}),
	}
	go func() { _ = server.Serve(ln) }()
	defer server.Close() // closes ln, too

	client := &http.Client{
		Transport: &http.Transport{
			// The host of the URL does not matter.
			DialContext: func(context.Context, string, string) (net.Conn, error) {
				return ln.Dial()
			},
		},
	}
	resp, err := client.Get("http://example.com/there")
	if err != nil {
		log.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s: %s", resp.Status, body)
	// Output: 200 OK: hello from /there
}

// A server sees the address that the client has chosen.
func ExampleInmemoryListener_DialWithLocalAddr() {
	ln := fasthttputil.NewInmemoryListener()
	defer ln.Close()
	ln.SetLocalAddr(&net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 80})
	go func() {
		c, err := ln.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		fmt.Fprintf(c, "%s came to %s", c.RemoteAddr(), c.LocalAddr())
	}()

	c, err := ln.DialWithLocalAddr(&net.TCPAddr{IP: net.IPv4(198, 51, 100, 7), Port: 4711})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	text, err := io.ReadAll(c)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(text))
	// Output: 198.51.100.7:4711 came to 192.0.2.1:80
}

// One goroutine can hold both ends, because Write does not wait for a Read.
func ExamplePipeConns() {
	pc := fasthttputil.NewPipeConns()
	defer pc.Close()
	client, server := pc.Conn1(), pc.Conn2()

	fmt.Fprint(client, "ping")
	buf := make([]byte, 16)
	n, err := server.Read(buf)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("the server got %q\n", buf[:n])
	// Output: the server got "ping"
}
