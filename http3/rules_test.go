package http3

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"strings"
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

// raw is a client that sends bytes which a test chooses.
type raw struct {
	t *testing.T
	q *quic.Conn
}

func dial(t *testing.T, addr string) raw {
	t.Helper()
	return dialWith(t, addr, new(quic.Config))
}

func dialWith(t *testing.T, addr string, config *quic.Config) raw {
	t.Helper()
	r, err := tryDial(t, addr, config)
	servertest.Must(t, err)
	return r
}

// tryDial is dialWith for a server that may close the connection at once.
func tryDial(t *testing.T, addr string, config *quic.Config) (raw, error) {
	t.Helper()
	within, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	config.HandshakeIdleTimeout, config.MaxIdleTimeout = wait, wait
	q, err := quic.DialAddr(within, addr, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{NextProto}}, config)
	if err != nil {
		return raw{}, err
	}
	t.Cleanup(func() { _ = q.CloseWithError(0, "") })
	return raw{t, q}, nil
}

// uni opens a unidirectional stream, and sends bytes on it.
func (r raw) uni(b ...byte) *quic.SendStream {
	r.t.Helper()
	s, err := r.q.OpenUniStream()
	if err != nil {
		r.t.Fatal(err)
	}
	if _, err := s.Write(b); err != nil {
		r.t.Fatal(err)
	}
	return s
}

// control opens a control stream, with SETTINGS and more bytes.
func (r raw) control(b ...byte) *quic.SendStream {
	return r.uni(append([]byte{wire.StreamControl, byte(wire.TypeSettings), 0}, b...)...)
}

// stream opens a stream of a request, and sends bytes on it.
func (r raw) stream(end bool, b ...byte) *quic.Stream {
	r.t.Helper()
	s, err := r.q.OpenStream()
	if err != nil {
		r.t.Fatal(err)
	}
	_ = s.SetReadDeadline(time.Now().Add(wait))
	if _, err := s.Write(b); err != nil {
		r.t.Fatal(err)
	}
	if end {
		_ = s.Close()
	}
	return s
}

// serverStream returns the bytes that arrive on a unidirectional stream of the server.
func (r raw) serverStream(kind byte) <-chan []byte {
	seen := make(chan []byte, 100)
	go func() {
		for {
			s, err := r.q.AcceptUniStream(context.Background())
			if err != nil {
				return
			}
			var head [1]byte
			if _, err := io.ReadFull(s, head[:]); err == nil && head[0] == kind {
				each(s, func(p []byte) *wire.Error {
					seen <- bytes.Clone(p)
					return nil
				})
			}
		}
	}()
	return seen
}

// serverControl returns the frames of the server's control stream after SETTINGS.
func (r raw) serverControl() <-chan wire.Frame {
	arrived, seen := r.serverStream(wire.StreamControl), make(chan wire.Frame, 10)
	go func() {
		var frames wire.Reader
		frames.Init(wire.ControlOfServer, 0)
		var held []byte
		for {
			select {
			case p := <-arrived:
				held = append(held, p...)
			case <-r.q.Context().Done():
				return
			}
			for {
				n, f, ok, _, _ := frames.Next(held)
				if ok && f.Type != wire.TypeSettings {
					f.Payload = bytes.Clone(f.Payload)
					seen <- f
				}
				held = held[:copy(held, held[n:])]
				if !ok {
					break
				}
			}
		}
	}()
	return seen
}

// frames joins frames.
func frames(all ...[]byte) []byte { return bytes.Join(all, nil) }

func frame(t wire.Type, payload string) []byte {
	return append(wire.AppendFrame(nil, t, len(payload)), payload...)
}

// headers returns a HEADERS frame with fields, each "name: value".
func headers(fields ...string) []byte {
	b := qpack.Encoder{}.Begin(nil)
	for _, f := range fields {
		i := strings.Index(f[1:], ": ") + 1
		b = hpack.AppendText(b, 0x20, 3, []byte(f[:i]), false)
		b = hpack.AppendText(b, 0, 7, []byte(f[i+2:]), false)
	}
	return append(wire.AppendFrame(nil, wire.TypeHeaders, len(b)), b...)
}

