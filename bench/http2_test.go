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
	ln, err := fakeh2.New(fakeh2.Config{
		Messages: messages, ContentType: contentType, Body: answer, Requests: b.N, Clients: fewClients(), Streams: streams,
	})
	if err != nil {
		b.Fatal(err)
	}
	driveClients(b, ln, serve)
}
