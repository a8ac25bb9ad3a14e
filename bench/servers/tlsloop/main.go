// Command tlsloop answers over TLS without HTTP: a goroutine for each connection reads, and
// writes the same bytes after each read. It shows the cost of crypto/tls, the scheduler and
// the system.
package main

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"

	"github.com/valyala/fasthttp/bench/internal/serving"
)

// answer has the length of a fasthttp server's response.
var answer = fmt.Appendf(nil, "HTTP/1.1 200 OK\r\nServer: fasthttp\r\nDate: Thu, 01 Jan 1970 00:00:00 GMT\r\n"+
	"Content-Type: %s\r\nContent-Length: %d\r\n\r\n%s", serving.ContentType, len(serving.Body), serving.Body)

func main() { serving.Main(serve) }

func serve(ln net.Listener, job serving.Job) error {
	if !job.TLS() || job.HTTP2 || job.Mode != serving.Plain {
		return errors.New("this server answers plain requests over TLS alone")
	}
	pair, err := tls.LoadX509KeyPair(job.Cert, job.Key)
	if err != nil {
		return err
	}
	config := &tls.Config{Certificates: []tls.Certificate{pair}}
	for {
		nc, err := ln.Accept()
		if err != nil {
			return err
		}
		go loop(tls.Server(nc, config))
	}
}

func loop(c *tls.Conn) {
	defer c.Close()
	buf := make([]byte, 4<<10)
	for {
		if _, err := c.Read(buf); err != nil {
			return
		}
		if _, err := c.Write(answer); err != nil {
			return
		}
	}
}
