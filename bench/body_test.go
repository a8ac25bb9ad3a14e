package bench

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"testing"

	"github.com/valyala/fasthttp"
)

// chunkSizes are the sizes of chunks in the chunked rows: small ones, as programs
// flush them, and large ones, as proxies send them.
var chunkSizes = []int{64, 4096}

const chunkedBody = 64 << 10

// chunkedResponse returns a response with chunkedBody bytes of content.
func chunkedResponse(chunk int) []byte {
	text := []byte("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n")
	piece := bytes.Repeat([]byte("0123456789abcdef"), chunk/16)
	for range chunkedBody / chunk {
		text = fmt.Appendf(text, "%x\r\n%s\r\n", chunk, piece)
	}
	return append(text, "0\r\n\r\n"...)
}

func BenchmarkChunkedRead(b *testing.B) {
	for _, chunk := range chunkSizes {
		b.Run(fmt.Sprint(chunk), func(b *testing.B) {
			text := chunkedResponse(chunk)
			source := bytes.NewReader(text)
			reader := bufio.NewReaderSize(source, 16<<10)
			var resp fasthttp.Response
			b.SetBytes(chunkedBody)
			loop(b, func() bool {
				source.Reset(text)
				reader.Reset(source)
				err := resp.Read(reader)
				return err == nil && len(resp.Body()) == chunkedBody
			})
		})
	}
}

// endless is a reader that returns as many bytes as a read asks for.
type endless struct{ left int }

func (e *endless) Read(p []byte) (int, error) {
	n := min(len(p), e.left)
	if n == 0 {
		return 0, io.EOF
	}
	e.left -= n
	return n, nil
}

// BenchmarkChunkedWrite sends a stream of unknown length.
func BenchmarkChunkedWrite(b *testing.B) {
	writer := bufio.NewWriterSize(io.Discard, 16<<10)
	var resp fasthttp.Response
	var body endless
	b.SetBytes(chunkedBody)
	loop(b, func() bool {
		body.left = chunkedBody
		resp.SetBodyStream(&body, -1)
		err := resp.Write(writer)
		return err == nil && body.left == 0
	})
}

// BenchmarkRequestRead reads a POST with a form.
func BenchmarkRequestRead(b *testing.B) {
	var req fasthttp.Request
	readInTurn(b, [][]byte{postRequest}, func(r *bufio.Reader) bool {
		return req.Read(r) == nil && len(req.Body()) == len(postBody)
	})
}

func BenchmarkRequestWrite(b *testing.B) {
	var req fasthttp.Request
	req.Header.SetMethod(fasthttp.MethodPost)
	req.SetRequestURI(uriFull)
	req.Header.SetContentType("application/x-www-form-urlencoded")
	req.SetBodyString(postBody)
	written(b, req.Write)
}

func BenchmarkResponseWrite(b *testing.B) {
	var resp fasthttp.Response
	resp.Header.SetContentType("text/plain")
	resp.SetBody(answerBytes)
	written(b, resp.Write)
}

// written measures write, whose bytes are dropped.
func written(b *testing.B, write func(*bufio.Writer) error) {
	b.Helper()
	writer := bufio.NewWriter(io.Discard)
	loop(b, func() bool { return write(writer) == nil })
}
