// Package streams has faults: body streams that are never closed.
package streams

import (
	"io"
	"os"

	"github.com/valyala/fasthttp"
)

var client = fasthttp.Client{StreamResponseBody: true}

func copies(req *fasthttp.Request) error {
	var resp fasthttp.Response
	if err := client.Do(req, &resp); err != nil {
		return err
	}
	_, err := io.Copy(os.Stdout, resp.BodyStream()) // want `the stream of the response is not closed`
	return err
}

func reads(req *fasthttp.Request) ([]byte, error) {
	resp := new(fasthttp.Response)
	if err := client.Do(req, resp); err != nil {
		return nil, err
	}
	return io.ReadAll(resp.BodyStream()) // want `the stream of the response is not closed`
}

func readsAPart(req *fasthttp.Request) (byte, error) {
	resp := &fasthttp.Response{}
	if err := client.Do(req, resp); err != nil {
		return 0, err
	}
	stream := resp.BodyStream() // want `the stream of the response is not closed`
	var one [1]byte
	_, err := stream.Read(one[:])
	return one[0], err
}