func getHead(more ...string) []byte { return method("GET", more...) }

func method(name string, more ...string) []byte {
	return headers(append([]string{":method: " + name, ":scheme: https", ":authority: a", ":path: /"}, more...)...)
}

// response reads a response, and returns its status, or the error.
func (r raw) response(s *quic.Stream) string {
	r.t.Helper()
	b, err := io.ReadAll(s)
	if e, ok := errors.AsType[*quic.StreamError](err); ok && e.Remote {
		return wire.Code(e.ErrorCode).String()
	}
	if e, ok := errors.AsType[*quic.ApplicationError](err); ok && e.Remote {
		return "connection: " + wire.Code(e.ErrorCode).String()
	}
	if err != nil {
		return err.Error()
	}
	var reader wire.Reader
	reader.Init(wire.Response, 1<<20)
	_, f, ok, _, fault := reader.Next(b)
	if fault != nil || !ok {
		return fmt.Sprint("no response: ", fault)
	}
	var d qpack.Decoder
	d.Init(0, false, nil)
	var l field.List
	if _, err := d.Decode(&l, f.Payload, hpack.Limits{Size: 1 << 20, Fields: 100}); err != nil {
		return err.Error()
	}
	return string(l.Value(0))
}

// ended waits for the end of the connection, and returns its error.
func (r raw) ended() string {
	r.t.Helper()
	select {
	case <-r.q.Context().Done():
	case <-time.After(wait):
		return "it has not ended"
	}
	err := context.Cause(r.q.Context())
	if e, ok := errors.AsType[*quic.ApplicationError](err); ok && e.Remote {
		return wire.Code(e.ErrorCode).String()
	}
	return err.Error()
}

// The rules of RFC 9114 for the messages of a request: each ends the request alone.
func TestRulesForRequests(t *testing.T) {
	_, addr := run(t, &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) { ctx.Write(ctx.PostBody()) }})
	r := dial(t, addr)
	r.control()
	for _, row := range []struct {
		section, want string
		bytes         []byte
	}{
		{"4.1", "200", getHead()},
		{"4.1", "200", frames(getHead(), frame(wire.TypeData, "body"), headers("x-after: 1"))},
		{"4.1", "H3_REQUEST_INCOMPLETE", nil},
		{"4.1.2", "200", frames(method("POST", "content-length: 4"), frame(wire.TypeData, "bo"), frame(wire.TypeData, "dy"))},
		{"4.1.2", "H3_MESSAGE_ERROR", frames(method("POST", "content-length: 5"), frame(wire.TypeData, "body"))},
		{"4.1.2", "H3_MESSAGE_ERROR", frames(method("POST", "content-length: 3"), frame(wire.TypeData, "body"))},
		{"4.1.2", "H3_MESSAGE_ERROR", method("POST", "content-length: 4")},
		{"4.2", "H3_MESSAGE_ERROR", getHead("X-Upper: 1")},
		{"4.2", "H3_MESSAGE_ERROR", getHead("connection: close")},
		{"4.2", "H3_MESSAGE_ERROR", getHead("transfer-encoding: chunked")},
		{"4.2", "H3_MESSAGE_ERROR", getHead("te: gzip")},
		{"4.2", "200", getHead("te: trailers")},
		{"4.2.1", "200", getHead("cookie: a=b", "cookie: c=d")},
		{"4.3", "H3_MESSAGE_ERROR", getHead(":other: 1")},
		{"4.3", "H3_MESSAGE_ERROR", headers(":method: GET", ":scheme: https", "x: y", ":authority: a", ":path: /")},
		{"4.3", "H3_MESSAGE_ERROR", frames(getHead(), headers(":path: /"))},
		{"4.3", "H3_MESSAGE_ERROR", getHead(":status: 200")},
		{"4.3.1", "H3_MESSAGE_ERROR", getHead(":path: /")},
		{"4.3.1", "H3_MESSAGE_ERROR", headers(":scheme: https", ":authority: a", ":path: /")},
		{"4.3.1", "H3_MESSAGE_ERROR", headers(":method: GET", ":authority: a", ":path: /")},
		{"4.3.1", "H3_MESSAGE_ERROR", headers(":method: GET", ":scheme: https", ":authority: a")},
		{"4.3.1", "400", headers(":method: GET", ":scheme: https", ":path: /")},
		{"4.3.1", "H3_MESSAGE_ERROR", getHead("host: b")},
		{"4.3.1", "200", headers(":method: GET", ":scheme: https", ":path: /", "host: a")},
		{"4.4", "H3_MESSAGE_ERROR", headers(":method: CONNECT", ":scheme: https", ":authority: a:1", ":path: /")},
		{"4.4", "200", headers(":method: CONNECT", ":authority: a:1")},
		{"9", "200", frames([]byte{0x21, 2, 0, 0}, getHead(), []byte{0x40, 0x40, 1, 0})},
		{"10.3", "H3_MESSAGE_ERROR", getHead("x: a\nb")},
		{"RFC 9220", "H3_MESSAGE_ERROR", headers(":method: CONNECT", ":protocol: websocket", ":scheme: https", ":authority: a", ":path: /")},
	} {
		if got := r.response(r.stream(true, row.bytes...)); got != row.want {
			t.Errorf("section %s, %q: %s, want %s", row.section, row.bytes, got, row.want)
		}
	}
}

