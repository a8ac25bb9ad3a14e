package integrationtests

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/http2"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/policytest"
	"github.com/valyala/fasthttp/internal/servertest"
)

// sendSmuggler sends a request that could mean something else in HTTP/1.1.
func sendSmuggler(m *policytest.Smuggler, c *h2Conn, id uint32) {
	flags := endHeaders
	if m.Content == nil && m.Trailers == nil {
		flags |= endStream
	}
	c.Headers(id, flags, m.Head...)
	for i, p := range m.Content {
		var flags http2.Flags
		if i == len(m.Content)-1 && m.Trailers == nil {
			flags = endStream
		}
		c.Data(id, flags, p)
	}
	if m.Trailers != nil {
		c.Headers(id, whole, m.Trailers...)
	}
	c.Flush()
}

func TestHTTP2RequestsSmuggleNothing(t *testing.T) {
	t.Parallel()
	forEachHTTP2(t, testHTTP2RequestsSmuggleNothing)
}

func testHTTP2RequestsSmuggleNothing(t *testing.T, e servertest.Engine) {
	t.Parallel()
	p := newUpstream(t)
	hc := &fasthttp.HostClient{Addr: p.Addr()}
	t.Cleanup(hc.CloseIdleConnections)
	ts := serveHTTP2(t, e, &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
		policytest.TellAll(ctx)
		told := bytes.Clone(ctx.Response.Body())
		ctx.Request.URI().SetScheme("http")
		if err := hc.Do(&ctx.Request, &ctx.Response); err != nil {
			ctx.Error(err.Error(), 502)
			return
		}
		ctx.SetBody(told)
	}})
	for _, kind := range policytest.Smugglers() {
		c := greetHTTP2(ts).Listen()
		for i := range kind {
			// malformed requests are counted
			if i%150 == 149 {
				c = greetHTTP2(ts).Listen()
			}
			checkSmuggler(t, &kind[i], c, id(uint32(i)), p)
		}
		if got := c.Verdict(); got != "" {
			t.Errorf("the connection has ended: %s", got)
		}
	}
}

// checkSmuggler sends a request, and checks the result.
func checkSmuggler(t *testing.T, m *policytest.Smuggler, c *h2Conn, id uint32, p *upstream) {
	sendSmuggler(m, c, id)
	got := c.Await(id)
	passed := p.take()
	if m.Want == "" || m.Want == policytest.BadRequest {
		// a request with unacceptable trailers gets a response
		isAnswered := got.Status() == policytest.BadRequest && got.Reset == nil
		if isAnswered != (m.Want == policytest.BadRequest) && m.Trailers == nil || !isAnswered && got.String() != protocolFail {
			t.Errorf("%s: %s", m.Name, got)
		}
		if passed != "" {
			t.Errorf("%s is passed on: %q", m.Name, passed)
		}
		return
	}
	if got.String() != "200 "+m.Want {
		t.Errorf("%s: %q, want %q", m.Name, got, m.Want)
	}
	if err := checkPassedOn(passed, m.Want); err != nil {
		t.Errorf("%s: %v: %q", m.Name, err, passed)
	}
}

// upstream is an HTTP/1.1 server that records the bytes of each request.
type upstream struct {
	*servertest.Peer
	mu    sync.Mutex
	bytes bytes.Buffer
}

func newUpstream(t testing.TB) *upstream {
	u := new(upstream)
	u.Peer = servertest.NewPeer(t, func(c *servertest.PeerConn) {
		r := bufio.NewReader(io.TeeReader(c.Conn, u))
		for {
			req, err := http.ReadRequest(r)
			if err != nil {
				return
			}
			if _, err := io.Copy(io.Discard, req.Body); err != nil {
				return
			}
			c.Send(servertest.OK)
		}
	})
	return u
}

func (u *upstream) Write(p []byte) (int, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.bytes.Write(p)
}

// take returns the bytes since the last call.
func (u *upstream) take() string {
	u.mu.Lock()
	defer u.mu.Unlock()
	defer u.bytes.Reset()
	return u.bytes.String()
}

var (
	requestLine = regexp.MustCompile("^[!#$%&'*+.^_`|~0-9A-Za-z-]+ [!-\"$-~]+ HTTP/1\\.1$")
	fieldLine   = regexp.MustCompile("^([!#$%&'*+.^_`|~0-9A-Za-z-]+): ?([^\x00-\x20\x7f]([^\x00-\x08\x0a-\x1f\x7f]*[^\x00-\x20\x7f])?)?$")
)

// checkPassedOn returns an error if an HTTP/1.1 request, read strictly, is wrong. told is the
// result of policytest.TellAll for it.
func checkPassedOn(raw, told string) error {
	head, content, ok := strings.Cut(raw, "\r\n\r\n")
	if !ok {
		return fmt.Errorf("no head")
	}
	lines := strings.Split(head, "\r\n")
	if !requestLine.MatchString(lines[0]) {
		return fmt.Errorf("a malformed line %q", lines[0])
	}
	fields := map[string][]string{}
	for _, line := range lines[1:] {
		m := fieldLine.FindStringSubmatch(line)
		if m == nil {
			return fmt.Errorf("a malformed field %q", line)
		}
		name := strings.ToLower(m[1])
		fields[name] = append(fields[name], m[2])
	}
	for _, name := range []string{"connection", "keep-alive", "proxy-connection", "upgrade"} {
		if fields[name] != nil && name != "connection" {
			return fmt.Errorf("a field %s", name)
		}
	}
	request, _, _ := strings.Cut(told, ": ")
	line, host, _ := strings.Cut(request, " of ")
	host, _, _ = strings.Cut(host, ", ")
	if !strings.HasPrefix(lines[0], line[:strings.IndexByte(line, ' ')+1]) {
		return fmt.Errorf("another method than %q", line)
	}
	if got := fields["host"]; len(got) != 1 || got[0] != host {
		return fmt.Errorf("hosts %q, want %q", got, host)
	}
	lengths, codings := fields["content-length"], fields["transfer-encoding"]
	_, want, _ := strings.Cut(told, ": ")
	switch {
	case len(lengths)+len(codings) > 1:
		return fmt.Errorf("content-length %q, transfer-encoding %q", lengths, codings)
	case len(codings) == 1:
		return checkChunks(content, want)
	case len(lengths) == 1 && lengths[0] != strconv.Itoa(len(content)):
		return fmt.Errorf("content-length %q", lengths)
	case content != want:
		return fmt.Errorf("the content is %q, want %q", content, want)
	}
	return nil
}

// checkChunks reads chunks strictly.
func checkChunks(content, want string) error {
	var got string
	for {
		size, rest, ok := strings.Cut(content, "\r\n")
		n, err := strconv.ParseUint(size, 16, 31)
		if !ok || err != nil || len(rest) < int(n)+2 {
			return fmt.Errorf("a malformed chunk: %q", content)
		}
		if n == 0 {
			content = rest
			break
		}
		got, content = got+rest[:n], rest[n:]
		if content, ok = strings.CutPrefix(content, "\r\n"); !ok {
			return fmt.Errorf("a malformed chunk: %q", content)
		}
	}
	for {
		line, rest, ok := strings.Cut(content, "\r\n")
		if !ok || line == "" && rest != "" || line != "" && !fieldLine.MatchString(line) {
			return fmt.Errorf("malformed trailers %q", content)
		}
		if line == "" {
			break
		}
		content = rest
	}
	if got != want {
		return fmt.Errorf("the content is %q, want %q", got, want)
	}
	return nil
}
