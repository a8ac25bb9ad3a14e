package policytest

import (
	"fmt"
	"strings"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
)

// Smuggler is a request of HTTP/2 or HTTP/3 that could mean something else in HTTP/1.1.
type Smuggler struct {
	Name     string   // of the row
	Head     []string // lines
	Content  []string // a DATA frame for each; if it is nil, the head ends the request
	Trailers []string // lines, or nil
	// Want is the request in the handler, in the form of TellAll; it is "" or BadRequest if the
	// request is malformed. One with unacceptable trailers may get a response or not.
	Want string
}

// Message returns the request.
func (m *Smuggler) Message() *Message {
	return &Message{
		Section: m.Head, HasContent: m.Content != nil || m.Trailers != nil,
		Content: strings.Join(m.Content, ""), Trailers: m.Trailers,
	}
}

// Smugglers returns the requests: odd text, odd targets, and odd lengths. Their order has no
// meaning.
func Smugglers() [][]Smuggler { return [][]Smuggler{smugglers, targets, lengths} }

// TellAll is a handler that answers with the parts of the request.
func TellAll(ctx *fasthttp.RequestCtx) {
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
func withField(name, value string) []string { return servertest.H2Request("GET", "/", name+": "+value) }

func requestWith(pseudo ...string) []string { return pseudo }

func postWith(fields ...string) []string { return servertest.H2Request("POST", "/", fields...) }

const plainGet = "GET / of a"

// BadRequest is the response to a harmless malformed request.
const BadRequest = "400"

// smugglers are the requests. Their order has no meaning.
var smugglers = func() (all []Smuggler) {
	add := func(name, want string, head []string, content ...string) {
		all = append(all, Smuggler{Name: name, Want: want, Head: head, Content: content})
	}
	for name, value := range map[string]string{
		"CR": "a\rb", "LF": "a\nb", "CR LF": "a\r\nX: y", "a whole request": "a\r\n\r\nGET /b HTTP/1.1\r\nHost: b\r\n\r\n",
		"NUL": "a\x00b", "a blank before it": " a", "a blank behind it": "a ", "a tab before it": "\ta", "a tab behind it": "a\t", "nothing but a blank": " ",
	} {
		add("a value with "+name, "", withField("x", value))
		add("a cookie with "+name, "", withField("cookie", value))
		add("a content-type with "+name, "", withField("content-type", value))
		add("a path with "+name, "", servertest.H2Request("GET", "/"+value))
		add("a method with "+name, "", servertest.H2Request("GET"+value, "/"))
		host := ""
		if strings.HasSuffix(name, "before it") {
			// it is inside the host
			host = BadRequest
		}
		add("a host with "+name, host, requestWith(":method: GET", ":scheme: http", ":path: /", ":authority: a"+value))
		add("a scheme with "+name, "", requestWith(":method: GET", ":scheme: http"+value, ":path: /", ":authority: a"))
		all = append(all, Smuggler{Name: "a trailer with " + name, Head: postWith(), Trailers: []string{"x: " + value}})
	}
	add("a value with blanks inside", plainGet+`, X="a \tb"`, withField("x", "a \tb"))
	add("a value with text that is not ASCII", plainGet+`, X="\x80\xff"`, withField("x", "\x80\xff"))
	add("a value of nothing", plainGet+`, X=""`, withField("x", ""))
	for _, name := range []string{
		"X", "xY", "Content-Length", "a b", " a", "a ", "a\tb", "a:b", "a\x00b", "a\rb", "a\nb", "a\r\nb", "a\x7f", "a\x80", "(a)", "a,b", `a"b`, "a/b", "a@b",
	} {
		add(fmt.Sprintf("the name %q", name), "", withField(name, "1"))
		all = append(all, Smuggler{Name: fmt.Sprintf("the name %q of a trailer", name), Head: postWith(), Trailers: []string{name + ": 1"}})
	}
	for _, field := range []string{
		"transfer-encoding: chunked", "transfer-encoding: identity", "transfer-encoding: x", "connection: close", "connection: keep-alive",
		"connection: x", "connection: ", "keep-alive: timeout=5", "proxy-connection: close", "upgrade: h2c", "upgrade: websocket", "te: gzip",
		"te: trailers, gzip", "te: chunked", "te: ",
	} {
		add(field, "", servertest.H2Request("GET", "/", field))
		add(field+", with content", "", postWith(field), "0\r\n\r\n", "GET /b HTTP/1.1\r\nHost: b\r\n\r\n")
		if !strings.HasPrefix(field, "te:") {
			all = append(all, Smuggler{Name: field + ", as a trailer", Head: postWith(), Trailers: []string{field}})
		}
	}
	add("te: trailers", plainGet+`, Te="trailers"`, withField("te", "trailers"))
	return all
}()

// targets are requests for odd hosts, paths and methods.
var targets = func() (all []Smuggler) {
	add := func(name, want string, head ...string) {
		all = append(all, Smuggler{Name: name, Want: want, Head: head})
	}
	get := []string{":method: GET", ":scheme: http", ":path: /"}
	with := func(fields ...string) []string { return append(get[:3:3], fields...) }
	add("host twice", "", with(":authority: a", "host: a", "host: a")...)
	add("host twice, alone", "", with("host: a", "host: a")...)
	add("two hosts", "", with("host: a", "host: b")...)
	add("host and another :authority", "", with(":authority: a", "host: b")...)
	add("host and :authority", plainGet, with(":authority: a", "host: a")...)
	add("host alone", plainGet, with("host: a")...)
	add("neither of them", BadRequest, get...)
	add("host and an empty :authority", "", with(":authority: ", "host: b")...)
	add("an empty host", BadRequest, with("host: ")...)
	add("an empty :authority", BadRequest, with(":authority: ")...)
	for _, host := range []string{"a b", "a/b", "u@a", "a?b", "a#b", "a\\b", "http://a", "a:b", "[::1", "a:80:80"} {
		add(fmt.Sprintf("the authority %q", host), BadRequest, with(":authority: "+host)...)
		add(fmt.Sprintf("the host %q", host), BadRequest, with("host: "+host)...)
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
		add(fmt.Sprintf("the path %q", path), "", servertest.H2Request("GET", path)...)
	}
	for _, path := range []string{"/a?b=c", "//b/c", "/%0d%0aHost:%20b", "/%00", "/a;b", "/http://b/"} {
		add(fmt.Sprintf("the path %q", path), "GET "+path+" of a", servertest.H2Request("GET", path)...)
	}
	for _, method := range []string{"GET", "POST", "FOO", "options", "OPTIONS2"} {
		add("an asterisk of "+method, BadRequest, servertest.H2Request(method, "*")...)
		add("an asterisk of "+method+", and Upgrade", "", servertest.H2Request(method, "*", "upgrade: h2c")...)
		add("an asterisk of "+method+", and a content-length", "", servertest.H2Request(method, "*", "content-length: 5")...)
	}
	add("an asterisk", "OPTIONS * of a", servertest.H2Request("OPTIONS", "*")...)
	for _, method := range []string{"", "GE T", "GET ", "G:T", "G\x00", "GET / HTTP/1.1\r\nHost: b\r\n\r\nGET", "(", "G\x80"} {
		add(fmt.Sprintf("the method %q", method), "", servertest.H2Request(method, "/")...)
	}
	add("the method PURGE", "PURGE / of a", servertest.H2Request("PURGE", "/")...)
	add("the method get", "get / of a", servertest.H2Request("get", "/")...)
	for _, scheme := range []string{"", "ht tp", "1http", "http:", "http://a/", "h\x00", "http/1.1\r\nHost: b"} {
		add(fmt.Sprintf("the scheme %q", scheme), "", ":method: GET", ":scheme: "+scheme, ":path: /", ":authority: a")
	}
	usual := servertest.H2Request("GET", "/")
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
	add("CONNECT without a port", BadRequest, ":method: CONNECT", ":authority: a")
	add("CONNECT to a path", BadRequest, ":method: CONNECT", ":authority: /a")
	return all
}()

// lengths are requests whose content-length differs from the length of their content, and
// requests with trailers.
var lengths = func() (all []Smuggler) {
	add := func(name, want string, head []string, content ...string) {
		all = append(all, Smuggler{Name: name, Want: want, Head: head, Content: content})
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
	add("another request in the content of GET", "GET / of a: "+servertest.Smuggled, servertest.H2Request("GET", "/"), servertest.Smuggled)
	add("chunks in the content", "POST / of a: 0\r\n\r\n"+servertest.Smuggled, postWith(), "0\r\n\r\n"+servertest.Smuggled)
	trailers := func(name, want string, head []string, lines ...string) {
		all = append(all, Smuggler{Name: name, Want: want, Head: head, Content: []string{"hello"}, Trailers: lines})
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
