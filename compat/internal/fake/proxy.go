// Package fake has peers for the programs of compat.
package fake

import (
	"io"
	"net"
)

// Proxy accepts one connection, records the first bytes on it, answers, and sends no more. got
// stops it and returns these bytes.
func Proxy(answer string) (addr string, got func() string) {
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	first := make(chan string, 1)
	go func() {
		c, err := ln.Accept()
		if err != nil {
			first <- ""
			return
		}
		defer func() { _ = c.Close() }()
		b := make([]byte, 4096)
		n, _ := c.Read(b)
		first <- string(b[:n])
		_, _ = io.WriteString(c, answer)
		_ = c.(*net.TCPConn).CloseWrite()
		_, _ = io.Copy(io.Discard, c)
	}()
	return ln.Addr().String(), func() string {
		_ = ln.Close()
		return <-first
	}
}
