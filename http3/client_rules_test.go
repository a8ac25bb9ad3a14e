package http3

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/quic-go/quic-go"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/http3/internal/qpack"
	"github.com/valyala/fasthttp/http3/internal/wire"
	"github.com/valyala/fasthttp/internal/field"
	bridge "github.com/valyala/fasthttp/internal/http3"
	"github.com/valyala/fasthttp/internal/servertest"
)

// rawServer runs a server that sends bytes which a test chooses. Each connection gets control on its
// control stream.
func rawServer(t *testing.T, control []byte, serve func(q *quic.Conn)) (addr string) {
	t.Helper()
	ln := listenQUIC(t, patient())
	done := make(chan struct{})
	t.Cleanup(func() {
		_ = ln.Close()
		servertest.Receive(t, "the end of the listener", done)
	})
	go func() {
		defer close(done)
		for {
			q, err := ln.Accept(context.Background())
			if err != nil {
				return
			}
			if control != nil {
				if s, err := q.OpenUniStream(); err == nil {
					_, _ = s.Write(control)
				}
			}
			go serve(q)
		}
	}()
	_, port, _ := net.SplitHostPort(ln.Addr().String())
	return "localhost:" + port
}

// settings are the beginning of a control stream.
func settings(more ...[]byte) []byte {
	return append([]byte{wire.StreamControl, byte(wire.TypeSettings), 0}, frames(more...)...)
}

func status(code string, more ...string) []byte {
	return headers(append([]string{":status: " + code}, more...)...)
}

// varint is the payload of a frame with a number.
func varint(n uint64) string { return string(wire.AppendVarint(nil, n)) }

