package fasthttp

import (
	"bytes"
	"errors"
	"github.com/valyala/fasthttp/internal/content"
	"io"
	"strings"
	"testing"
)

// anyMessage has the methods of bodies that Request and Response share.
type anyMessage interface {
	Body() []byte
	SetBody(body []byte)
	SetBodyString(body string)
	SetBodyRaw(body []byte)
	AppendBody(p []byte)
	AppendBodyString(s string)
	SetBodyStream(bodyStream io.Reader, bodySize int)
	SetBodyStreamWriter(sw StreamWriter)
	BodyStream() io.Reader
	IsBodyStream() bool
	CloseBodyStream() error
	BodyWriter() io.Writer
	BodyWriteTo(w io.Writer) error
	ResetBody()
	Reset()
	SwapBody(body []byte) []byte
	ReleaseBody(size int)
	WriteTo(w io.Writer) (int64, error)
	String() string
}

func newRequest() *Request {
	req := new(Request)
	req.Header.SetMethod("POST")
	req.Header.SetHost("h")
	return req
}

func forBothMessages(t *testing.T, test func(t *testing.T, m anyMessage)) {
	t.Run("request", func(t *testing.T) { test(t, newRequest()) })
	t.Run("response", func(t *testing.T) { test(t, new(Response)) })
}

// content returns the bytes that m writes after its head.
func contentText(t *testing.T, m anyMessage) string {
	t.Helper()
	var out bytes.Buffer
	if _, err := m.WriteTo(&out); err != nil {
		t.Fatal(err)
	}
	_, body, _ := strings.Cut(out.String(), "\r\n\r\n")
	return body
}

func TestBodyIsSetAndAppended(t *testing.T) {
	forBothMessages(t, func(t *testing.T, m anyMessage) {
		check := func(what, want string) {
			t.Helper()
			if got := string(m.Body()); got != want {
				t.Errorf("%s: %q, want %q", what, got, want)
			}
			if got := contentText(t, m); got != want {
				t.Errorf("%s: %q is written, want %q", what, got, want)
			}
		}
		check("at first", "")
		mine := []byte("hello")
		m.SetBody(mine)
		clear(mine)
		check("SetBody", "hello")
		m.AppendBody([]byte(" wor"))
		m.AppendBodyString("ld")
		check("AppendBody", "hello world")
		m.SetBodyString("new")
		check("SetBodyString", "new")
		raw := []byte("raw")
		m.SetBodyRaw(raw)
		check("SetBodyRaw", "raw")
		if &m.Body()[0] != &raw[0] {
			t.Error("SetBodyRaw has copied")
		}
		m.AppendBodyString(" and more")
		check("AppendBody to a raw one", "raw and more")
		if string(raw) != "raw" {
			t.Errorf("the raw body was changed to %q", raw)
		}
		m.SetBodyRaw(raw)
		m.SetBodyString("R")
		check("SetBody over a raw one", "R")
		if string(raw) != "raw" {
			t.Errorf("the raw body was changed to %q", raw)
		}
		m.SetBodyRaw(nil)
		check("SetBodyRaw(nil)", "")
		w := m.BodyWriter()
		_, _ = io.WriteString(w, "one ")
		if n, err := w.Write([]byte("two")); n != 3 || err != nil {
			t.Errorf("Write gives %d, %v", n, err)
		}
		check("BodyWriter", "one two")
		m.ResetBody()
		check("ResetBody", "")
		m.SetBodyRaw([]byte("raw "))
		_, _ = io.WriteString(m.BodyWriter(), "written")
		check("BodyWriter after a raw body", "raw written")
		m.SetBody(nil)
		check("SetBody(nil)", "")
	})
}

