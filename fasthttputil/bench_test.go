package fasthttputil_test

import (
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"github.com/valyala/fasthttp/fasthttputil"
)

// BenchmarkPipeConnsWriteRead moves a message through the buffer on one goroutine.
func BenchmarkPipeConnsWriteRead(b *testing.B) {
	for _, size := range []int{16, 1 << 10, 16 << 10, 64 << 10} {
		b.Run(fmt.Sprintf("%dB", size), func(b *testing.B) {
			pc := fasthttputil.NewPipeConns()
			defer pc.Close()
			c1, c2 := pc.Conn1(), pc.Conn2()
			msg, buf := make([]byte, size), make([]byte, size)
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := c1.Write(msg); err != nil {
					b.Fatal(err)
				}
				if _, err := io.ReadFull(c2, buf); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkPipeConnsPingPong sends a message to another goroutine, which echoes it.
func BenchmarkPipeConnsPingPong(b *testing.B) {
	for _, timeout := range []time.Duration{0, time.Minute} {
		b.Run(fmt.Sprintf("timeout=%v", timeout), func(b *testing.B) {
			pc := fasthttputil.NewPipeConns()
			defer pc.Close()
			c1, c2 := pc.Conn1(), pc.Conn2()
			go echo(c2, 256, timeout)
			msg := make([]byte, 256)
			b.ReportAllocs()
			for b.Loop() {
				if timeout > 0 {
					_ = c1.SetDeadline(time.Now().Add(timeout))
				}
				if _, err := c1.Write(msg); err != nil {
					b.Fatal(err)
				}
				if _, err := io.ReadFull(c1, msg); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkPipeConnsBulk has one goroutine send blocks of 1 MiB, in writes of the given size,
// while another reads and acknowledges each block.
func BenchmarkPipeConnsBulk(b *testing.B) {
	const total = 1 << 20
	for _, size := range []int{4 << 10, 64 << 10, 1 << 20} {
		b.Run(fmt.Sprintf("%dKiB", size>>10), func(b *testing.B) {
			pc := fasthttputil.NewPipeConns()
			defer pc.Close()
			c1, c2 := pc.Conn1(), pc.Conn2()
			go func() {
				buf := make([]byte, 64<<10)
				for got := 0; ; {
					n, err := c2.Read(buf)
					if err != nil {
						return
					}
					if got += n; got == total {
						got = 0
						_, _ = c2.Write(buf[:1])
					}
				}
			}()
			msg, ack := make([]byte, size), make([]byte, 1)
			b.SetBytes(total)
			b.ReportAllocs()
			for b.Loop() {
				for range total / size {
					if _, err := c1.Write(msg); err != nil {
						b.Fatal(err)
					}
				}
				if _, err := c1.Read(ack); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkInmemoryListenerDial opens, accepts and closes a connection.
func BenchmarkInmemoryListenerDial(b *testing.B) {
	ln := fasthttputil.NewInmemoryListener()
	defer ln.Close()
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			_ = c.Close()
		}
	}()
	b.ReportAllocs()
	for b.Loop() {
		c, err := ln.Dial()
		if err != nil {
			b.Fatal(err)
		}
		_ = c.Close()
	}
}

// echo sends back the bytes that it reads, in messages of size bytes, until the connection
// ends.
func echo(c net.Conn, size int, timeout time.Duration) {
	buf := make([]byte, size)
	for {
		if timeout > 0 {
			_ = c.SetDeadline(time.Now().Add(timeout))
		}
		if _, err := io.ReadFull(c, buf); err != nil {
			return
		}
		if _, err := c.Write(buf); err != nil {
			return
		}
	}
}