func TestResponsesThatClientsRefuseAndAccept(t *testing.T) {
	ok := status("200")
	for name, row := range map[string]struct {
		bytes []byte
		want  string // the body, or a part of the error
		code  wire.Code
		conn  bool // the code ends the connection
	}{
		"plain":                      {frames(ok, frame(wire.TypeData, "abc")), "abc", 0, false},
		"no content":                 {ok, "", 0, false},
		"pieces":                     {frames(ok, frame(wire.TypeData, "a"), frame(wire.TypeData, ""), frame(wire.TypeData, "bc")), "abc", 0, false},
		"unknown frames":             {frames(frame(0x21, "x"), ok, frame(0x40, "y"), frame(wire.TypeData, "abc"), frame(0x1f*7+0x21, "z")), "abc", 0, false},
		"interim responses":          {frames(status("103", "link: a"), status("100"), ok, frame(wire.TypeData, "abc")), "abc", 0, false},
		"trailers":                   {frames(ok, frame(wire.TypeData, "abc"), headers("x: y")), "abc", 0, false},
		"forbidden trailers":         {frames(ok, frame(wire.TypeData, "abc"), headers("date: x")), "abc", 0, false},
		"right length":               {frames(status("200", "content-length: 3"), frame(wire.TypeData, "abc")), "abc", 0, false},
		"a length without content":   {status("304", "content-length: 3"), "", 0, false},
		"DATA first":                 {frames(frame(wire.TypeData, "abc"), ok), "DATA at the wrong place", wire.FrameUnexpected, true},
		"DATA after interim":         {frames(status("103"), frame(wire.TypeData, "abc"), ok), "DATA at the wrong place", wire.FrameUnexpected, true},
		"DATA after trailers":        {frames(ok, headers("x: y"), frame(wire.TypeData, "abc")), "DATA at the wrong place", wire.FrameUnexpected, true},
		"HEADERS after trailers":     {frames(ok, headers("x: y"), headers("x: y")), "HEADERS at the wrong place", wire.FrameUnexpected, true},
		"PUSH_PROMISE":               {frames(frame(wire.TypePushPromise, "\x00"), ok), "push", wire.IDError, true},
		"SETTINGS":                   {frames(frame(wire.TypeSettings, ""), ok), "SETTINGS", wire.FrameUnexpected, true},
		"GOAWAY":                     {frames(frame(wire.TypeGoAway, "\x00"), ok), "GOAWAY", wire.FrameUnexpected, true},
		"CANCEL_PUSH":                {frames(frame(wire.TypeCancelPush, "\x00"), ok), "CANCEL_PUSH", wire.FrameUnexpected, true},
		"MAX_PUSH_ID":                {frames(frame(wire.TypeMaxPushID, "\x00"), ok), "MAX_PUSH_ID", wire.FrameUnexpected, true},
		"PRIORITY of HTTP/2":         {frames(frame(0x2, ""), ok), "HTTP/2", wire.FrameUnexpected, true},
		"PING of HTTP/2":             {frames(frame(0x6, ""), ok), "HTTP/2", wire.FrameUnexpected, true},
		"WINDOW_UPDATE of HTTP/2":    {frames(frame(0x8, ""), ok), "HTTP/2", wire.FrameUnexpected, true},
		"CONTINUATION of HTTP/2":     {frames(frame(0x9, ""), ok), "HTTP/2", wire.FrameUnexpected, true},
		"a frame that is cut off":    {frame(wire.TypeHeaders, "abcdef")[:4], "middle of a frame", wire.FrameError, true},
		"content that is cut off":    {frames(ok, frame(wire.TypeData, "abc")[:3]), "middle of a frame", wire.FrameError, true},
		"a section that is nonsense": {frame(wire.TypeHeaders, "\x00\x00\xff\xff\xff\xff"), "QPACK", wire.DecompressionFailed, true},
		"an entry that is not there": {frame(wire.TypeHeaders, "\x00\x00\x80"), "QPACK", wire.DecompressionFailed, true},
		"no status":                  {headers("x: y"), "", wire.MessageError, false},
		"two statuses":               {headers(":status: 200", ":status: 200"), "", wire.MessageError, false},
		"a status of a request":      {headers(":method: GET", ":status: 200"), "", wire.MessageError, false},
		"a late status":              {headers("x: y", ":status: 200"), "", wire.MessageError, false},
		"a bad status":               {status("2000"), "", wire.MessageError, false},
		"101":                        {frames(status("101"), ok), "", wire.MessageError, false},
		"an upper-case name":         {status("200", "X: y"), "", wire.MessageError, false},
		"Connection":                 {status("200", "connection: close"), "", wire.MessageError, false},
		"Transfer-Encoding":          {status("200", "transfer-encoding: chunked"), "", wire.MessageError, false},
		"a bad value":                {status("200", "x: a\nb"), "", wire.MessageError, false},
		"a bad name":                 {status("200", "x y: a"), "", wire.MessageError, false},
		"a pseudo-field in trailers": {frames(ok, headers(":status: 200")), "", wire.MessageError, false},
		"content that is too short":  {frames(status("200", "content-length: 4"), frame(wire.TypeData, "abc")), "shorter", wire.MessageError, false},
		"content that is too long":   {frames(status("200", "content-length: 2"), frame(wire.TypeData, "abc")), "longer", wire.MessageError, false},
		"content that is forbidden":  {frames(status("204"), frame(wire.TypeData, "abc")), "longer", wire.MessageError, false},
		"two lengths":                {status("200", "content-length: 3", "content-length: 4"), "", wire.MessageError, false},
		"a length of letters":        {status("200", "content-length: x"), "", wire.MessageError, false},
		"no response":                {nil, "without a response", wire.MessageError, false},
		"interim alone":              {status("103"), "without a response", wire.MessageError, false},
		"many empty frames":          {frames(ok, []byte(strings.Repeat("\x21\x00", 1001))), "without content", wire.ExcessiveLoad, true},
	} {
		t.Run(name, func(t *testing.T) {
			ended := make(chan error, 1)
			addr := rawServer(t, settings(), func(q *quic.Conn) {
				s, err := q.AcceptStream(context.Background())
				if err != nil {
					return
				}
				_, _ = io.ReadAll(s)
				_, _ = s.Write(row.bytes)
				_ = s.Close()
				<-q.Context().Done()
				ended <- context.Cause(q.Context())
			})
			c, _ := newClient(t, func(c *fasthttp.Client, _ *Transport) { c.MaxIdemponentCallAttempts = 1 })
			resp, err := call(t, c, "https://"+addr, nil)
			if row.code == 0 {
				if err != nil || string(resp.Body()) != row.want {
					t.Errorf("%q, %v", resp.Body(), err)
				}
				return
			}
			if !errors.Is(err, ErrProtocol) || !strings.Contains(err.Error(), row.want) || !strings.Contains(err.Error(), row.code.String()) {
				t.Errorf("the call has the error %v", err)
			}
			if !row.conn {
				return
			}
			end := servertest.Receive(t, "the end of the connection", ended)
			if e, ok := errors.AsType[*quic.ApplicationError](end); !ok || wire.Code(e.ErrorCode) != row.code {
				t.Errorf("the server has got %v", end)
			}
		})
	}
}