func TestBodyMaySetToPartsOfItself(t *testing.T) {
	forBothMessages(t, func(t *testing.T, m anyMessage) {
		// taken takes buffers from the pools, as other requests would
		taken := func() {
			for range 50 {
				other := AcquireResponse()
				other.SetBodyString(strings.Repeat("!", 64))
				ReleaseResponse(other)
			}
		}
		for what, change := range map[string]func(body []byte){
			"SetBody":       func(body []byte) { m.SetBody(body[2:]) },
			"SetBodyRaw":    func(body []byte) { m.SetBodyRaw(body[2:]) },
			"raw, appended": func(body []byte) { m.SetBodyRaw(body[2:4]); m.AppendBody(body[4:]) },
			"a stream":      func(body []byte) { m.SetBodyStream(bytes.NewReader(body[2:]), len(body)-2) },
			"a read stream": func(body []byte) { m.SetBodyStream(bytes.NewReader(body[2:]), -1); taken(); _ = m.Body() },
			"appended": func(body []byte) {
				m.ResetBody()
				m.SetBodyString("ab")
				m.AppendBody(body[4:4])
				m.SetBodyString("cdefgh")
			},
		} {
			m.ResetBody()
			m.SetBodyString("abcdefgh")
			change(m.Body())
			taken()
			if got := contentText(t, m); got != "cdefgh" {
				t.Errorf("%s: %q", what, got)
			}
		}
		m.SetBodyString("ab")
		m.AppendBody(m.Body())
		m.AppendBody(m.Body())
		if got := string(m.Body()); got != "abababab" {
			t.Errorf("appended to itself: %q", got)
		}
	})
}

func TestBodySwap(t *testing.T) {
	forBothMessages(t, func(t *testing.T, m anyMessage) {
		if old := m.SwapBody([]byte("first")); len(old) > 0 {
			t.Errorf("an empty body gives %q", old)
		}
		mine := []byte("second")
		old := m.SwapBody(mine)
		if string(old) != "first" || string(m.Body()) != "second" || &m.Body()[0] != &mine[0] {
			t.Errorf("%q, %q", old, m.Body())
		}
		m.SetBodyString("third")
		m.AppendBodyString(" more")
		if string(old) != "first" {
			t.Errorf("the old body has become %q", old)
		}
		m.SetBodyRaw([]byte("raw"))
		if old := m.SwapBody(nil); string(old) != "raw" || len(m.Body()) > 0 {
			t.Errorf("a raw body gives %q, then %q", old, m.Body())
		}
		stream := &closeCounter{Reader: strings.NewReader("streamed")}
		m.SetBodyStream(stream, 8)
		if old := m.SwapBody([]byte("new")); string(old) != "streamed" || m.IsBodyStream() || string(m.Body()) != "new" || stream.n != 1 {
			t.Errorf("a stream gives %q, then %q, closed %d times", old, m.Body(), stream.n)
		}
	})
}

func TestBodyWriteTo(t *testing.T) {
	boom := errors.New("boom")
	forBothMessages(t, func(t *testing.T, m anyMessage) {
		var out bytes.Buffer
		m.SetBodyString("buffered")
		if err := m.BodyWriteTo(&out); err != nil || out.String() != "buffered" {
			t.Errorf("%v, %q", err, out.String())
		}
		out.Reset()
		m.SetBodyRaw([]byte("raw"))
		if err := m.BodyWriteTo(&out); err != nil || out.String() != "raw" {
			t.Errorf("%v, %q", err, out.String())
		}
		out.Reset()
		stream := &closeCounter{Reader: strings.NewReader("streamed"), err: boom}
		m.SetBodyStream(stream, -1)
		if err := m.BodyWriteTo(&out); !errors.Is(err, boom) || out.String() != "streamed" || stream.n != 1 || m.IsBodyStream() {
			t.Errorf("%v, %q, closed %d times", err, out.String(), stream.n)
		}
		m.SetBodyStream(strings.NewReader("streamed"), -1)
		if err := m.BodyWriteTo(failingWriter{boom}); !errors.Is(err, boom) {
			t.Errorf("%v", err)
		}
		m.SetBodyString("x")
		if err := m.BodyWriteTo(failingWriter{boom}); !errors.Is(err, boom) {
			t.Errorf("%v", err)
		}
	})
}

