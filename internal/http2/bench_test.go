package http2

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/valyala/fasthttp/internal/field"
)

// browser is a request as Chrome sends it. Each request has another path.
var browser = []string{
	":method: GET", ":authority: www.example.com", ":scheme: https", ":path: /api/v1/items?page=%d&sort=asc",
	`sec-ch-ua: "Chromium";v="140", "Not=A?Brand";v="24", "Google Chrome";v="140"`,
	"sec-ch-ua-mobile: ?0",
	"user-agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36",
	"accept: text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8",
	"sec-fetch-site: same-origin", "sec-fetch-mode: cors", "accept-encoding: gzip, deflate, br, zstd",
	"accept-language: en-US,en;q=0.9", "cookie: sid=8d7f0c1e5a6b4c3d9e2f1a0b; theme=dark",
}

const requests = 64

// requestFrames returns requests. The first fills the table of the decoder and is sent
// once. The others may be sent any number of times, with other ids.
func requestFrames() (first []byte, later [][]byte) {
	var block bytes.Buffer
	enc := hpack.NewEncoder(&block)
	for i := range requests + 1 {
		block.Reset()
		for _, line := range browser {
			at := 1 + strings.Index(line[1:], ": ")
			if line[:at] == ":path" {
				// a literal without indexing, as browsers send it
				path := hpack.AppendHuffmanString(nil, fmt.Sprintf(line[at+2:], i))
				block.Write(append([]byte{4, 0x80 | byte(len(path))}, path...))
				continue
			}
			enc.WriteField(hpack.HeaderField{Name: line[:at], Value: line[at+2:]})
		}
		f := append(appendFrame(nil, frameHeaders, flagEndHeaders|flagEndStream, 0, block.Len()), block.Bytes()...)
		if i == 0 {
			first = f
		} else {
			later = append(later, f)
		}
	}
	return first, later
}

func number(f []byte, id uint32) {
	f[5], f[6], f[7], f[8] = byte(id>>24), byte(id>>16), byte(id>>8), byte(id)
}

var (
	helloType   = []byte("text/plain; charset=utf-8")
	helloLength = []byte("13")
	hello       = []byte("Hello, World!")
)

// exchanger serves requests in memory.
type exchanger struct {
	c     Conn
	m     Message
	first []byte
	later [][]byte
	out   []byte
	id    uint32
	names [2][]byte
}

func newExchanger(t testing.TB) *exchanger {
	x := new(exchanger)
	x.c.Init(Server, filled(Limits{}), 0)
	x.first, x.later = requestFrames()
	x.id = 1
	x.names = [2][]byte{field.ContentType.Bytes(), field.ContentLength.Bytes()}
	number(x.first, 1)
	in := append(client().window(0, maxID-firstWindow).b, x.first...)
	for len(in) > 0 {
		n, ev, err := x.c.Feed(in, 0, &x.m)
		if err != nil {
			t.Fatal(err)
		}
		in = in[n:]
		if ev.Kind == Headers {
			x.respond(ev.Stream)
		}
	}
	return x
}

func (x *exchanger) respond(s *Stream) {
	e := x.c.Encoder()
	b := e.AppendStatus(x.c.BeginHeaders(), 200)
	b = e.AppendField(b, field.ContentType, x.names[0], helloType, 0)
	b = e.AppendField(b, field.ContentLength, x.names[1], helloLength, 1)
	x.c.EndHeaders(s, b, SendHead)
	x.c.Send(s, hello, true)
	x.c.Release(s)
}

// next serves one more request.
func (x *exchanger) next(t testing.TB) {
	x.id += 2
	f := x.later[x.id/2%requests]
	number(f, x.id)
	n, ev, err := x.c.Feed(f, x.id, &x.m)
	if n != len(f) || ev.Kind != Headers || err != nil {
		t.Fatal(n, ev.Kind, ev.Err, err)
	}
	x.respond(ev.Stream)
	x.out = x.c.Output(x.out[:0], 1<<20)
	if x.c.sendWindow < 1<<20 {
		x.c.sendWindow = maxID
	}
}

