package http2

import (
	"strings"
	"testing"

	"github.com/valyala/fasthttp/internal/http1"
)

// checkCases are requests, most of them malformed, as a list of fields. fault is the fault,
// or nil: with ErrTarget and ErrHost the caller gets the request, to send a response.
var checkCases = []struct {
	name   string
	fields []string
	fault  *Error
}{
	{"a request", get, nil},
	{"OPTIONS *", []string{":method: OPTIONS", ":scheme: https", ":authority: a", ":path: *"}, nil},
	{"another scheme", []string{":method: GET", ":scheme: coap+tcp", ":authority: a", ":path: /"}, nil},
	{"Host alone", []string{":method: GET", ":scheme: https", ":path: /", "host: a"}, nil},
	{"Host as :authority", with(get, "host: EXAMPLE.com"), nil},
	{"CONNECT", []string{":method: CONNECT", ":authority: a:443"}, nil},
	{"te: trailers", with(get, "te: trailers"), nil},
	{"content-length", with(get, "content-length: 3"), nil},
	{"a tab in a value", with(get, "a: b\tc"), nil},
	{"bytes above 0x7f", with(get, "a: \xff\x80"), nil},
	{"an empty value", with(get, "a: "), nil},

	{"a name in upper case", with(get, "X-Test: ok"), errFieldName},
	{"a known name in upper case", with(get, "Accept: a"), errFieldName},
	{"a space in a name", with(get, "x test: ok"), errFieldName},
	{"a colon in a name", with(get, "x:test: ok"), errFieldName},
	{"CR in a name", with(get, "x\rtest: ok"), errFieldName},
	{"LF in a value", with(get, "x: a\nb"), errFieldValue},
	{"CR in a value", with(get, "x: a\rb"), errFieldValue},
	{"CR LF in a value", with(get, "x: a\r\nhost: b"), errFieldValue},
	{"NUL in a value", with(get, "x: a\x00b"), errFieldValue},
	{"a blank before a value", with(get, "x:  a"), errFieldValue},
	{"a blank after a value", with(get, "x: a "), errFieldValue},
	{"a tab after a value", with(get, "x: a\t"), errFieldValue},
	{"LF in :path", []string{":method: GET", ":scheme: https", ":authority: a", ":path: /\nb"}, errPath},

	{"an unknown pseudo-field", with(get, ":test: ok"), errPseudo},
	{"a pseudo-field of responses", with(get, ":status: 200"), errPseudo},
	{":protocol", with(get, ":protocol: websocket"), errPseudo},
	{"a pseudo-field after others", []string{":method: GET", ":scheme: https", ":authority: a", "x: y", ":path: /"}, errPseudoMissing},
	{"a pseudo-field again after others", with(get, "x: y", ":path: /"), errPseudo},
	{"two :method", with(get, ":method: GET"), errPseudo},
	{"two :scheme", with(get, ":scheme: http"), errPseudo},
	{"two :path", with(get, ":path: /"), errPseudo},
	{"two :authority", with(get, ":authority: a"), errPseudo},
	{"no :method", get[1:], errPseudoMissing},
	{"no :scheme", []string{":method: GET", ":authority: a", ":path: /"}, errPseudoMissing},
	{"no :path", get[:3], errPseudoMissing},
	{"nothing", nil, errPseudoMissing},
	{"a :method that is no token", []string{":method: G T", ":scheme: https", ":authority: a", ":path: /"}, errMethod},
	{"an empty :method", []string{":method: ", ":scheme: https", ":authority: a", ":path: /"}, errMethod},
	{"an empty :path", []string{":method: GET", ":scheme: https", ":authority: a", ":path: "}, errPath},
	{"a :path without a slash", []string{":method: GET", ":scheme: https", ":authority: a", ":path: a"}, errPath},
	{"an absolute :path", []string{":method: GET", ":scheme: https", ":authority: a", ":path: http://b/"}, errPath},
	{"a fragment", []string{":method: GET", ":scheme: https", ":authority: a", ":path: /a#b"}, errPath},
	{"a blank in :path", []string{":method: GET", ":scheme: https", ":authority: a", ":path: /a HTTP/1.1"}, errPath},
	{"a :path with bytes above 0x7f", []string{":method: GET", ":scheme: https", ":authority: a", ":path: /\xc3\xa9"}, errPath},
	{"a long :path with such a byte", []string{":method: GET", ":scheme: https", ":authority: a", ":path: /0123456789\xff0123456789"}, errPath},
	{"a comma in :authority", []string{":method: GET", ":scheme: https", ":authority: a,b", ":path: /"}, errAuthority},
	{"a comma in a long :authority", []string{":method: GET", ":scheme: https", ":authority: a.example,b.example:443", ":path: /"}, errAuthority},
	{"a comma in the :authority of CONNECT", []string{":method: CONNECT", ":authority: a,b:443"}, errAuthority},
	{"a comma in Host", []string{":method: GET", ":scheme: https", ":path: /", "host: a,b"}, errAuthority},
	{"GET *", []string{":method: GET", ":scheme: https", ":authority: a", ":path: *"}, ErrTarget},
	{"an empty :scheme", []string{":method: GET", ":scheme: ", ":authority: a", ":path: /"}, errScheme},
	{"a :scheme with a colon", []string{":method: GET", ":scheme: http:", ":authority: a", ":path: /"}, errScheme},
	{"a :scheme that begins with a digit", []string{":method: GET", ":scheme: 1a", ":authority: a", ":path: /"}, errScheme},
	{"neither :authority nor Host", []string{":method: GET", ":scheme: https", ":path: /"}, ErrHost},
	{"an empty :authority", []string{":method: GET", ":scheme: https", ":authority: ", ":path: /"}, ErrHost},
	{"user information", []string{":method: GET", ":scheme: https", ":authority: a@b", ":path: /"}, ErrHost},
	{"a path in :authority", []string{":method: GET", ":scheme: https", ":authority: a/b", ":path: /"}, ErrHost},
	{"a space in :authority", []string{":method: GET", ":scheme: https", ":authority: a b", ":path: /"}, ErrHost},
	{"a tab in :authority", []string{":method: GET", ":scheme: https", ":authority: a\tb", ":path: /"}, ErrHost},
	{"a port of letters", []string{":method: GET", ":scheme: https", ":authority: a:b", ":path: /"}, ErrHost},
	{"a port beyond all", []string{":method: GET", ":scheme: https", ":authority: a:65536", ":path: /"}, ErrHost},
	{"a port without a host", []string{":method: GET", ":scheme: https", ":authority: :80", ":path: /"}, ErrHost},
	{"brackets without an end", []string{":method: GET", ":scheme: https", ":authority: [::1", ":path: /"}, ErrHost},
	{"an empty Host", []string{":method: GET", ":scheme: https", ":path: /", "host: "}, ErrHost},
	{"a blank before :authority", []string{":method: GET", ":scheme: https", ":authority:  a", ":path: /"}, errAuthority},
	{"a blank after :authority", []string{":method: GET", ":scheme: https", ":authority: a ", ":path: /"}, errAuthority},
	{"a blank as :authority", []string{":method: GET", ":scheme: https", ":authority:  ", ":path: /"}, errAuthority},
	{"CR LF in :authority", []string{":method: GET", ":scheme: https", ":authority: a\r\nb: c", ":path: /"}, errAuthority},
	{"NUL in :authority", []string{":method: GET", ":scheme: https", ":authority: a\x00", ":path: /"}, errAuthority},
	{"a comma and user information", []string{":method: GET", ":scheme: https", ":authority: a@b,c", ":path: /"}, errAuthority},
	{"a comma and user information in Host", []string{":method: GET", ":scheme: https", ":path: /", "host: a@b,c"}, errAuthority},

	// the worse fault is reported, wherever it is
	{"GET * twice", []string{":method: GET", ":scheme: https", ":authority: a", ":path: *", ":path: *"}, errPseudo},
	{"GET * without :scheme", []string{":method: GET", ":authority: a", ":path: *"}, errPseudoMissing},
	{"GET * and a malformed name", []string{":method: GET", ":scheme: https", ":authority: a", ":path: *", "A: b"}, errFieldName},
	{"GET * and a malformed value", []string{":method: GET", ":scheme: https", ":authority: a", ":path: *", "a: b\nc"}, errFieldValue},
	{"GET * and another Host", []string{":method: GET", ":scheme: https", ":authority: a", ":path: *", "host: b"}, errAuthority},
	{"GET * and a malformed :authority", []string{":method: GET", ":scheme: https", ":authority: a@b", ":path: *"}, ErrTarget},
	{"GET * and a malformed content-length", []string{":method: GET", ":scheme: https", ":authority: a", ":path: *", "content-length: x"}, errLength},
	{"user information twice", []string{":method: GET", ":scheme: https", ":authority: a@b", ":authority: a@b", ":path: /"}, errPseudo},
	{"user information without :path", []string{":method: GET", ":scheme: https", ":authority: a@b"}, errPseudoMissing},
	{"user information and Transfer-Encoding", []string{":method: GET", ":scheme: https", ":authority: a@b", ":path: /", "transfer-encoding: chunked"}, errConnectionName},
	{"user information and a malformed :path", []string{":method: GET", ":scheme: https", ":authority: a@b", ":path: a"}, errPath},
	{"user information and another Host", []string{":method: GET", ":scheme: https", ":authority: a@b", ":path: /", "host: b"}, errAuthority},
	{"user information and two Host", []string{":method: GET", ":scheme: https", ":path: /", "host: a@b", "host: a@b"}, errAuthority},
	{"no host and Connection", []string{":method: GET", ":scheme: https", ":path: /", "connection: close"}, errConnectionName},
	{"no host and two content-length", []string{":method: GET", ":scheme: https", ":path: /", "content-length: 1", "content-length: 1"}, errLength},
	{"CONNECT without a port, with a scheme", []string{":method: CONNECT", ":authority: a", ":scheme: https"}, errPseudo},
	{"CONNECT without a port, with Upgrade", []string{":method: CONNECT", ":authority: a", "upgrade: h2c"}, errConnectionName},

	{"another Host", with(get, "host: b"), errAuthority},
	{"two Host", []string{":method: GET", ":scheme: https", ":path: /", "host: a", "host: a"}, errAuthority},
	{"two Host beside :authority", with(get, "host: example.com", "host: example.com"), errAuthority},
	{"a malformed Host", []string{":method: GET", ":scheme: https", ":path: /", "host: a b"}, ErrHost},
	{"CONNECT without :authority", []string{":method: CONNECT"}, errPseudo},
	{"CONNECT without a port", []string{":method: CONNECT", ":authority: a"}, ErrTarget},
	{"CONNECT to a path", []string{":method: CONNECT", ":authority: /a"}, ErrTarget},
	{"CONNECT to nothing", []string{":method: CONNECT", ":authority: "}, ErrTarget},
	{"CONNECT to user information", []string{":method: CONNECT", ":authority: a@b:443"}, ErrTarget},
	{"CONNECT to a control character", []string{":method: CONNECT", ":authority: a\x01:443"}, errAuthority},
	{"CONNECT with a path", []string{":method: CONNECT", ":authority: a:443", ":path: /"}, errPseudo},
	{"CONNECT with a scheme", []string{":method: CONNECT", ":authority: a:443", ":scheme: https"}, errPseudo},

	{"Connection", with(get, "connection: keep-alive"), errConnectionName},
	{"Keep-Alive", with(get, "keep-alive: timeout=5"), errConnectionName},
	{"Proxy-Connection", with(get, "proxy-connection: close"), errConnectionName},
	{"Transfer-Encoding", with(get, "transfer-encoding: chunked"), errConnectionName},
	{"Upgrade", with(get, "upgrade: h2c"), errConnectionName},
	{"te: trailers, deflate", with(get, "te: trailers, deflate"), errConnectionName},
	{"a content-length of letters", with(get, "content-length: 1x"), errLength},
	{"a content-length with a sign", with(get, "content-length: +1"), errLength},
	{"a content-length beyond all", with(get, "content-length: 99999999999999999999"), errLength},
	{"two of them", with(get, "content-length: 1", "content-length: 1"), errLength},
}

