package http3

import (
	"errors"
	"io"
	"net/http"
	"net/textproto"
	"strconv"
	"testing"
	"time"

	"github.com/quic-go/quic-go"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/http3/internal/qpack"
	"github.com/valyala/fasthttp/http3/internal/wire"
	"github.com/valyala/fasthttp/internal/field"
	"github.com/valyala/fasthttp/internal/hpack"
	"github.com/valyala/fasthttp/internal/policytest"
	"github.com/valyala/fasthttp/internal/servertest"
)

// TestPolicy has the tables that integrationtests has over HTTP/1.1 and HTTP/2.
func TestPolicy(t *testing.T) {
	t.Parallel()
	over := []policytest.Transport{{Name: "HTTP3", Streams: true, ResetDrops: true, Start: startPolicy}}
	for _, table := range policytest.Tables() {
		t.Run(table, func(t *testing.T) { policytest.Run(t, table, over) })
	}
}

func startPolicy(t *testing.T, s *fasthttp.Server) *policytest.Server {
	log := new(servertest.Log)
	s.Logger = log
	_, addr := run(t, s)
	connect := func() *policyClient {
		c := &policyClient{raw: dial(t, addr)}
		c.control()
		return c
	}
	return &policytest.Server{
		Log:  log,
		Dial: func() policytest.Client { return policytest.NewStreams(t, "https", connect()) },
		Hold: func(target, content string) {
			head := headers(":method: POST", ":scheme: https", ":authority: a", ":path: "+target)
			connect().stream(true, frames(head, frame(wire.TypeData, content))...)
		},
	}
}

// policyClient is a policytest.Streams.
type policyClient struct {
	raw
	last *quic.Stream // of the last request
}

// Ask implements policytest.Streams.
func (c *policyClient) Ask(m *policytest.Message) (got policytest.Answer) {
	c.t.Helper()
	s, err := c.q.OpenStream()
	servertest.Must(c.t, err)
	c.last = s
	_ = s.SetDeadline(time.Now().Add(servertest.Patience))
	proceed, sent := make(chan bool, 1), make(chan struct{})
	go func() {
		defer close(sent)
		// the server may refuse the rest
		if _, err := s.Write(headers(m.Section...)); err != nil || m.Waits && !<-proceed {
			return
		}
		c.sendContent(s, m)
	}()
	r := policyReader{s: s, got: &got, proceed: proceed}
	err = r.readAll()
	close(proceed)
	if e, ok := errors.AsType[*quic.StreamError](err); ok && e.Remote {
		got.Cut, got.Code = true, policyCode(wire.Code(e.ErrorCode))
	} else if err != nil {
		c.t.Fatalf("no response: %v", err)
	}
	if m.Open {
		return got
	}
	servertest.Receive(c.t, "the end of the request", sent)
	return got
}

// sendContent sends the rest of a request after its head.
func (c *policyClient) sendContent(s *quic.Stream, m *policytest.Message) {
	for rest := m.Content; rest != ""; {
		part := rest[:min(len(rest), 64<<10)]
		rest = rest[len(part):]
		if _, err := s.Write(frame(wire.TypeData, part)); err != nil {
			return
		}
	}
	if m.Trailers != nil {
		if _, err := s.Write(headers(m.Trailers...)); err != nil {
			return
		}
	}
	if !m.Open {
		_ = s.Close()
	}
}

// Finish implements policytest.Streams.
func (c *policyClient) Finish(content string) {
	// the server may refuse it
	if _, err := c.last.Write(frame(wire.TypeData, content)); err == nil {
		_ = c.last.Close()
	}
}

// policyCode returns the name that HTTP/2 has for a code.
func policyCode(code wire.Code) string {
	switch code {
	case wire.MessageError:
		return "PROTOCOL_ERROR"
	case wire.ExcessiveLoad:
		return "ENHANCE_YOUR_CALM"
	case wire.InternalError:
		return "INTERNAL_ERROR"
	case wire.NoError:
		return "NO_ERROR"
	}
	return code.String()
}

// policyReader reads a response.
type policyReader struct {
	s       *quic.Stream
	got     *policytest.Answer
	proceed chan<- bool
	frames  wire.Reader
	final   bool // the head of the final response was read
}

func (r *policyReader) readAll() error {
	r.frames.Init(wire.Response, 1<<20)
	var held []byte
	buf := make([]byte, 16<<10)
	for {
		n, err := r.s.Read(buf)
		held = append(held, buf[:n]...)
		for {
			n, f, ok, _, fault := r.frames.Next(held)
			if fault != nil {
				return fault
			}
			if ok {
				if err := r.take(f); err != nil {
					return err
				}
			}
			held = held[:copy(held, held[n:])]
			if !ok {
				break
			}
		}
		if err == io.EOF {
			r.got.Cut = !r.final
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// take takes a frame.
func (r *policyReader) take(f wire.Frame) error {
	if f.Type == wire.TypeData {
		r.got.Content += string(f.Payload)
		return nil
	}
	var d qpack.Decoder
	var l field.List
	d.Init(0, false, nil)
	if _, err := d.Decode(&l, f.Payload, hpack.Limits{Size: 1 << 20, Fields: 1000}); err != nil {
		return err
	}
	fields, status := http.Header{}, 0
	for i := range l.Len() {
		if name := string(l.Name(i)); name == ":status" {
			status, _ = strconv.Atoi(string(l.Value(i)))
		} else {
			fields.Add(textproto.CanonicalMIMEHeaderKey(name), string(l.Value(i)))
		}
	}
	switch {
	case r.final:
		r.got.Trailers = fields
	case status/100 == 1:
		r.got.AddInterim(status, fields)
		r.frames.Interim()
		if status == 100 {
			r.proceed <- true
		}
	default:
		r.final, r.got.Status, r.got.Fields = true, status, fields
	}
	return nil
}

// TestRequestsSmuggleNothing has the requests that integrationtests has over HTTP/2.
func TestRequestsSmuggleNothing(t *testing.T) {
	t.Parallel()
	_, addr := run(t, &fasthttp.Server{Handler: policytest.TellAll, Logger: new(servertest.Log)})
	for _, kind := range policytest.Smugglers() {
		c := policyClient{raw: dial(t, addr)}
		c.control()
		for _, m := range kind {
			got := c.Ask(m.Message())
			isReset, status := got.Code == "PROTOCOL_ERROR", strconv.Itoa(got.Status)
			switch m.Want {
			case "", policytest.BadRequest:
				isAnswered := status == policytest.BadRequest && !got.Cut
				if isAnswered != (m.Want == policytest.BadRequest) && m.Trailers == nil || !isAnswered && !isReset {
					t.Errorf("%s: %s, code %q", m.Name, status, got.Code)
				}
			default:
				if got.Status != 200 || got.Content != m.Want {
					t.Errorf("%s: %s %q, code %q, want %q", m.Name, status, got.Content, got.Code, m.Want)
				}
			}
		}
	}
}
