package integrationtests

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

// policyH1 is a client of HTTP/1.1.
type policyH1 struct {
	*servertest.Conn
	sent      chan struct{} // is closed once the request was sent
	announced bool          // the last response announces the end of the connection
}

// head returns the head of the request in HTTP/1.1.
func (r *policyRequest) head() string {
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
func (r *policyRequest) pieces() (all []string) {
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

// ask implements policyClient.
func (c *policyH1) ask(r *policyRequest) (got policyAnswer) {
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
			got.cut = true
			return got
		}
		if resp.StatusCode/100 == 1 {
			got.addInterim(resp.StatusCode, resp.Header)
			if resp.StatusCode == 100 {
				select {
				case proceed <- true:
				default:
				}
			}
			continue
		}
		got.status, got.content, got.fields, got.trailers, got.cut = resp.StatusCode, resp.Content, resp.Header, resp.Trailer, err != nil
		c.announced = resp.Close
		return got
	}
}

// endsAfter implements policyClient.
func (c *policyH1) endsAfter(r *policyRequest, got policyAnswer, want *policyOutcome) bool {
	c.T.Helper()
	if got.status != 0 && c.announced != (want.ends && !want.unannounced) {
		c.T.Errorf("the response announces the end of the connection: %v", c.announced)
	}
	if want.ends {
		c.ExpectCut()
	}
	return want.ends
}

// finish implements policyClient.
func (c *policyH1) finish(r *policyRequest) {
	c.T.Helper()
	servertest.Receive(c.T, "the end of the request", c.sent)
	c.Send(r.later)
}

// policyH2 is a client of HTTP/2.
type policyH2 struct {
	*h2Conn
	isTLS bool
	id    uint32 // of the last stream
	sent  int    // content on all streams
}

func newPolicyH2(ts *testServer) *policyH2 {
	return &policyH2{h2Conn: greetHTTP2(ts), isTLS: ts.Engine.TLS}
}

// lines returns the head of the request in HTTP/2.
func (c *policyH2) lines(r *policyRequest) []string {
	if r.lines2 != nil {
		return r.lines2
	}
	host, scheme := r.host, "http"
	if host == "" {
		host = "a"
	}
	if c.isTLS {
		scheme = "https"
	}
	lines := []string{":method: " + r.methodOf(), ":scheme: " + scheme, ":authority: " + host, ":path: " + r.targetOf()}
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

// ask implements policyClient.
func (c *policyH2) ask(r *policyRequest) (got policyAnswer) {
	c.T.Helper()
	c.id += 2
	id := c.id - 1
	s := c.Stream(id)
	c.Fields(id, !r.hasContent(), c.lines(r)...)
	if r.waits {
		c.Flush()
		c.Until("100 (Continue), or a response", func() bool { return proceeds(s) || s.Status() != "" || s.IsDone() })
	}
	if r.hasContent() && (!r.waits || proceeds(s)) {
		c.sendContent(s, r)
	} else {
		c.Flush()
	}
	c.Until("the end of the request", func() bool { return s.IsDone() })
	return answerOf(s)
}

// proceeds reports whether the server has sent 100 (Continue).
func proceeds(s *h2Stream) bool {
	return slices.ContainsFunc(s.Heads, func(head []hpack.HeaderField) bool { return fieldOf(head, ":status") == "100" })
}

// sendContent sends content as the windows permit, until the stream has ended.
func (c *policyH2) sendContent(s *h2Stream, r *policyRequest) {
	c.T.Helper()
	own := 0 // bytes sent on the stream
	for rest := r.content; ; {
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
		last := may == len(rest) && !r.open && r.later == "" && r.trailers == nil
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
	if r.trailers != nil && !r.open {
		var lines []string
		for _, line := range r.trailers {
			lines = append(lines, lowerName(line))
		}
		c.Fields(s.ID, true, lines...)
	}
	c.Flush()
}

// answerOf returns the response on a stream.
func answerOf(s *h2Stream) (got policyAnswer) {
	for _, head := range s.Heads {
		status, _ := strconv.Atoi(fieldOf(head, ":status"))
		if status/100 != 1 {
			break
		}
		got.addInterim(status, headerOf(head))
	}
	got.status, _ = strconv.Atoi(s.Status())
	got.content, got.fields, got.trailers, got.cut = string(s.Content), headerOf(s.Fields()), headerOf(s.Trailers()), !s.Ended
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

// endsAfter implements policyClient.
func (c *policyH2) endsAfter(r *policyRequest, got policyAnswer, want *policyOutcome) bool {
	c.T.Helper()
	if code := c.Stream(c.id - 1).ResetCode(); code != want.code && !(code == "NO_ERROR" && want.code == "") {
		c.T.Errorf("the stream is reset with %q, want %q", code, want.code)
	}
	return false
}

// finish implements policyClient.
func (c *policyH2) finish(r *policyRequest) {
	c.T.Helper()
	if r.later != "" {
		c.Data(c.id-1, servertest.EndStream, r.later).Flush()
	}
}