func TestConnectionsThatClientsRefuse(t *testing.T) {
	for name, row := range map[string]struct {
		control []byte
		uni     [][]byte // more streams
		ends    bool     // the control stream is closed
		code    wire.Code
	}{
		"no SETTINGS":               {[]byte{wire.StreamControl, byte(wire.TypeGoAway), 1, 0}, nil, false, wire.MissingSettings},
		"an unknown frame first":    {append([]byte{wire.StreamControl}, frame(0x21, "")...), nil, false, wire.MissingSettings},
		"SETTINGS twice":            {settings(frame(wire.TypeSettings, "")), nil, false, wire.FrameUnexpected},
		"a setting twice":           {append([]byte{wire.StreamControl}, frame(wire.TypeSettings, "\x01\x00\x01\x00")...), nil, false, wire.SettingsError},
		"a setting of HTTP/2":       {append([]byte{wire.StreamControl}, frame(wire.TypeSettings, "\x02\x00")...), nil, false, wire.SettingsError},
		"half a setting":            {append([]byte{wire.StreamControl}, frame(wire.TypeSettings, "\x01")...), nil, false, wire.FrameError},
		"extended CONNECT of 2":     {append([]byte{wire.StreamControl}, frame(wire.TypeSettings, "\x08\x02")...), nil, false, wire.SettingsError},
		"DATA":                      {settings(frame(wire.TypeData, "a")), nil, false, wire.FrameUnexpected},
		"HEADERS":                   {settings(frame(wire.TypeHeaders, "a")), nil, false, wire.FrameUnexpected},
		"PUSH_PROMISE":              {settings(frame(wire.TypePushPromise, "\x00")), nil, false, wire.FrameUnexpected},
		"MAX_PUSH_ID":               {settings(frame(wire.TypeMaxPushID, "\x00")), nil, false, wire.FrameUnexpected},
		"CANCEL_PUSH":               {settings(frame(wire.TypeCancelPush, "\x00")), nil, false, wire.IDError},
		"PING of HTTP/2":            {settings(frame(0x6, "")), nil, false, wire.FrameUnexpected},
		"GOAWAY of a push":          {settings(frame(wire.TypeGoAway, varint(3))), nil, false, wire.IDError},
		"GOAWAY that rises":         {settings(frame(wire.TypeGoAway, varint(4)), frame(wire.TypeGoAway, varint(8))), nil, false, wire.IDError},
		"GOAWAY without an id":      {settings(frame(wire.TypeGoAway, "")), nil, false, wire.FrameError},
		"GOAWAY with more":          {settings(frame(wire.TypeGoAway, "\x00\x00")), nil, false, wire.FrameError},
		"the end of control":        {settings(), nil, true, wire.ClosedCriticalStream},
		"a second control":          {settings(), [][]byte{settings()}, false, wire.StreamCreationError},
		"a second encoder":          {settings(), [][]byte{{wire.StreamEncoder}, {wire.StreamEncoder}}, false, wire.StreamCreationError},
		"a second decoder":          {settings(), [][]byte{{wire.StreamDecoder}, {wire.StreamDecoder}}, false, wire.StreamCreationError},
		"a push":                    {settings(), [][]byte{{wire.StreamPush, 0}}, false, wire.IDError},
		"a capacity that is larger": {settings(), [][]byte{{wire.StreamEncoder, 0x3f, 0xff, 0xff, 0x7f}}, false, wire.EncoderStreamError},
		"an entry of nothing":       {settings(), [][]byte{{wire.StreamEncoder, 0x00}}, false, wire.EncoderStreamError},
		"an acknowledgment":         {settings(), [][]byte{{wire.StreamDecoder, 0x80}}, false, wire.DecoderStreamError},
		"an increment":              {settings(), [][]byte{{wire.StreamDecoder, 0x01}}, false, wire.DecoderStreamError},
		"a huge frame":              {settings(wire.AppendFrame(nil, wire.TypeGoAway, 5000)), nil, false, wire.ExcessiveLoad},
	} {
		t.Run(name, func(t *testing.T) {
			ended := make(chan error, 1)
			addr := rawServer(t, nil, func(q *quic.Conn) {
				// without a request, a GOAWAY makes the client close the connection
				if _, err := q.AcceptStream(t.Context()); err != nil {
					t.Error(err)
					return
				}
				for i, b := range append([][]byte{row.control}, row.uni...) {
					s, err := q.OpenUniStream()
					if err != nil {
						t.Error(err)
						return
					}
					_, _ = s.Write(b)
					if i == 0 && row.ends {
						_ = s.Close()
					}
				}
				<-q.Context().Done()
				ended <- context.Cause(q.Context())
			})
			c, _ := newClient(t, func(c *fasthttp.Client, _ *Transport) { c.MaxIdemponentCallAttempts = 1 })
			_, err := call(t, c, "https://"+addr, nil)
			if err == nil {
				t.Error("there is a response")
			}
			end := servertest.Receive(t, "the end of the connection", ended)
			if e, ok := errors.AsType[*quic.ApplicationError](end); !ok || !e.Remote || wire.Code(e.ErrorCode) != row.code {
				t.Errorf("the server has got %v, the client %v", end, err)
			}
		})
	}
}