// bufferOf returns the body of a message.
func bufferOf(m anyMessage) *content.Body {
	switch m := m.(type) {
	case *Request:
		return &m.body
	case *Response:
		return &m.body
	}
	panic("no such message")
}

func keepBuffer(m anyMessage) {
	switch m := m.(type) {
	case *Request:
		m.KeepBodyBuffer = true
	case *Response:
		m.KeepBodyBuffer = true
	}
}

func TestBodyBufferIsKeptWhereThatIsWanted(t *testing.T) {
	SetBodySizePoolLimit(10, 10)
	defer SetBodySizePoolLimit(-1, -1)
	forBothMessages(t, func(t *testing.T, m anyMessage) {
		large := bytes.Repeat([]byte("x"), 100_000)
		keepBuffer(m)
		m.SetBody(large)
		first := &m.Body()[0]
		for what, reset := range map[string]func(){
			"Reset": m.Reset, "ResetBody": m.ResetBody,
			"a stream": func() { m.SetBodyStream(strings.NewReader(""), 0); _ = m.CloseBodyStream() },
			"raw":      func() { m.SetBodyRaw([]byte("raw")); m.ResetBody() },
		} {
			reset()
			if len(m.Body()) != 0 {
				t.Errorf("%s: body %q", what, m.Body())
			}
			m.SetBody(large[:50_000])
			if &m.Body()[0] != first {
				t.Errorf("%s: the buffer was not kept", what)
			}
		}
		m.ReleaseBody(1 << 20)
		if len(m.Body()) != 50_000 {
			t.Errorf("a buffer that is not too large was released")
		}
		m.ReleaseBody(1000)
		if bufferOf(m).Buf != nil || len(m.Body()) != 0 {
			t.Error("the buffer was not released")
		}
	})
	req, resp := AcquireRequest(), AcquireResponse()
	req.KeepBodyBuffer, resp.KeepBodyBuffer = true, true
	req.SetBodyString("x")
	resp.SetBodyString("x")
	ReleaseRequest(req)
	ReleaseResponse(resp)
	if req.KeepBodyBuffer || resp.KeepBodyBuffer || req.body.Buf != nil || resp.body.Buf != nil {
		t.Error("a released message keeps its buffer")
	}
}

func TestBodyBufferGoesAwayWithReset(t *testing.T) {
	forBothMessages(t, func(t *testing.T, m anyMessage) {
		m.SetBodyString("x")
		m.ResetBody()
		if b := bufferOf(m).Buf; b == nil || len(b.B) != 0 {
			t.Error("a small buffer is not kept for the next body")
		}
		m.SetBody(make([]byte, content.OwnBuffer+1))
		m.ResetBody()
		if bufferOf(m).Buf != nil {
			t.Error("the buffer is still held")
		}
		m.SetBodyRaw([]byte("raw"))
		m.ReleaseBody(0)
		if len(m.Body()) > 0 {
			t.Errorf("body %q after ReleaseBody", m.Body())
		}
	})
}

func TestBodyIsFilledWithoutAllocating(t *testing.T) {
	text := strings.Repeat("x", 5000)
	for what, m := range map[string]anyMessage{"request": newRequest(), "response": new(Response)} {
		checkAllocs(t, what, func() {
			m.ResetBody()
			m.SetBodyString("hello")
			m.AppendBodyString(text)
		})
		keepBuffer(m)
		checkAllocs(t, what+" with its own buffer", func() {
			m.ResetBody()
			m.AppendBodyString(text)
		})
	}
}

func TestBodyBuffersOverTheLimitAreNotKeptForOthers(t *testing.T) {
	SetBodySizePoolLimit(3000, 3000)
	defer SetBodySizePoolLimit(-1, -1)
	forBothMessages(t, func(t *testing.T, m anyMessage) {
		for range 50 {
			m.SetBodyString(strings.Repeat("x", 4000))
			first := &m.Body()[0]
			m.ResetBody()
			m.SetBodyString(strings.Repeat("y", 4000))
			if &m.Body()[0] == first {
				t.Fatal("a buffer over the limit was used again")
			}
			m.ResetBody()
		}
	})
}