func TestRequestsAreChecked(t *testing.T) {
	for _, c := range checkCases {
		x := begin(t, Server, filled(Limits{}))
		var rejected *Error
		answered := false
		x.feed(client().b, 1<<20)
		s := newScript().headers(1, 0, c.fields...)
		// after a malformed request the connection continues
		s.headers(3, flagEndStream, get...)
		for in := s.b; len(in) > 0; {
			n, ev, err := x.c.Feed(in, 0, &x.m)
			if err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			if ev.Err != nil {
				rejected, answered = ev.Err, ev.Kind == Malformed
			}
			x.note(ev)
			in = in[n:]
		}
		if rejected != c.fault {
			t.Errorf("%s: %v, want %v", c.name, rejected, c.fault)
		}
		want := "reset 1 PROTOCOL_ERROR"
		if c.fault == nil || answered {
			want = ""
		}
		if wantAnswer := c.fault == ErrTarget || c.fault == ErrHost; answered != wantAnswer || answered != (x.held[1] != nil && c.fault != nil) {
			t.Errorf("%s: the caller gets it: %v", c.name, answered)
		}
		if got := x.verdict(); got != want || x.held[3] == nil {
			t.Errorf("%s: %q, and then %q", c.name, got, x.events)
		}
	}
}

func TestWhatAMessageHas(t *testing.T) {
	var m Message
	text := func(c *Message) string {
		h, b := &c.Head, c.Fields.Bytes
		return strings.Join([]string{
			string(b(h.Method)), string(b(c.Scheme)), string(b(h.Slots[http1.SlotHost])), string(b(h.Target)), list(&c.Fields),
		}, " ")
	}
	for _, c := range []struct {
		limits Limits
		fields []string
		want   string
	}{
		{Limits{}, with(get, "x-a: b", "host: example.com", "user-agent: me", "content-type: t"),
			"GET https example.com / X-A=b"},
		{Limits{KeepNames: true}, with(get, "x-a: b", "accept: c"), "GET https example.com / x-a=b, accept=c"},
		{Limits{KeepAll: true}, with(get, "x-a: b", "user-agent: me", "host: example.com"),
			"GET https example.com / X-A=b, User-Agent=me, Host=example.com"},
		{Limits{}, with(get, "cookie: a=b", "x: y", "cookie: c=d", "cookie: e"), "GET https example.com / Cookie=a=b; c=d; e, X=y"},
		{Limits{}, with(get, "cookie: a=b", "cookie: c=d"), "GET https example.com / Cookie=a=b; c=d"},
		{Limits{}, with(get, "cookie: a=b", "x: y"), "GET https example.com / Cookie=a=b, X=y"},
		{Limits{}, []string{":method: CONNECT", ":authority: a:1"}, "CONNECT  a:1 a:1 "},
		{Limits{}, []string{":method: GET", ":scheme: http", ":path: /x?y", "host: b"}, "GET http b /x?y "},
	} {
		x := begin(t, Server, filled(c.limits))
		in := client().headers(1, flagEndStream, c.fields...).b
		for {
			n, ev, err := x.c.Feed(in, 0, &m)
			if err != nil || n == 0 {
				t.Fatalf("%q: %v", c.fields, err)
			}
			if in = in[n:]; ev.Kind == Headers {
				break
			}
		}
		if got := text(&m); got != c.want {
			t.Errorf("%q:\n got %q\nwant %q", c.fields, got, c.want)
		}
	}
}

func TestFramingOfMessages(t *testing.T) {
	for _, c := range []struct {
		fields []string
		flags  uint8
		want   http1.Framing
	}{
		{get, flagEndStream, http1.Framing{}},
		{get, 0, http1.Framing{Kind: http1.UntilClose}},
		{with(get, "content-length: 7"), 0, http1.Framing{Kind: http1.Length, Length: 7}},
		{with(get, "content-length: 0"), flagEndStream, http1.Framing{}},
	} {
		x := begin(t, Server, filled(Limits{}))
		x.feed(client().headers(1, c.flags, c.fields...).b, 1<<20)
		if x.m.Head.Framing != c.want || x.m.Head.Minor != 1 || x.m.Head.MethodID != http1.MethodGet {
			t.Errorf("%q: %+v", c.fields, x.m.Head.Framing)
		}
	}
}