// The rules of RFC 9114 and RFC 9204 for connections.
func TestRulesForConnections(t *testing.T) {
	_, addr := run(t, &fasthttp.Server{HTTP2: tables, Handler: func(ctx *fasthttp.RequestCtx) { ctx.PostBody() }})
	request := func(b ...[]byte) func(r raw) {
		return func(r raw) { r.control(); r.stream(false, frames(b...)...) }
	}
	control := func(b ...byte) func(r raw) { return func(r raw) { r.control(b...) } }
	for _, row := range []struct {
		section, want string
		do            func(r raw)
	}{
		{"4.1", "H3_FRAME_UNEXPECTED", request(frame(wire.TypeData, "body"))},
		{"4.1", "H3_FRAME_UNEXPECTED", request(method("POST"), headers("a: b"), frame(wire.TypeData, "body"))},
		{"4.1", "H3_FRAME_UNEXPECTED", request(method("POST"), headers("a: b"), headers("a: b"))},
		{"7.1", "H3_FRAME_ERROR", func(r raw) { r.stream(true, frames(method("POST"), []byte{0, 4, 'b'})...) }},
		{"7.1", "H3_FRAME_ERROR", func(r raw) { r.stream(true, getHead()[:9]...) }},
		{"7.2.8", "H3_FRAME_UNEXPECTED", request(getHead(), []byte{0x02, 0})},
		{"7.2.8", "H3_FRAME_UNEXPECTED", request([]byte{0x06, 0})},
		{"7.2.4", "H3_FRAME_UNEXPECTED", request([]byte{0x04, 0})},
		{"7.2.5", "H3_FRAME_UNEXPECTED", request(method("POST"), []byte{0x05, 1, 0})},
		{"7.2.6", "H3_FRAME_UNEXPECTED", request([]byte{0x07, 1, 0})},
		{"7.2.7", "H3_FRAME_UNEXPECTED", request([]byte{0x0d, 1, 0})},
		{"7.2.3", "H3_FRAME_UNEXPECTED", request([]byte{0x03, 1, 0})},
		{"6.2.1", "H3_MISSING_SETTINGS", func(r raw) { r.uni(wire.StreamControl, 7, 1, 0) }},
		{"6.2.1", "H3_STREAM_CREATION_ERROR", func(r raw) { r.control(); r.control() }},
		{"6.2.1", "H3_CLOSED_CRITICAL_STREAM", func(r raw) { _ = r.control().Close() }},
		{"6.2.2", "H3_STREAM_CREATION_ERROR", func(r raw) { r.uni(wire.StreamPush, 0) }},
		{"7.2.1", "H3_FRAME_UNEXPECTED", control(0, 1, 'a')},
		{"7.2.2", "H3_FRAME_UNEXPECTED", control(1, 1, 'a')},
		{"7.2.3", "H3_ID_ERROR", control(3, 1, 0)},
		{"7.2.4", "H3_FRAME_UNEXPECTED", control(4, 0)},
		{"7.2.4", "H3_SETTINGS_ERROR", func(r raw) { r.uni(wire.StreamControl, 4, 4, 6, 1, 6, 1) }},
		{"7.2.4.1", "H3_SETTINGS_ERROR", func(r raw) { r.uni(wire.StreamControl, 4, 2, 2, 0) }},
		{"7.2.4", "H3_FRAME_ERROR", func(r raw) { r.uni(wire.StreamControl, 4, 1, 6) }},
		{"5.2", "H3_ID_ERROR", control(7, 1, 1, 7, 1, 2)},
		{"7.2.6", "H3_FRAME_ERROR", control(7, 2, 1, 1)},
		{"7.2.7", "H3_ID_ERROR", control(13, 1, 2, 13, 1, 1)},
		{"10.5", "H3_EXCESSIVE_LOAD", control(7, 0x50, 0)},
		{"10.5", "H3_EXCESSIVE_LOAD", request(method("POST"), bytes.Repeat([]byte{0, 0}, 1001))},
		{"10.5.1", "H3_EXCESSIVE_LOAD", request(frame(wire.TypeHeaders, "\x00\x00"+strings.Repeat("\xe8", 6000)))},
		{"RFC 9204 4.2", "H3_STREAM_CREATION_ERROR", func(r raw) { r.uni(wire.StreamEncoder); r.uni(wire.StreamEncoder) }},
		{"RFC 9204 4.2", "H3_STREAM_CREATION_ERROR", func(r raw) { r.uni(wire.StreamDecoder); r.uni(wire.StreamDecoder) }},
		{"RFC 9204 4.2", "H3_CLOSED_CRITICAL_STREAM", func(r raw) { _ = r.uni(wire.StreamEncoder).Close() }},
		{"RFC 9204 4.3", "QPACK_ENCODER_STREAM_ERROR", func(r raw) { r.uni(wire.StreamEncoder, 0) }},
		{"RFC 9204 4.4", "QPACK_DECODER_STREAM_ERROR", func(r raw) { r.uni(wire.StreamDecoder, 1) }},
		{"RFC 9204 4.4", "QPACK_DECODER_STREAM_ERROR", func(r raw) { r.announce(); r.uni(wire.StreamDecoder, 0) }},
		{"RFC 9204 4.4", "QPACK_DECODER_STREAM_ERROR", func(r raw) { r.announce(); r.uni(wire.StreamDecoder, 0x80) }},
		{"RFC 9204 4.4", "QPACK_DECODER_STREAM_ERROR", func(r raw) { r.announce(); r.uni(wire.StreamDecoder, 0x3e) }},
		{"RFC 9204 2.2.3", "QPACK_DECOMPRESSION_FAILED", request(frame(wire.TypeHeaders, "\x00\x00\x80"))},
	} {
		r := dial(t, addr)
		row.do(r)
		if got := r.ended(); got != row.want {
			t.Errorf("section %s: %s, want %s", row.section, got, row.want)
		}
	}
}

