package http3

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/quic-go/quic-go"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/http3/internal/qpack"
	"github.com/valyala/fasthttp/http3/internal/wire"
	"github.com/valyala/fasthttp/internal/field"
	"github.com/valyala/fasthttp/internal/hpack"
	"github.com/valyala/fasthttp/internal/servertest"
)

// tables permits dynamic tables for sent fields.
var tables = fasthttp.HTTP2Config{MaxEncoderHeaderTableSize: 4096}

// announce opens a control stream, with a dynamic table.
func (r raw) announce() {
	settings := wire.Settings{TableCapacity: 4096}
	r.uni(settings.Append([]byte{wire.StreamControl})...)
}

// section returns the header section of the response to a GET request, and the request's stream.
func (r raw) section(more ...string) ([]byte, *quic.Stream) {
	r.t.Helper()
	s := r.stream(true, getHead(more...)...)
	b, err := io.ReadAll(s)
	if err != nil {
		r.t.Fatal(err)
	}
	var reader wire.Reader
	reader.Init(wire.Response, 1<<20)
	_, f, ok, _, fault := reader.Next(b)
	if fault != nil || !ok {
		r.t.Fatalf("no response: %v", fault)
	}
	return f.Payload, s
}

func TestResponsesUseTheTableOfTheClient(t *testing.T) {
	_, addr := run(t, &fasthttp.Server{HTTP2: tables, Name: "a server", Handler: func(ctx *fasthttp.RequestCtx) {
		ctx.SetContentType("text/a-type")
		ctx.Response.Header.Set("X-Same", "a value that is in the table")
	}})
	r := dial(t, addr)
	arrived := r.serverStream(wire.StreamEncoder)
	r.announce()
	acks := r.uni(wire.StreamDecoder)
	var d qpack.Decoder
	d.Init(4096, false, nil)
	// the settings may arrive after the first requests; at the second sight with the table, all fields are inserted
	largest := 0
	for inserted := uint64(0); inserted < 3; inserted = d.Inserted() {
		section, _ := r.section()
		if largest = len(section); section[0] != 0 {
			t.Fatal("entries are used that were not acknowledged")
		}
		select {
		case p := <-arrived:
			servertest.Must(t, d.Feed(p))
		default:
		}
	}
	if _, err := acks.Write(d.AppendIncrement(nil)); err != nil {
		t.Fatal(err)
	}
	for until := time.Now().Add(wait); ; {
		section, s := r.section()
		if section[0] == 0 && time.Now().Before(until) {
			// the acknowledgment has not arrived
			continue
		}
		var l field.List
		needs, err := d.Decode(&l, section, hpack.Limits{Size: 1 << 20, Fields: 100})
		if err != nil || needs == 0 || len(section) > largest-40 {
			t.Fatalf("%x needs %d entries, %v; it was %d bytes", section, needs, err, largest)
		}
		var seen []string
		for i := range l.Entries {
			if name := string(l.Name(i)); name != "date" {
				seen = append(seen, name+": "+string(l.Value(i)))
			}
		}
		if want := []string{":status: 200", "server: a server", "content-type: text/a-type", "content-length: 0", "x-same: a value that is in the table"}; !slices.Equal(seen, want) {
			t.Fatalf("the fields are %q", seen)
		}
		if _, err := acks.Write(d.AppendAck(nil, uint64(s.StreamID()), needs)); err != nil {
			t.Fatal(err)
		}
		break
	}
	if _, err := acks.Write(d.AppendCancel(nil, 1000)); err != nil {
		t.Fatal(err)
	}
	r.section()
}

// A client that does not read the stream of the encoder, or allows none, gets its responses.
func TestResponsesDoNotWaitForInsertions(t *testing.T) {
	_, addr := run(t, &fasthttp.Server{HTTP2: tables, Handler: func(ctx *fasthttp.RequestCtx) {
		value := strings.Repeat("x", 100) + string(ctx.Request.Header.Peek("X-Number"))
		ctx.Response.Header.Set("X-Same", value)
	}})
	r := dial(t, addr)
	r.announce()
	for i := range 200 {
		if section, _ := r.section(fmt.Sprint("x-number: ", i/3)); section[0] != 0 {
			t.Fatal("entries are used that were not acknowledged")
		}
	}
}

// Both sides use tables, with 64 requests at once.
func TestTablesOfBothSides(t *testing.T) {
	s, addr := run(t, &fasthttp.Server{HTTP2: tables, Handler: func(ctx *fasthttp.RequestCtx) {
		ctx.Response.Header.SetBytesV("X-Back", ctx.Request.Header.Peek("X-Sent"))
		ctx.Response.Header.Set("X-Same", "a value that is in the table")
	}})
	c, transport := newClient(t, func(c *fasthttp.Client, _ *Transport) { c.HTTP2 = tables })
	var all sync.WaitGroup
	for i := range 64 {
		all.Go(func() {
			for k := range 20 {
				want := strings.Repeat("v", 60) + fmt.Sprint((i+k)%70)
				resp, err := call(t, c, "https://"+addr, func(req *fasthttp.Request, _ *fasthttp.Response) { req.Header.Set("X-Sent", want) })
				if err != nil || string(resp.Header.Peek("X-Back")) != want || string(resp.Header.Peek("X-Same")) != "a value that is in the table" {
					t.Errorf("%q: %v, %v", want, &resp.Header, err)
					return
				}
			}
		})
	}
	all.Wait()
	var sessions []*session
	s.mu.Lock()
	for c := range s.conns {
		sessions = append(sessions, &c.session)
	}
	s.mu.Unlock()
	for _, c := range transport.all() {
		sessions = append(sessions, &c.session)
	}
	for _, c := range sessions {
		c.mu.Lock()
		if n := c.decoder.Inserted(); n == 0 {
			t.Errorf("%T has received no insertions", c.role)
		}
		c.mu.Unlock()
	}
	if len(sessions) != 2 {
		t.Errorf("%d connections", len(sessions))
	}
}
