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
	"github.com/valyala/fasthttp/internal/servertest"
)

// h2Message is a request that could mean something else in HTTP/1.1.
type h2Message struct {
	name     string
	head     []string
	content  []string // a DATA frame for each; if it is nil, the head ends the request
	trailers []string
	want     string // the request in the handler, in the form of tellRequest; "" or badRequest if the request is malformed
}

func (m *h2Message) send(c *h2Conn, id uint32) {
	flags := endHeaders
	if m.content == nil && m.trailers == nil {
		flags |= endStream
	}
	c.Headers(id, flags, m.head...)
	for i, p := range m.content {
		var flags http2.Flags
		if i == len(m.content)-1 && m.trailers == nil {
			flags = endStream
		}
		c.Data(id, flags, p)
	}
	if m.trailers != nil {
		c.Headers(id, whole, m.trailers...)
	}
	c.Flush()
}

// tellRequest answers with the parts of the request.
func tellRequest(ctx *fasthttp.RequestCtx) {
	fmt.Fprintf(ctx, "%s %s of %s", ctx.Method(), ctx.RequestURI(), ctx.Host())
	for k, v := range ctx.Request.Header.All() {
		switch string(k) {
		case "Host", "Content-Type", "Content-Length", "User-Agent", "Trailer":
		default:
			fmt.Fprintf(ctx, ", %s=%q", k, v)
		}
	}
	for k, v := range ctx.Request.Header.TrailerFields() {
		fmt.Fprintf(ctx, ", the trailer %s=%q", k, v)
	}
	if body := ctx.Request.Body(); len(body) > 0 {
		fmt.Fprintf(ctx, ": %s", body)
	}
}

// withField returns a request with a field, and requestWith one with other pseudo-fields.
func withField(name, value string) []string { return requestFields("GET", "/", name+": "+value) }

func requestWith(pseudo ...string) []string { return pseudo }

func postWith(fields ...string) []string { return requestFields("POST", "/", fields...) }

const plainGet = "GET / of a"

// badRequest is the response to a harmless malformed request.
const badRequest = "400"

// smugglers are the requests. Their order has no meaning.
var smugglers = func() (all []h2Message) {
	add := func(name, want string, head []string, content ...string) {
		all = append(all, h2Message{name: name, want: want, head: head, content: content})
	}
	for name, value := range map[string]string{
		"CR": "a\rb", "LF": "a\nb", "CR LF": "a\r\nX: y", "a whole request": "a\r\n\r\nGET /b HTTP/1.1\r\nHost: b\r\n\r\n",
		"NUL": "a\x00b", "a blank before it": " a", "a blank behind it": "a ", "a tab before it": "\ta", "a tab behind it": "a\t", "nothing but a blank": " ",
	} {
		add("a value with "+name, "", withField("x", value))
		add("a cookie with "+name, "", withField("cookie", value))
		add("a content-type with "+name, "", withField("content-type", value))
		add("a path with "+name, "", requestFields("GET", "/"+value))
		add("a method with "+name, "", requestFields("GET"+value, "/"))
		host := ""
		if strings.HasSuffix(name, "before it") {
			// it is inside the host
			host = badRequest
		}
		add("a host with "+name, host, requestWith(":method: GET", ":scheme: http", ":path: /", ":authority: a"+value))
		add("a scheme with "+name, "", requestWith(":method: GET", ":scheme: http"+value, ":path: /", ":authority: a"))
		all = append(all, h2Message{name: "a trailer with " + name, head: postWith(), trailers: []string{"x: " + value}})
	}
	add("a value with blanks inside", plainGet+`, X="a \tb"`, withField("x", "a \tb"))
	add("a value with text that is not ASCII", plainGet+`, X="\x80\xff"`, withField("x", "\x80\xff"))
	add("a value of nothing", plainGet+`, X=""`, withField("x", ""))
	for _, name := range []string{
		"X", "xY", "Content-Length", "a b", " a", "a ", "a\tb", "a:b", "a\x00b", "a\rb", "a\nb", "a\r\nb", "a\x7f", "a\x80", "(a)", "a,b", `a"b`, "a/b", "a@b",
	} {
		add(fmt.Sprintf("the name %q", name), "", withField(name, "1"))
		all = append(all, h2Message{name: fmt.Sprintf("the name %q of a trailer", name), head: postWith(), trailers: []string{name + ": 1"}})
	}
	for _, field := range []string{
		"transfer-encoding: chunked", "transfer-encoding: identity", "transfer-encoding: x", "connection: close", "connection: keep-alive",
		"connection: x", "connection: ", "keep-alive: timeout=5", "proxy-connection: close", "upgrade: h2c", "upgrade: websocket", "te: gzip",
		"te: trailers, gzip", "te: chunked", "te: ",
	} {
		add(field, "", requestFields("GET", "/", field))
		add(field+", with content", "", postWith(field), "0\r\n\r\n", "GET /b HTTP/1.1\r\nHost: b\r\n\r\n")
		if !strings.HasPrefix(field, "te:") {
			all = append(all, h2Message{name: field + ", as a trailer", head: postWith(), trailers: []string{field}})
		}
	}
	add("te: trailers", plainGet+`, Te="trailers"`, withField("te", "trailers"))
	return all
}()