// No peer may stop a stream that must stay open (RFC 9114 section 6.2.1, RFC 9204 section 4.2).
func TestCriticalStreamsThatThePeerStops(t *testing.T) {
	// stop stops the n-th unidirectional stream of the peer
	stop := func(q *quic.Conn, n int) {
		within, cancel := context.WithTimeout(context.Background(), wait)
		defer cancel()
		for i := range n + 1 {
			s, err := q.AcceptUniStream(within)
			if err != nil {
				t.Error(err)
			} else if i == n {
				s.CancelRead(quic.StreamErrorCode(wire.NoError))
			}
		}
	}
	const want = "H3_CLOSED_CRITICAL_STREAM"
	for n, name := range []string{"control", "decoder"} {
		_, addr := run(t, &fasthttp.Server{Handler: func(*fasthttp.RequestCtx) {}})
		r := dial(t, addr)
		r.control()
		stop(r.q, n)
		if got := r.ended(); got != want {
			t.Errorf("%s stream of a server: %s", name, got)
		}
		ended := make(chan string, 1)
		addr = rawServer(t, settings(), func(q *quic.Conn) {
			stop(q, n)
			ended <- raw{t, q}.ended()
		})
		c, _ := newClient(t, func(c *fasthttp.Client, _ *Transport) { c.MaxIdemponentCallAttempts = 1 })
		if _, err := call(t, c, "https://"+addr, nil); err == nil {
			t.Errorf("%s stream of a client: there is a response", name)
		}
		if got := servertest.Receive(t, "the end of the connection", ended); got != want {
			t.Errorf("%s stream of a client: %s", name, got)
		}
	}
}

