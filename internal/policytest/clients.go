package policytest

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/textproto"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/net/http2/hpack"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
)

// readAllOf reads the body of a request, whether it is a stream or not.
func readAllOf(ctx *fasthttp.RequestCtx) ([]byte, error) {
	if ctx.Request.IsBodyStream() {
		return io.ReadAll(ctx.RequestBodyStream())
	}
	return ctx.PostBody(), nil
}

// h1Client is a client of HTTP/1.1.
type h1Client struct {
	*servertest.Conn
	sent      chan struct{} // is closed once the request was sent
	announced bool          // the last response announces the end of the connection
}

// head returns the head of the request in HTTP/1.1.
func (r *Request) head() string {
	if r.lines1 != nil {
		return servertest.Head(r.lines1...)
	}
	host := r.host
	if host == "" {
		host = "a"
	}
	lines := append([]string{r.methodOf() + " " + r.targetOf() + " HTTP/1.1", "Host: " + host}, r.fields...)
	if n := r.announced(); n != "" {
		lines = append(lines, "Content-Length: "+n)
	} else if r.hasContent() {
		lines = append(lines, "Transfer-Encoding: chunked")
	}
	return servertest.Head(lines...)
}

// pieces returns the content as HTTP/1.1 sends it, and the end of the message.
func (r *Request) pieces() (all []string) {
	for rest := r.content; rest != ""; {
		part := rest[:min(len(rest), 64<<10)]
		rest = rest[len(part):]
		if r.unsized {
			part = fmt.Sprintf("%x\r\n%s\r\n", len(part), part)
		}
		all = append(all, part)
	}
	if r.unsized && !r.open && !r.stops {
		lines := []string{"0"}
		all = append(all, servertest.Head(append(lines, r.trailers...)...))
	}
	return all
}

// ask implements Client.
func (c *h1Client) ask(r *Request) (got Answer) {
	c.T.Helper()
	proceed := make(chan bool, 1)
	c.sent = make(chan struct{})
	go func(sent chan struct{}) {
		defer close(sent)
		pieces := r.pieces()
		if !r.waits {
			pieces = append([]string{r.head()}, pieces...)
			if len(r.content) <= 1000 {
				// all of it arrives at once
				pieces = []string{strings.Join(pieces, "")}
			}
		} else if _, err := io.WriteString(c.Conn.Conn, r.head()); err != nil || !<-proceed {
			return
		}
		for _, p := range pieces {
			// the server may refuse the rest
			if _, err := io.WriteString(c.Conn.Conn, p); err != nil {
				return
			}
		}
		if r.stops {
			_ = c.Conn.Conn.(interface{ CloseWrite() error }).CloseWrite()
		}
	}(c.sent)
	defer close(proceed)
	for {
		resp, err := servertest.ReadResponse(c.R, r.methodOf())
		if errors.Is(err, os.ErrDeadlineExceeded) {
			c.T.Fatalf("no response: %v", err)
		}
		if resp.Response == nil {
			got.Cut = true
			return got
		}
		if resp.StatusCode/100 == 1 {
			got.AddInterim(resp.StatusCode, resp.Header)
			if resp.StatusCode == 100 {
				select {
				case proceed <- true:
				default:
				}
			}
			continue
		}
		got.Status, got.Content, got.Fields, got.Trailers, got.Cut = resp.StatusCode, resp.Content, resp.Header, resp.Trailer, err != nil
		c.announced = resp.Close
		return got
	}
}

// endsAfter implements Client.
func (c *h1Client) endsAfter(r *Request, got Answer, want *outcome) bool {
	c.T.Helper()
	if got.Status != 0 && c.announced != (want.ends && !want.unannounced) {
		c.T.Errorf("the response announces the end of the connection: %v", c.announced)
	}
	if want.ends {
		c.ExpectCut()
	}
	return want.ends
}

// finish implements Client.
func (c *h1Client) finish(r *Request) {
	c.T.Helper()
	servertest.Receive(c.T, "the end of the request", c.sent)
	c.Send(r.later)
}

// Message is a request as HTTP/2 and HTTP/3 send it.
type Message struct {
	Section    []string // the lines of the head, with names in lower case
	HasContent bool     // the stream does not end with the head
	Content    string   // its content
	Waits      bool     // the client sends the content only after 100 (Continue)
	Open       bool     // the end of the message does not follow the content
	Trailers   []string // lines, unless Open is set
	Later      string   // is sent after the response
}

// Streams is a connection of a client that speaks HTTP/2 or HTTP/3.
type Streams interface {
	// Ask sends a request, and waits until it has ended.
	Ask(m *Message) Answer
	// Finish sends content that follows the response to the last request, and its end.
	Finish(content string)
}

// NewStreams returns the Client of a connection. scheme is that of its requests.
func NewStreams(t testing.TB, scheme string, c Streams) Client { return &streams{t, scheme, c} }

type streams struct {
	t      testing.TB
	scheme string
	c      Streams
}

// ask implements Client.
func (c *streams) ask(r *Request) Answer {
	m := &Message{
		Section: c.section(r), HasContent: r.hasContent(), Content: r.content, Waits: r.waits,
		Open: r.open || r.later != "", Later: r.later,
	}
	if !m.Open {
		for _, line := range r.trailers {
			m.Trailers = append(m.Trailers, lowerName(line))
		}
	}
	return c.c.Ask(m)
}

