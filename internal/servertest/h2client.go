package servertest

import (
	"crypto/tls"
	"fmt"
	"strings"

	"golang.org/x/net/http2"
)

// DialH2 opens an HTTP/2 connection to a server, and sends nothing.
func DialH2[S Server](r *Running[S]) *H2Conn {
	r.T.Helper()
	if !r.Engine.TLS {
		return NewH2Conn(r.Dial(), H2Client)
	}
	config := TrustCertificate()
	config.NextProtos = []string{"h2"}
	nc, err := tls.Dial(r.Listener.Addr().Network(), r.Listener.Addr().String(), config)
	if err != nil {
		r.T.Fatal(err)
	}
	if got := nc.ConnectionState().NegotiatedProtocol; got != "h2" {
		r.T.Fatalf("the protocol is %q", got)
	}
	return NewH2Conn(r.Wrap(nc), H2Client)
}

// GreetH2 opens a connection, and exchanges settings.
func GreetH2[S Server](r *Running[S], settings ...uint32) *H2Conn {
	r.T.Helper()
	c := DialH2(r)
	c.Raw(http2.ClientPreface).Settings(settings...).Flush()
	frame, err := c.ReadFrame()
	if f, ok := frame.(*http2.SettingsFrame); !ok || f.IsAck() {
		r.T.Fatalf("the server begins with %v, %v", frame, err)
	}
	c.Must(c.note(frame))
	c.AckSettings().Flush()
	return c
}

// H2Request returns the pseudo-fields of a request, and further fields.
func H2Request(method, path string, fields ...string) []string {
	return append([]string{":method: " + method, ":scheme: http", ":authority: a", ":path: " + path}, fields...)
}

// Get queues a request without content.
func (c *H2Conn) Get(id uint32, path string, fields ...string) *H2Conn {
	return c.Headers(id, Whole, H2Request("GET", path, fields...)...)
}

// Post queues the head of a request with content.
func (c *H2Conn) Post(id uint32, path string, fields ...string) *H2Conn {
	return c.Headers(id, EndHeaders, H2Request("POST", path, fields...)...)
}

// Begin sends the head of a request. Fields are alternating names and values.
func (c *H2Conn) Begin(id uint32, end bool, method, path string, fields ...string) {
	c.T.Helper()
	scheme := "http"
	if _, ok := c.Conn.Conn.(*tls.Conn); ok {
		scheme = "https"
	}
	c.SendFields(id, end, append([]string{":method", method, ":scheme", scheme, ":authority", "a", ":path", path}, fields...)...)
}

// SendFields sends a header section of alternating names and values.
func (c *H2Conn) SendFields(id uint32, end bool, fields ...string) {
	c.T.Helper()
	var lines []string
	for i := 0; i < len(fields); i += 2 {
		lines = append(lines, fields[i]+": "+fields[i+1])
	}
	c.Fields(id, end, lines...).Flush()
}

// Response reads frames until a stream has ended.
func (c *H2Conn) Response(id uint32) *H2Stream {
	c.T.Helper()
	s := c.Stream(id)
	c.Until(fmt.Sprintf("the end of stream %d", id), func() bool { return s.IsDone() })
	return s
}

// ExpectResponse reads a response, and checks it.
func (c *H2Conn) ExpectResponse(id uint32, status, content string) *H2Stream {
	c.T.Helper()
	s := c.Response(id)
	if s.Reset != nil {
		c.T.Errorf("stream %d: reset with %v", id, *s.Reset)
	}
	if got := s.Status(); got != status || string(s.Content) != content {
		c.T.Errorf("stream %d: got %q %.200q, want %q %.200q", id, got, s.Content, status, content)
	}
	return s
}

// ExpectReset reads frames until a stream was reset, and checks the code.
func (c *H2Conn) ExpectReset(id uint32, code http2.ErrCode) *H2Stream {
	c.T.Helper()
	s := c.Response(id)
	if s.Reset == nil || *s.Reset != code {
		c.T.Errorf("stream %d: got %v with %d bytes, reset %q, want %v", id, s.Heads, s.Length, s.ResetCode(), code)
	}
	return s
}

// ExpectGoAway reads frames until the connection ends. GOAWAY with the code must have
// announced that.
func (c *H2Conn) ExpectGoAway(code http2.ErrCode) {
	c.T.Helper()
	for c.Take() == nil {
	}
	if c.Away == nil || c.Away.ErrCode != code {
		c.T.Errorf("the connection ends with %v, want GOAWAY with %v", c.Away, code)
	}
}

// Listen reads everything that the server sends, from now on, on a goroutine. It answers
// nothing, and keeps 64 KiB of the content of a stream.
func (c *H2Conn) Listen() *H2Conn {
	c.listens, c.kept = true, 64<<10
	go func() {
		defer close(c.Over)
		for {
			f, err := c.ReadFrame()
			if err == nil {
				err = c.note(f)
			}
			if err != nil {
				c.mu.Lock()
				c.err = err
				c.mu.Unlock()
				return
			}
		}
	}()
	return c
}

// Await waits until a stream has ended, after Listen.
func (c *H2Conn) Await(id uint32) H2Stream {
	c.T.Helper()
	var s H2Stream
	Eventually(c.T, fmt.Sprintf("the end of stream %d", id), func() bool {
		if s = c.Snapshot(id); s.IsDone() {
			return true
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.err != nil {
			c.T.Fatalf("stream %d: %v; the connection has ended: %v %v", id, s, c.goAways, c.err)
		}
		return false
	})
	return s
}

// Ask sends a request without content, and waits for the response, after Listen.
func (c *H2Conn) Ask(id uint32, path string, fields ...string) H2Stream {
	c.T.Helper()
	c.Get(id, path, fields...).Flush()
	return c.Await(id)
}

// Ending waits for the end of the connection after Listen, and returns the GOAWAY codes.
func (c *H2Conn) Ending() string {
	c.T.Helper()
	Receive(c.T, "the end of the connection", c.Over)
	return c.Verdict()
}

// Upload sends content as the windows permit, until the stream is reset, after Listen.
func (c *H2Conn) Upload(id uint32, size int) {
	c.T.Helper()
	content := strings.Repeat("x", 8<<10)
	for sent := 0; sent < size && c.Snapshot(id).Reset == nil; {
		var may int
		Eventually(c.T, "a window to send with", func() bool {
			c.mu.Lock()
			defer c.mu.Unlock()
			may = min(65535+c.Granted[0]-c.uploaded, c.InitialWindow()+c.Granted[id]-sent, size-sent, len(content))
			st := c.Streams[id]
			return may > 0 || st != nil && st.Reset != nil
		})
		if may > 0 {
			c.Data(id, 0, content[:may]).Flush()
			sent += may
			c.uploaded += may
		}
	}
}