// A client gets no field section larger than it accepts (RFC 9114 section 4.2.2).
func TestSectionsThatTheClientDoesNotAccept(t *testing.T) {
	_, addr := run(t, &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
		large := strings.Repeat("a", 1000)
		switch string(ctx.QueryArgs().Peek("at")) {
		case "head":
			ctx.Response.Header.Set("X-Large", large)
		case "trailers":
			ctx.Response.Header.SetTrailer("X-Large")
			ctx.Response.Header.Set("X-Large", large)
			ctx.WriteString("content")
		case "interim":
			var hints fasthttp.ResponseHeader
			hints.SetStatusCode(fasthttp.StatusEarlyHints)
			hints.Set("Link", large)
			if err := ctx.Inform(&hints); err == nil {
				t.Error("a response that is too large was sent")
			}
		}
	}})
	r := dial(t, addr)
	r.uni(append([]byte{wire.StreamControl}, (&wire.Settings{SectionSize: 600, LimitsSections: true}).Append(nil)...)...)
	accepted := func() bool {
		s := r.stream(true, frames(headers(":method: GET", ":scheme: https", ":authority: a", ":path: /?at=head"))...)
		return r.response(s) == "200"
	}
	for range 1000 {
		// the settings may arrive after a request
		if !accepted() {
			break
		}
	}
	for at, want := range map[string]string{"": "200", "head": "H3_INTERNAL_ERROR", "trailers": "H3_INTERNAL_ERROR", "interim": "200"} {
		if got := r.response(r.stream(true, headers(":method: GET", ":scheme: https", ":authority: a", ":path: /?at="+at)...)); got != want {
			t.Errorf("%q: %s, want %s", at, got, want)
		}
	}
}

// A limit of 0 is one, and not the same as none (RFC 9114 section 7.2.4.1).
func TestClientThatAcceptsNoSections(t *testing.T) {
	_, addr := run(t, &fasthttp.Server{Handler: func(*fasthttp.RequestCtx) {}})
	r := dial(t, addr)
	r.uni(append([]byte{wire.StreamControl}, frame(wire.TypeSettings, "\x06\x00")...)...)
	got := ""
	// the settings may arrive after a request
	for i := 0; i < 1000 && (got == "" || got == "200"); i++ {
		got = r.response(r.stream(true, getHead()...))
	}
	if got != "H3_INTERNAL_ERROR" {
		t.Errorf("the response is %s", got)
	}
}