// section returns the head of the request.
func (c *streams) section(r *Request) []string {
	if r.lines2 != nil {
		return r.lines2
	}
	host := r.host
	if host == "" {
		host = "a"
	}
	lines := []string{":method: " + r.methodOf(), ":scheme: " + c.scheme, ":authority: " + host, ":path: " + r.targetOf()}
	for _, line := range r.fields {
		lines = append(lines, lowerName(line))
	}
	if n := r.announced(); n != "" {
		lines = append(lines, "content-length: "+n)
	}
	return lines
}

// lowerName returns a line with the name of the field in lower case.
func lowerName(line string) string {
	name, value, _ := strings.Cut(line, ":")
	return strings.ToLower(name) + ": " + strings.TrimPrefix(value, " ")
}

// endsAfter implements Client.
func (c *streams) endsAfter(_ *Request, got Answer, want *outcome) bool {
	c.t.Helper()
	if got.Code != want.code && !(got.Code == "NO_ERROR" && want.code == "") {
		c.t.Errorf("the stream is reset with %q, want %q", got.Code, want.code)
	}
	return false
}

// finish implements Client.
func (c *streams) finish(r *Request) {
	if r.later != "" {
		c.c.Finish(r.later)
	}
}

// NewHTTP1 returns the Client of a connection that speaks HTTP/1.1.
func NewHTTP1(c *servertest.Conn) Client { return &h1Client{Conn: c} }

// h2Client is a client of HTTP/2.
type h2Client struct {
	*servertest.H2Conn
	id   uint32 // of the last stream
	sent int    // content on all streams
}

// NewHTTP2 returns the Client of a new connection that speaks HTTP/2.
func NewHTTP2(ts *servertest.Running[*fasthttp.Server]) Client {
	scheme := "http"
	if ts.Engine.TLS {
		scheme = "https"
	}
	return NewStreams(ts.T, scheme, &h2Client{H2Conn: servertest.GreetH2(ts)})
}

// Ask implements Streams.
func (c *h2Client) Ask(m *Message) (got Answer) {
	c.T.Helper()
	c.id += 2
	id := c.id - 1
	s := c.Stream(id)
	c.Fields(id, !m.HasContent, m.Section...)
	if m.Waits {
		c.Flush()
		c.Until("100 (Continue), or a response", func() bool { return proceeds(s) || s.Status() != "" || s.IsDone() })
	}
	if m.HasContent && (!m.Waits || proceeds(s)) {
		c.sendContent(s, m)
	} else {
		c.Flush()
	}
	c.Until("the end of the request", func() bool { return s.IsDone() })
	return answerOf(s)
}

// proceeds reports whether the server has sent 100 (Continue).
func proceeds(s *servertest.H2Stream) bool {
	return slices.ContainsFunc(s.Heads, func(head []hpack.HeaderField) bool { return servertest.FieldOf(head, ":status") == "100" })
}

// sendContent sends content as the windows permit, until the stream has ended.
func (c *h2Client) sendContent(s *servertest.H2Stream, m *Message) {
	c.T.Helper()
	own := 0 // bytes sent on the stream
	for rest := m.Content; ; {
		may := min(65535+c.Granted[0]-c.sent, c.InitialWindow()+c.Granted[s.ID]-own, len(rest), 16<<10)
		if may <= 0 && rest != "" {
			c.Flush()
			grants := c.Granted[0] + c.Granted[s.ID]
			c.Until("a window to send with", func() bool { return s.IsDone() || c.Granted[0]+c.Granted[s.ID] > grants })
			if s.IsDone() {
				return
			}
			continue
		}
		last := may == len(rest) && !m.Open && m.Trailers == nil
		flags := servertest.EndStream
		if !last {
			flags = 0
		}
		if may > 0 || last {
			c.Data(s.ID, flags, rest[:may])
		}
		c.sent, own, rest = c.sent+may, own+may, rest[may:]
		if rest == "" {
			break
		}
	}
	if m.Trailers != nil {
		c.Fields(s.ID, true, m.Trailers...)
	}
	c.Flush()
}

// answerOf returns the response on a stream.
func answerOf(s *servertest.H2Stream) (got Answer) {
	for _, head := range s.Heads {
		status, _ := strconv.Atoi(servertest.FieldOf(head, ":status"))
		if status/100 != 1 {
			break
		}
		got.AddInterim(status, headerOf(head))
	}
	got.Status, _ = strconv.Atoi(s.Status())
	got.Content, got.Fields, got.Trailers, got.Cut = string(s.Content), headerOf(s.Fields()), headerOf(s.Trailers()), !s.Ended
	got.Code = s.ResetCode()
	return got
}

func headerOf(fields []hpack.HeaderField) http.Header {
	h := http.Header{}
	for _, f := range fields {
		if !f.IsPseudo() {
			h.Add(textproto.CanonicalMIMEHeaderKey(f.Name), f.Value)
		}
	}
	return h
}

// Finish implements Streams.
func (c *h2Client) Finish(content string) {
	c.T.Helper()
	c.Data(c.id-1, servertest.EndStream, content).Flush()
}