// targets are requests for odd hosts, paths and methods.
var targets = func() (all []h2Message) {
	add := func(name, want string, head ...string) {
		all = append(all, h2Message{name: name, want: want, head: head})
	}
	get := []string{":method: GET", ":scheme: http", ":path: /"}
	with := func(fields ...string) []string { return append(get[:3:3], fields...) }
	add("host twice", "", with(":authority: a", "host: a", "host: a")...)
	add("host twice, alone", "", with("host: a", "host: a")...)
	add("two hosts", "", with("host: a", "host: b")...)
	add("host and another :authority", "", with(":authority: a", "host: b")...)
	add("host and :authority", plainGet, with(":authority: a", "host: a")...)
	add("host alone", plainGet, with("host: a")...)
	add("neither of them", badRequest, get...)
	add("host and an empty :authority", "", with(":authority: ", "host: b")...)
	add("an empty host", badRequest, with("host: ")...)
	add("an empty :authority", badRequest, with(":authority: ")...)
	for _, host := range []string{"a b", "a/b", "u@a", "a?b", "a#b", "a\\b", "http://a", "a:b", "[::1", "a:80:80"} {
		add(fmt.Sprintf("the authority %q", host), badRequest, with(":authority: "+host)...)
		add(fmt.Sprintf("the host %q", host), badRequest, with("host: "+host)...)
		add(fmt.Sprintf("the host %q twice", host), "", with("host: "+host, "host: "+host)...)
		add(fmt.Sprintf("the authority %q, and Connection", host), "", with(":authority: "+host, "connection: close")...)
		add(fmt.Sprintf("the authority %q, and a host", host), "", with(":authority: "+host, "host: a")...)
	}
	for _, host := range []string{"a,b", "u@a,b", "a\x00", "a\x01", "a\r\nHost: b"} {
		add(fmt.Sprintf("the authority %q", host), "", with(":authority: "+host)...)
		add(fmt.Sprintf("the host %q", host), "", with("host: "+host)...)
	}
	add("a port", "GET / of a:8080", with(":authority: a:8080")...)
	for _, path := range []string{
		"", "a", "**", "*/", "/a b", "/a\tb", "/a\x7fb", "/a#b", "http://b/", "?a", "\\", " /", "/ HTTP/1.1", "/ HTTP/1.1\r\nHost: b\r\n\r\n",
	} {
		add(fmt.Sprintf("the path %q", path), "", requestFields("GET", path)...)
	}
	for _, path := range []string{"/a?b=c", "//b/c", "/%0d%0aHost:%20b", "/%00", "/a;b", "/http://b/"} {
		add(fmt.Sprintf("the path %q", path), "GET "+path+" of a", requestFields("GET", path)...)
	}
	for _, method := range []string{"GET", "POST", "FOO", "options", "OPTIONS2"} {
		add("an asterisk of "+method, badRequest, requestFields(method, "*")...)
		add("an asterisk of "+method+", and Upgrade", "", requestFields(method, "*", "upgrade: h2c")...)
		add("an asterisk of "+method+", and a content-length", "", requestFields(method, "*", "content-length: 5")...)
	}
	add("an asterisk", "OPTIONS * of a", requestFields("OPTIONS", "*")...)
	for _, method := range []string{"", "GE T", "GET ", "G:T", "G\x00", "GET / HTTP/1.1\r\nHost: b\r\n\r\nGET", "(", "G\x80"} {
		add(fmt.Sprintf("the method %q", method), "", requestFields(method, "/")...)
	}
	add("the method PURGE", "PURGE / of a", requestFields("PURGE", "/")...)
	add("the method get", "get / of a", requestFields("get", "/")...)
	for _, scheme := range []string{"", "ht tp", "1http", "http:", "http://a/", "h\x00", "http/1.1\r\nHost: b"} {
		add(fmt.Sprintf("the scheme %q", scheme), "", ":method: GET", ":scheme: "+scheme, ":path: /", ":authority: a")
	}
	usual := requestFields("GET", "/")
	for i, line := range usual {
		add(line+" twice", "", append(usual[:4:4], line)...)
		add(line+" late", "", append(append(append([]string(nil), usual[:i]...), usual[i+1:]...), "x: y", line)...)
		if i != 2 {
			add(line+" missing", "", append(append([]string(nil), usual[:i]...), usual[i+1:]...)...)
		}
	}
	add("an unknown pseudo-field", "", append(usual[:4:4], ":foo: bar")...)
	add("a pseudo-field of nothing", "", append(usual[:4:4], ":: bar")...)
	add(":status", "", append(usual[:4:4], ":status: 200")...)
	add(":protocol", "", append(usual[:4:4], ":protocol: websocket")...)
	add("extended CONNECT, which is off", "", ":method: CONNECT", ":protocol: websocket", ":scheme: http", ":path: /", ":authority: a")
	add("CONNECT with a path", "", ":method: CONNECT", ":path: /", ":authority: a:443")
	add("CONNECT with a scheme", "", ":method: CONNECT", ":scheme: http", ":authority: a:443")
	add("CONNECT without a host", "", ":method: CONNECT")
	add("CONNECT without a port", badRequest, ":method: CONNECT", ":authority: a")
	add("CONNECT to a path", badRequest, ":method: CONNECT", ":authority: /a")
	return all
}()

