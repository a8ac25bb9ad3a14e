package bench

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"testing"
)

// pipelinedAnswers are responses to as many requests as are likely to arrive at
// once.
var pipelinedAnswers = bytes.Repeat(clientAnswerBytes, 256)

// variedAnswers are responses that all differ in their heads from the one before,
// with the same or another size.
var variedAnswers = func() (all [][]byte) {
	for i := range 64 {
		id := fmt.Sprintf("%016x", uint64(i+1)*0x9e3779b97f4a7c15)
		if i%8 > 4 {
			id = id[:8+i%8]
		}
		all = append(all, bytes.Replace(clientAnswerBytes, []byte("Content-Type"), []byte("X-Request-Id: "+id+"\r\nContent-Type"), 1))
	}
	return all
}()

// variedPipelined are as many responses of one size, each with another head than the
// one before.
var variedPipelined = bytes.Repeat(slices.Concat(variedAnswers[:5]...), 51)

// pipelineConn is a connection with a built-in server for pipelined GET requests. Each written
// request makes a response to read.
type pipelineConn struct {
	inProcess
	mu     sync.Mutex
	come   sync.Cond
	size   int    // of a response
	all    []byte // the responses, in turn
	owed   int    // bytes of responses
	read   int    // bytes of all
	closed bool
	tail   []byte // of the last request, if it is incomplete
}

func dialPipeline(string) (net.Conn, error) { return pipelineWith(pipelinedAnswers, len(clientAnswer)) }

func dialVariedPipeline(string) (net.Conn, error) {
	return pipelineWith(variedPipelined, len(variedAnswers[0]))
}

func pipelineWith(all []byte, size int) (net.Conn, error) {
	c := &pipelineConn{all: all, size: size}
	c.come.L = &c.mu
	return c, nil
}

// countRequests returns the number of GET requests that end in p, and the bytes to
// pass as tail to the next call. tail is the end of the bytes before p.
func countRequests(tail, p []byte) (n int, next []byte) {
	if len(tail) > 0 {
		p = append(tail, p...)
	}
	for {
		end := bytes.Index(p, headEnd)
		if end < 0 {
			return n, append(tail[:0], p...)
		}
		n++
		p = p[end+len(headEnd):]
	}
}

func (c *pipelineConn) Write(p []byte) (int, error) {
	n, tail := countRequests(c.tail, p)
	c.tail = tail
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return 0, io.ErrClosedPipe
	}
	c.owed += n * c.size
	c.come.Signal()
	return len(p), nil
}

func (c *pipelineConn) Read(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.owed == 0 {
		if c.closed {
			return 0, io.EOF
		}
		c.come.Wait()
	}
	from := c.all[c.read:]
	n := copy(p, from[:min(len(from), c.owed)])
	c.owed -= n
	if c.read += n; c.read == len(c.all) {
		c.read = 0
	}
	return n, nil
}

func (c *pipelineConn) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	c.come.Broadcast()
	return nil
}

// answerPipelined is answerTCP for pipelined requests.
func answerPipelined(b *testing.B) (dial func(string) (net.Conn, error)) {
	b.Helper()
	return serveTCP(b, func(nc net.Conn) {
		buf := make([]byte, 32<<10)
		var tail []byte
		for {
			k, err := nc.Read(buf)
			if err != nil {
				return
			}
			n := 0
			for n, tail = countRequests(tail, buf[:k]); n > 0; {
				most := min(n, len(pipelinedAnswers)/len(clientAnswer))
				if _, err := nc.Write(pipelinedAnswers[:most*len(clientAnswer)]); err != nil {
					return
				}
				n -= most
			}
		}
	})
}