func TestStreamsOfUnknownTypesAreIgnored(t *testing.T) {
	_, addr := run(t, &fasthttp.Server{Handler: func(*fasthttp.RequestCtx) {}})
	r := dial(t, addr)
	r.control(0x21, 1, 0)
	for range 30 {
		s, err := r.q.OpenUniStreamSync(context.Background()) // the server ends them
		if err != nil {
			t.Fatal(err)
		}
		_, _ = s.Write([]byte{0x21, 1, 2, 3})
		servertest.Receive(t, "the reset of the stream", s.Context().Done())
	}
	if got := r.response(r.stream(true, getHead()...)); got != "200" {
		t.Errorf("the response is %s", got)
	}
}

// Fields may need entries that arrive later.
func TestRequestsWaitForEntries(t *testing.T) {
	_, addr := run(t, &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
		if string(ctx.Host()) == "www.example.com" && string(ctx.Request.Header.Peek("Custom")) == "value" {
			ctx.SetStatusCode(fasthttp.StatusNoContent)
		}
	}})
	r := dial(t, addr)
	r.control()
	// it requires 2 insertions, and has them as its last fields
	section := append([]byte{3, 0}, 0xc0|17, 0xc0|23, 0xc0|1, 0x80|1, 0x80)
	s := r.stream(true, frame(wire.TypeHeaders, string(section))...)
	encoder := r.uni(wire.StreamEncoder)
	b := hpack.AppendInt(nil, 0x20, 5, 220)
	b = hpack.AppendText(append(b, 0xc0), 0, 7, []byte("www.example.com"), false)
	b = hpack.AppendText(b, 0x40, 5, []byte("custom"), false)
	b = hpack.AppendText(b, 0, 7, []byte("value"), false)
	for _, c := range b {
		if _, err := encoder.Write([]byte{c}); err != nil {
			t.Fatal(err)
		}
	}
	if got := r.response(s); got != "204" {
		t.Errorf("the response is %s", got)
	}
}

func TestTooManyRequestsThatWaitForEntries(t *testing.T) {
	_, addr := run(t, &fasthttp.Server{Handler: func(*fasthttp.RequestCtx) {}})
	r := dial(t, addr)
	r.control()
	for range maxBlocked + 1 {
		r.stream(true, frame(wire.TypeHeaders, "\x03\x00\x80")...)
	}
	if got := r.ended(); got != "QPACK_DECOMPRESSION_FAILED" {
		t.Errorf("the connection: %s", got)
	}
}

func TestHeadsTakeTheirTimeOnly(t *testing.T) {
	_, addr := run(t, &fasthttp.Server{ReadHeaderTimeout: 20 * time.Millisecond, Handler: func(*fasthttp.RequestCtx) {}})
	r := dial(t, addr)
	r.control()
	for _, b := range [][]byte{getHead()[:9], frame(wire.TypeHeaders, "\x03\x00\x80")} {
		if got := r.response(r.stream(false, b...)); got != "H3_REQUEST_INCOMPLETE" {
			t.Errorf("%x: %s", b, got)
		}
	}
}

func TestIdleConnectionsEnd(t *testing.T) {
	for _, own := range []bool{true, false} {
		servertest.Doubling(t, func(limit time.Duration) error {
			over := &Server{Server: &fasthttp.Server{Handler: func(*fasthttp.RequestCtx) {}}}
			if own {
				over.Server.IdleTimeout = limit
			} else {
				over.QUICConfig = &quic.Config{HandshakeIdleTimeout: wait, MaxIdleTimeout: limit}
			}
			_, addr := runOver(t, over)
			r, err := tryDial(t, addr, new(quic.Config))
			if err != nil {
				return err
			}
			// either the server has closed it, or the client has noticed the timeout of QUIC itself
			if got := r.ended(); got != "H3_NO_ERROR" && !strings.Contains(got, "no recent network activity") {
				return errors.New(got)
			}
			return nil
		})
	}
}