// lengths are requests whose content-length differs from the length of their content, and
// requests with trailers.
var lengths = func() (all []h2Message) {
	add := func(name, want string, head []string, content ...string) {
		all = append(all, h2Message{name: name, want: want, head: head, content: content})
	}
	const hello = "POST / of a: hello"
	for _, length := range []string{"4", "6", "+5", "-5", "0x5", "5,5", "5, 5", "5.", "", "five", "5 5", "0", "18446744073709551621", "99999999999999999999"} {
		add(fmt.Sprintf("content-length %q of 5", length), "", postWith("content-length: "+length), "hel", "lo")
	}
	add("content-length", hello, postWith("content-length: 5"), "hel", "lo")
	add("no content-length", hello, postWith(), "hel", "lo")
	add("content-length twice", "", postWith("content-length: 5", "content-length: 5"), "hello")
	add("two of them", "", postWith("content-length: 5", "content-length: 6"), "hello")
	add("content-length of nothing", "", postWith("content-length: 5"))
	add("content-length 0", "POST / of a", postWith("content-length: 0"))
	add("another request in the content", "POST / of a: "+servertest.Smuggled, postWith(), servertest.Smuggled)
	add("another request in the content of GET", "GET / of a: "+servertest.Smuggled, requestFields("GET", "/"), servertest.Smuggled)
	add("chunks in the content", "POST / of a: 0\r\n\r\n"+servertest.Smuggled, postWith(), "0\r\n\r\n"+servertest.Smuggled)
	trailers := func(name, want string, head []string, lines ...string) {
		all = append(all, h2Message{name: name, want: want, head: head, content: []string{"hello"}, trailers: lines})
	}
	trailers("trailers", `POST / of a, the trailer X="y": hello`, postWith(), "x: y")
	trailers("trailers before the end of the content", "", postWith("content-length: 6"), "x: y")
	for _, line := range []string{":path: /b", ":method: GET", ":status: 200", ":authority: b", ":foo: bar"} {
		trailers(line+" as a trailer", "", postWith(), line)
	}
	// fields that frame or route a message cannot be trailers (RFC 9110 section 6.5.1)
	for _, line := range []string{"host: b", "content-length: 6", "content-type: b", "trailer: b", "authorization: b", "cookie: b", "te: trailers"} {
		trailers(line+" as a trailer", "", postWith(), line)
	}
	return all
}()

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
		tellRequest(ctx)
		told := bytes.Clone(ctx.Response.Body())
		ctx.Request.URI().SetScheme("http")
		if err := hc.Do(&ctx.Request, &ctx.Response); err != nil {
			ctx.Error(err.Error(), 502)
			return
		}
		ctx.SetBody(told)
	}})
	for _, kind := range [][]h2Message{smugglers, targets, lengths} {
		c := greetHTTP2(ts).Listen()
		for i := range kind {
			// malformed requests are counted
			if i%150 == 149 {
				c = greetHTTP2(ts).Listen()
			}
			kind[i].check(t, c, id(uint32(i)), p)
		}
		if got := c.Verdict(); got != "" {
			t.Errorf("the connection has ended: %s", got)
		}
	}
}

// check sends a request, and checks the result.
func (m *h2Message) check(t *testing.T, c *h2Conn, id uint32, p *upstream) {
	m.send(c, id)
	got := c.Await(id)
	passed := p.take()
	if m.want == "" || m.want == badRequest {
		// a request with unacceptable trailers gets a response
		isAnswered := got.Status() == badRequest && got.Reset == nil
		if isAnswered != (m.want == badRequest) && m.trailers == nil || !isAnswered && got.String() != protocolFail {
			t.Errorf("%s: %s", m.name, got)
		}
		if passed != "" {
			t.Errorf("%s is passed on: %q", m.name, passed)
		}
		return
	}
	if got.String() != "200 "+m.want {
		t.Errorf("%s: %q, want %q", m.name, got, m.want)
	}
	if err := checkPassedOn(passed, m.want); err != nil {
		t.Errorf("%s: %v: %q", m.name, err, passed)
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
// result of tellRequest for it.
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