// answer serves all requests of a connection with a status.
func answer(q *quic.Conn, code string) {
	for {
		s, err := q.AcceptStream(context.Background())
		if err != nil {
			return
		}
		_, _ = io.ReadAll(s)
		_, _ = s.Write(status(code))
		_ = s.Close()
	}
}

// A request that the server has not processed is sent again, whatever its method; one that it
// may have processed is not.
func TestWhichRequestsClientsSendAgain(t *testing.T) {
	for name, row := range map[string]struct {
		refuse func(q *quic.Conn, control *quic.SendStream, s *quic.Stream)
		method string
		again  bool
	}{
		"rejected":          {reset(wire.RequestRejected), "POST", true},
		"reset":             {reset(wire.InternalError), "POST", false},
		"reset, GET":        {reset(wire.InternalError), "GET", false},
		"cancelled":         {reset(wire.RequestCancelled), "POST", false},
		"GOAWAY before":     {goAway(0), "POST", true},
		"GOAWAY after":      {goAway(4), "POST", false},
		"GOAWAY after, GET": {goAway(4), "GET", true},
		"closed":            {closeConn, "POST", false},
		"closed, GET":       {closeConn, "GET", true},
	} {
		t.Run(name, func(t *testing.T) {
			first := true
			addr := rawServer(t, nil, func(q *quic.Conn) {
				control, err := q.OpenUniStream()
				if err != nil {
					return
				}
				_, _ = control.Write(settings())
				if !first {
					answer(q, "200")
					return
				}
				first = false
				s, err := q.AcceptStream(context.Background())
				if err != nil {
					return
				}
				row.refuse(q, control, s)
				answer(q, "200")
			})
			c, _ := newClient(t)
			resp, err := call(t, c, "https://"+addr, func(req *fasthttp.Request, _ *fasthttp.Response) {
				req.Header.SetMethod(row.method)
			})
			if again := err == nil && resp.StatusCode() == 200; again != row.again {
				t.Errorf("sent again: %v, %v", again, err)
			}
		})
	}
}

func reset(code wire.Code) func(*quic.Conn, *quic.SendStream, *quic.Stream) {
	return func(_ *quic.Conn, _ *quic.SendStream, s *quic.Stream) {
		s.CancelRead(quic.StreamErrorCode(code))
		s.CancelWrite(quic.StreamErrorCode(code))
	}
}

func goAway(id uint64) func(*quic.Conn, *quic.SendStream, *quic.Stream) {
	return func(q *quic.Conn, control *quic.SendStream, s *quic.Stream) {
		_, _ = control.Write(frame(wire.TypeGoAway, varint(id)))
		if id > 0 {
			closeConn(q, control, s)
		}
	}
}

func closeConn(q *quic.Conn, _ *quic.SendStream, _ *quic.Stream) {
	_ = q.CloseWithError(quic.ApplicationErrorCode(wire.NoError), "")
}