func TestExchangesDoNotAllocate(t *testing.T) {
	x := newExchanger(t)
	if n := testing.AllocsPerRun(1000, func() { x.next(t) }); n != 0 {
		t.Errorf("a request and its response: %v allocations", n)
	}
	// many concurrent streams, with content both ways
	c := new(Conn)
	c.Init(Server, filled(Limits{}), 0)
	var m Message
	s := newScript()
	block := s.fields(post...)
	data := strings.Repeat("a", 1000)
	var streams []*Stream
	var in, out []byte
	body := make([]byte, 20000)
	id := uint32(1)
	feed := func(b []byte) {
		for len(b) > 0 {
			n, ev, err := c.Feed(b, 0, &m)
			if err != nil {
				t.Fatal(err)
			}
			switch ev.Kind {
			case Headers:
				streams = append(streams, ev.Stream)
			case Data:
				c.Consumed(ev.Stream, len(ev.Payload))
			}
			b = b[n:]
		}
	}
	feed(client().window(0, 1<<30).b)
	if n := testing.AllocsPerRun(20, func() {
		in, streams = in[:0], streams[:0]
		for i := range uint32(100) {
			in = append(appendFrame(in, frameHeaders, flagEndHeaders, id+2*i, len(block)), block...)
		}
		for i := range uint32(100) {
			in = append(appendFrame(in, frameData, flagEndStream, id+2*i, len(data)), data...)
		}
		id += 200
		feed(in)
		for _, s := range streams {
			c.EndHeaders(s, c.Encoder().AppendStatus(c.BeginHeaders(), 200), SendHead)
			c.Send(s, body, true)
		}
		for c.HasOutput() {
			out = c.Output(out[:0], 64<<10)
		}
		for s := c.Drained(); s != nil; s = c.Drained() {
			c.Release(s)
		}
	}); n != 0 || c.Held() != 0 {
		t.Errorf("100 streams at a time: %v allocations, %d streams", n, c.Held())
	}
}

// A request of a browser, and a response with a short body.
func BenchmarkExchange(b *testing.B) {
	x := newExchanger(b)
	b.ReportAllocs()
	for b.Loop() {
		x.next(b)
	}
}

// The same frames with x/net's Framer and hpack, without states, windows or checks.
func BenchmarkExchangeXNet(b *testing.B) {
	first, later := requestFrames()
	in := &frameReader{next: func(id uint32) []byte { return later[id%requests] }}
	in.p = first
	var out countingWriter
	fr := http2.NewFramer(&out, in)
	fr.SetReuseFrames()
	var text []byte
	dec := hpack.NewDecoder(4096, func(f hpack.HeaderField) { text = append(append(text, f.Name...), f.Value...) })
	var block bytes.Buffer
	enc := hpack.NewEncoder(&block)
	number(first, 1)
	b.ReportAllocs()
	for b.Loop() {
		f, err := fr.ReadFrame()
		if err != nil {
			b.Fatal(err)
		}
		h := f.(*http2.HeadersFrame)
		text = text[:0]
		if _, err := dec.Write(h.HeaderBlockFragment()); err != nil {
			b.Fatal(err)
		}
		dec.Close()
		block.Reset()
		enc.WriteField(hpack.HeaderField{Name: ":status", Value: "200"})
		enc.WriteField(hpack.HeaderField{Name: "content-type", Value: "text/plain; charset=utf-8"})
		enc.WriteField(hpack.HeaderField{Name: "content-length", Value: "13"})
		fr.WriteHeaders(http2.HeadersFrameParam{StreamID: h.StreamID, BlockFragment: block.Bytes(), EndHeaders: true})
		fr.WriteData(h.StreamID, true, hello)
	}
}

// frameReader reads one frame after another.
type frameReader struct {
	next func(id uint32) []byte
	id   uint32
	p    []byte
}

func (r *frameReader) Read(b []byte) (int, error) {
	if len(r.p) == 0 {
		r.id++
		r.p = r.next(r.id)
		number(r.p, 2*r.id+1)
	}
	n := copy(b, r.p)
	r.p = r.p[n:]
	return n, nil
}

type countingWriter int

func (w *countingWriter) Write(b []byte) (int, error) {
	*w += countingWriter(len(b))
	return len(b), nil
}
