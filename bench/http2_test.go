package bench

import (
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"testing"

	"github.com/valyala/fasthttp"

	"github.com/valyala/fasthttp/bench/internal/fakeh2"
	"github.com/valyala/fasthttp/bench/internal/protocols"
)

// variedMessages is how many different requests the varied rows have.
const variedMessages = 256

var (
	http2Gets   = []fakeh2.Message{{Fields: browserFields("GET", "/item?id=1729", "5f2b9c1d7a3e", "", false)}}
	http2Varied = variedGets()
	http2Posts  = []fakeh2.Message{jsonPost()}
)

// browserFields returns the fields of getRequest. id is the id of the request, or "". The
// fields that change are path, id and cookie.
func browserFields(method, path, session, id string, changes bool) []fakeh2.Field {
	fields := []fakeh2.Field{
		{Name: ":method", Value: method},
		{Name: ":scheme", Value: "http"},
		{Name: ":authority", Value: "shop.example.com"},
		{Name: ":path", Value: path, Changes: changes},
		{Name: "user-agent", Value: "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"},
		{Name: "referer", Value: "https://shop.example.com/"},
		{Name: "cookie", Value: "session=" + session + "; lang=en; theme=dark", Changes: changes},
	}
	if id != "" {
		fields = append(fields, fakeh2.Field{Name: "x-request-id", Value: id, Changes: changes})
	}
	return fields
}

// variedGets always returns the same messages.
func variedGets() []fakeh2.Message {
	random := rand.New(rand.NewPCG(9113, 7541))
	var all []fakeh2.Message
	for range variedMessages {
		path := "/item?id=" + strconv.Itoa(random.IntN(1_000_000))
		session := fmt.Sprintf("%012x", random.Uint64()>>16)
		id := fmt.Sprintf("%08x-%04x-4%03x-a%03x-%012x", random.Uint32(), random.IntN(1<<16), random.IntN(1<<12), random.IntN(1<<12), random.Uint64()>>16)
		all = append(all, fakeh2.Message{Fields: browserFields("GET", path, session, id, true)})
	}
	return all
}

func jsonPost() fakeh2.Message {
	body := []byte(`{"id":1729,"ok":true,"name0":"leather boots","price1":89.50,"tags2":["new","women"],"note3":"delivery on Monday","owner4":"Ada Lovelace"}`)
	return fakeh2.Message{
		Fields: append(browserFields("POST", "/order", "5f2b9c1d7a3e", "", false),
			fakeh2.Field{Name: "content-type", Value: "application/json"},
			fakeh2.Field{Name: "content-length", Value: strconv.Itoa(len(body))}),
		Body: body,
	}
}

// benchHTTP2 measures a handler with a few clients, each of which keeps a number of streams
// busy. The published fasthttp has no HTTP/2.
func benchHTTP2(b *testing.B, handler fasthttp.RequestHandler, messages []fakeh2.Message, streams int) {
	b.Helper()
	s := &fasthttp.Server{Handler: handler}
	if !protocols.EnableHTTP2(s) {
		b.Skip("this fasthttp has no HTTP/2")
	}
	driveHTTP2(b, s.Serve, messages, streams)
}

func benchNetHTTP2(b *testing.B, handler http.HandlerFunc, messages []fakeh2.Message, streams int) {
	b.Helper()
	s := &http.Server{Handler: handler}
	protocols.EnableHTTP2(s)
	driveHTTP2(b, s.Serve, messages, streams)
}

func driveHTTP2(b *testing.B, serve func(net.Listener) error, messages []fakeh2.Message, streams int) {
	b.Helper()
	ln, err := fakeh2.New(http2Config(messages, b.N, fewClients(), streams))
	if err != nil {
		b.Fatal(err)
	}
	driveClients(b, ln, serve)
}

func http2Config(messages []fakeh2.Message, requests, clients, streams int) fakeh2.Config {
	return fakeh2.Config{Messages: messages, ContentType: contentType, Body: answer, Requests: requests, Clients: clients, Streams: streams}
}

const (
	prefaceSize   = 24
	frameHeadSize = 9
	headersFrame  = 1
)

// bareHTTP2Answer is a HEADERS frame with the status 200, and the type and the length as
// literals, and a DATA frame that ends the stream. The number of the stream is missing.
var bareHTTP2Answer = []byte("\x00\x00\x13\x01\x04\x00\x00\x00\x00\x88" +
	"\x0f\x10\x0atext/plain\x0f\x0d\x0213" +
	"\x00\x00\x0d\x00\x01\x00\x00\x00\x00" + answer)

// bareHTTP2Data is the offset of the DATA frame.
const bareHTTP2Data = frameHeadSize + 19

func serveBareHTTP2(ln net.Listener) error {
	for {
		c, err := ln.Accept()
		if err != nil {
			return nil
		}
		go func() {
			defer c.Close()
			serveBareHTTP2Conn(c)
		}()
	}
}

func serveBareHTTP2Conn(c net.Conn) {
	in, out := make([]byte, 64<<10), make([]byte, 0, 64<<10)
	begin, end, settings := -prefaceSize, 0, []byte("\x00\x00\x00\x04\x00\x00\x00\x00\x00")
	if _, err := c.Write(settings); err != nil {
		return
	}
	for {
		n, err := c.Read(in[end:])
		if err != nil {
			return
		}
		end += n
		if begin < 0 && end >= prefaceSize {
			begin = prefaceSize
		}
		out = out[:0]
		for begin >= 0 && end-begin >= frameHeadSize {
			head := in[begin:end]
			size := frameHeadSize + int(head[0])<<16 + int(head[1])<<8 + int(head[2])
			if len(head) < size {
				break
			}
			if head[3] == headersFrame {
				at := len(out)
				out = append(out, bareHTTP2Answer...)
				copy(out[at+5:], head[5:frameHeadSize])
				copy(out[at+bareHTTP2Data+5:], head[5:frameHeadSize])
			}
			begin += size
		}
		if begin > 0 {
			end = copy(in, in[begin:end])
			begin = 0
		}
		if _, err := c.Write(out); err != nil {
			return
		}
	}
}