// A server that needs no more of a request may say so before its response (RFC 9114 section 4.1).
func TestResponseToARequestThatIsNotWanted(t *testing.T) {
	addr := rawServer(t, settings(), func(q *quic.Conn) {
		s, err := q.AcceptStream(context.Background())
		if err != nil {
			return
		}
		s.CancelRead(quic.StreamErrorCode(wire.NoError))
		_, _ = s.Write(status("413"))
		_ = s.Close()
		<-q.Context().Done()
	})
	c, transport := newClient(t)
	for name, set := range map[string]func(*fasthttp.Request){
		"memory": func(req *fasthttp.Request) { req.SetBody(make([]byte, 4<<20)) },
		"stream": func(req *fasthttp.Request) { req.SetBodyStream(strings.NewReader(strings.Repeat("x", 4<<20)), -1) },
	} {
		resp, err := call(t, c, "https://"+addr, func(req *fasthttp.Request, _ *fasthttp.Response) {
			req.Header.SetMethod("POST")
			req.Header.SetConnectionClose()
			set(req)
		})
		if err != nil || resp.StatusCode() != 413 {
			t.Errorf("%s: %d, %v", name, resp.StatusCode(), err)
		}
	}
	awaitRequests(t, transport, 0)
}

// A server that wants no more of a request has as much time for its response as usual.
func TestClientTimeoutAfterARequestThatIsNotWanted(t *testing.T) {
	addr := rawServer(t, settings(), func(q *quic.Conn) {
		for {
			s, err := q.AcceptStream(context.Background())
			if err != nil {
				return
			}
			s.CancelRead(quic.StreamErrorCode(wire.NoError))
		}
	})
	c, _ := newClient(t, func(c *fasthttp.Client, _ *Transport) { c.Timeout, c.ReadTimeout = 0, servertest.Short })
	for name, set := range map[string]func(*fasthttp.Request){
		"memory": func(req *fasthttp.Request) { req.SetBody(make([]byte, 4<<20)) },
		"stream": func(req *fasthttp.Request) { req.SetBodyStream(strings.NewReader(strings.Repeat("x", 4<<20)), -1) },
	} {
		ended := make(chan error, 1)
		go func() {
			_, err := call(t, c, "https://"+addr, func(req *fasthttp.Request, _ *fasthttp.Response) {
				req.Header.SetMethod("POST")
				set(req)
			})
			ended <- err
		}()
		if err := servertest.Receive(t, name, ended); !errors.Is(err, fasthttp.ErrTimeout) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A client does not send header sections that the server does not accept.
func TestClientObservesTheSectionSizeOfTheServer(t *testing.T) {
	limits := wire.Settings{SectionSize: 1000, LimitsSections: true}
	addr := rawServer(t, limits.Append([]byte{wire.StreamControl}), func(q *quic.Conn) { answer(q, "200") })
	c, transport := newClient(t)
	if _, err := call(t, c, "https://"+addr, nil); err != nil {
		t.Fatal(err)
	}
	servertest.Eventually(t, "the settings", func() bool { return transport.all()[0].peerSection.Load() == 1000 })
	for size, want := range map[int]error{500: nil, 1000: ErrLargeRequest} {
		_, err := call(t, c, "https://"+addr, func(req *fasthttp.Request, _ *fasthttp.Response) {
			req.Header.Set("X-Large", strings.Repeat("x", size))
		})
		if !errors.Is(err, want) {
			t.Errorf("%d: %v", size, err)
		}
	}
}

// A response may need entries of the dynamic table that arrive later, or never.
func TestClientWaitsForEntriesOfTheTable(t *testing.T) {
	// insert ":status" (24 of the static table) with the value 299
	insert := []byte{0xc0 | 24, 3, '2', '9', '9'}
	// requires one insertion: base 1, and the entry before it
	section := frame(wire.TypeHeaders, "\x02\x00\x80")
	for _, comes := range []bool{true, false} {
		sent, arrived := make(chan struct{}), make(chan struct{})
		addr := rawServer(t, settings(), func(q *quic.Conn) {
			encoder, err := q.OpenUniStream()
			if err != nil {
				return
			}
			_, _ = encoder.Write([]byte{wire.StreamEncoder, 0x3f, 0xe1, 0x01}) // a capacity of 256
			s, err := q.AcceptStream(context.Background())
			if err != nil {
				return
			}
			_, _ = s.Write(section)
			_ = s.Close()
			close(sent)
			if comes {
				servertest.Receive(t, "the head", arrived)
				_, _ = encoder.Write(insert)
			}
			<-q.Context().Done()
		})
		c, transport := newClient(t)
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		go func() {
			servertest.Receive(t, "the response", sent)
			servertest.Eventually(t, "a section that waits", func() bool { return blockedStreams(transport) > 0 })
			close(arrived)
			if !comes {
				cancel()
			}
		}()
		req, resp := new(fasthttp.Request), new(fasthttp.Response)
		req.SetRequestURI("https://" + addr)
		err := c.DoContext(ctx, req, resp)
		if comes && (err != nil || resp.StatusCode() != 299) || !comes && !errors.Is(err, context.Canceled) {
			t.Errorf("entries come: %v: %d, %v", comes, resp.StatusCode(), err)
		}
	}
}

// The encoder of the server learns that a section was not decoded, also if its stream has ended (RFC 9204
// section 2.2.2.2).
func TestClientCancelsSectionsThatItDoesNotDecode(t *testing.T) {
	said := make(chan []byte, 10)
	addr := rawServer(t, settings(), func(q *quic.Conn) {
		encoder, err := q.OpenUniStream()
		if err != nil {
			return
		}
		_, _ = encoder.Write([]byte{wire.StreamEncoder, 0x3f, 0xe1, 0x01}) // a capacity of 256
		arrived := raw{t, q}.serverStream(wire.StreamDecoder)
		s, err := q.AcceptStream(context.Background())
		if err != nil {
			return
		}
		_, _ = s.Write(frame(wire.TypeHeaders, "\x02\x00\x80"))
		_ = s.Close()
		said <- servertest.Receive(t, "the decoder", arrived)
		<-q.Context().Done()
	})
	c, transport := newClient(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		servertest.Eventually(t, "a section that waits", func() bool { return blockedStreams(transport) > 0 })
		cancel()
	}()
	req, resp := new(fasthttp.Request), new(fasthttp.Response)
	req.SetRequestURI("https://" + addr)
	if err := c.DoContext(ctx, req, resp); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if got := servertest.Receive(t, "the cancellation", said); !bytes.Equal(got, []byte{0x40}) {
		t.Errorf("the decoder says %x, want 40", got)
	}
}

// Sections whose entries never come do not outlast the call.
func TestClientTimeoutWhileASectionIsBlocked(t *testing.T) {
	section := frame(wire.TypeHeaders, "\x02\x00\x80")
	for name, response := range map[string][]byte{
		"head":     section,
		"trailers": frames(status("200"), frame(wire.TypeData, "abc"), section),
	} {
		addr := rawServer(t, settings(), func(q *quic.Conn) {
			s, err := q.AcceptStream(context.Background())
			if err != nil {
				return
			}
			_, _ = s.Write(response)
			_ = s.Close()
			<-q.Context().Done()
		})
		c, transport := newClient(t)
		req, resp := new(fasthttp.Request), new(fasthttp.Response)
		req.SetRequestURI("https://" + addr)
		began := time.Now()
		if err := c.DoTimeout(req, resp, 300*time.Millisecond); err != fasthttp.ErrTimeout || time.Since(began) >= blockedTime {
			t.Errorf("%s: %v after %v", name, err, time.Since(began))
		}
		awaitRequests(t, transport, 0)
	}
}

// A stream that was cancelled before its section was decoded does not wait for entries.
func TestCancelledStreamDoesNotBlock(t *testing.T) {
	addr := rawServer(t, settings(), func(q *quic.Conn) { <-q.Context().Done() })
	_, transport := newClient(t)
	transport.prepare()
	key := bridge.ClientKey{Addrs: addr, TLS: &tls.Config{InsecureSkipVerify: true}, Section: 1000, Fields: 10, Table: 4096}
	opened, err := transport.open(&key, bridge.ClientWait{Ctx: t.Context()})
	if err != nil {
		t.Fatal(err)
	}
	s := opened.(*clientStream)
	s.Cancel()
	began := time.Now()
	var fields field.List
	if err := s.c.decode(&fields, &s.message, []byte{2, 0, 0x80}); err != errCancelled || time.Since(began) >= blockedTime {
		t.Errorf("%v after %v", err, time.Since(began))
	}
	s.ReleaseSending()
	s.Release(false)
}

// A stream whose entries have arrived does not count as a waiting one, even if its goroutine does not run yet:
// the server may let another stream wait in its place.
func TestStreamsDoNotWaitOnceTheirEntriesArrive(t *testing.T) {
	addr := rawServer(t, settings(), func(q *quic.Conn) { <-q.Context().Done() })
	_, transport := newClient(t)
	transport.prepare()
	key := bridge.ClientKey{Addrs: addr, TLS: &tls.Config{InsecureSkipVerify: true}, Section: 1000, Fields: 10, Table: 4096}
	opened, err := transport.open(&key, bridge.ClientWait{Ctx: t.Context()})
	if err != nil {
		t.Fatal(err)
	}
	s := opened.(*clientStream)
	decoded := make(chan error, 1)
	var fields field.List
	go func() { decoded <- s.c.decode(&fields, &s.message, []byte{2, 0, 0x80}) }()
	servertest.Eventually(t, "a section that waits", func() bool { return blockedStreams(transport) == 1 })
	s.c.mu.Lock()
	err = s.c.decoder.Feed([]byte{0x3f, 0xe1, 0x01, 0xc0 | 24, 3, '2', '9', '9'})
	s.c.wake()
	waiting := s.c.blocked.Load()
	s.c.mu.Unlock()
	if err != nil || waiting != 0 {
		t.Errorf("%d streams wait, %v", waiting, err)
	}
	if err := servertest.Receive(t, "the section", decoded); err != nil || fields.Len() != 1 {
		t.Errorf("%d fields, %v", fields.Len(), err)
	}
	if n := s.c.blocked.Load(); n != 0 {
		t.Errorf("%d streams wait at the end", n)
	}
	s.ReleaseSending()
	s.Release(false)
}

// A server that permits no streams does not hold up Close.
func TestCloseWhileAServerPermitsNoStreams(t *testing.T) {
	ln := listenQUIC(t, &quic.Config{MaxIncomingUniStreams: -1, HandshakeIdleTimeout: wait, MaxIdleTimeout: wait})
	c, transport := newClient(t)
	failed := make(chan error, 1)
	go func() {
		_, err := call(t, c, "https://"+ln.Addr().String(), nil)
		failed <- err
	}()
	q, err := ln.Accept(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	servertest.Receive(t, "the handshake", q.HandshakeComplete())
	if err := transport.Close(); err != nil {
		t.Error(err)
	}
	if err := servertest.Receive(t, "the call", failed); !errors.Is(err, ErrTransportClosed) {
		t.Error(err)
	}
}

// A Transport is asked for its connections while its first request begins, which the race detector
// watches.
func TestTransportIsCountedDuringItsFirstRequest(t *testing.T) {
	_, addr := run(t, &fasthttp.Server{Handler: func(*fasthttp.RequestCtx) {}})
	c, transport := newClient(t)
	failed := make(chan error, 1)
	go func() {
		_, _, err := c.Get(nil, "https://"+addr)
		failed <- err
	}()
	transport.CloseIdleConnections()
	// the call may have one by now, or even a second one because the first was idle
	_ = transport.ConnsCount()
	if err := servertest.Receive(t, "the call", failed); err != nil {
		t.Error(err)
	}
}

func blockedStreams(t *Transport) (n int) {
	for _, c := range t.all() {
		c.mu.Lock()
		n += int(c.blocked.Load())
		c.mu.Unlock()
	}
	return n
}

func TestSizeOfASection(t *testing.T) {
	b := headers(":method: GET", "a: bc")
	_, n := wire.Varint(b[1:])
	if got := qpack.SectionSize(b[1+n:]); got != 32+10+32+3 {
		t.Error(got)
	}
	for i := range 99 {
		if got := qpack.SectionSize([]byte{0, 0, 0xc0 | byte(min(i, 62))}); got > qpack.MostExpansion {
			t.Error(fmt.Sprint(i, " has ", got))
		}
	}
}
