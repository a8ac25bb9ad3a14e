package http2

import (
	"slices"
	"strings"
	"testing"

	"github.com/valyala/fasthttp/internal/http1"
)

var extended = []string{":method: CONNECT", ":protocol: websocket", ":scheme: https", ":authority: example.com", ":path: /chat?a"}

// without returns lines other than the ones that begin with prefix.
func without(lines []string, prefix string) []string {
	return slices.DeleteFunc(slices.Clone(lines), func(line string) bool { return strings.HasPrefix(line, prefix) })
}

// A server that has announced extended CONNECT checks its requests by RFC 8441 section 4, and
// other requests as before.
func TestExtendedConnectIsChecked(t *testing.T) {
	for _, tt := range []struct {
		name     string
		fields   []string
		fault    *Error
		protocol string
	}{
		{"an extended CONNECT", extended, nil, "websocket"},
		{"a protocol with a version", with(without(extended, ":protocol"), ":protocol: a/1.1"), nil, "a/1.1"},
		{":protocol at the end", with(without(extended, ":protocol"), ":protocol: connect-udp"), nil, "connect-udp"},
		{"Host instead of :authority", with(without(extended, ":authority"), "host: a"), nil, "websocket"},
		{"CONNECT", []string{":method: CONNECT", ":authority: a:443"}, nil, ""},
		{"GET", get, nil, ""},

		{"GET with :protocol", with(get, ":protocol: websocket"), errPseudo, ""},
		{"POST with :protocol", with(post, ":protocol: websocket"), errPseudo, ""},
		{"two :protocol", with(extended, ":protocol: websocket"), errPseudo, ""},
		{":protocol after fields", with(without(extended, ":protocol"), "a: b", ":protocol: websocket"), errPseudo, ""},
		{"no :scheme", without(extended, ":scheme"), errPseudoMissing, ""},
		{"no :path", without(extended, ":path"), errPseudoMissing, ""},
		{"only :protocol beside those of CONNECT", []string{":method: CONNECT", ":protocol: websocket", ":authority: a:443"}, errPseudoMissing, ""},
		{"no :protocol", without(extended, ":protocol"), errPseudo, ""},
		{"an empty :protocol", with(without(extended, ":protocol"), ":protocol: "), errProtocol, ""},
		{"a blank in :protocol", with(without(extended, ":protocol"), ":protocol: web socket"), errProtocol, ""},
		{"a :protocol with an empty version", with(without(extended, ":protocol"), ":protocol: a/"), errProtocol, ""},
		{"a :protocol with two versions", with(without(extended, ":protocol"), ":protocol: a/b/c"), errProtocol, ""},
		{"LF in :protocol", with(without(extended, ":protocol"), ":protocol: a\nb"), errProtocol, ""},
		{"Upgrade", with(extended, "upgrade: websocket"), errConnectionName, ""},
		{"a malformed :path", with(without(extended, ":path"), ":path: chat"), errPath, ""},
		{"* as :path", with(without(extended, ":path"), ":path: *"), ErrTarget, ""},
		{"no host", without(extended, ":authority"), ErrHost, ""},
		{"user information", with(without(extended, ":authority"), ":authority: a@b"), ErrHost, ""},
	} {
		x := begin(t, Server, filled(Limits{ExtendedConnect: true}))
		x.feed(client().b, 1<<20)
		in := newScript().headers(1, 0, tt.fields...).b
		n, ev, err := x.c.Feed(in, 0, &x.m)
		if err != nil || n != len(in) || ev.Err != tt.fault {
			t.Errorf("%s: %d of %d bytes, %v, %v, want %v", tt.name, n, len(in), ev.Err, err, tt.fault)
			continue
		}
		x.note(ev)
		answered := tt.fault == nil || tt.fault == ErrTarget || tt.fault == ErrHost
		if got := strings.Join(x.frames(), ", "); strings.Contains(got, "RST_STREAM 1: PROTOCOL_ERROR") == answered {
			t.Errorf("%s: sent %q", tt.name, got)
		}
		if tt.fault != nil {
			continue
		}
		m := &x.m
		if got := string(m.Fields.Bytes(m.Protocol)); got != tt.protocol {
			t.Errorf("%s: the protocol is %q", tt.name, got)
		}
		if tt.protocol != "" && (m.Head.MethodID != http1.MethodConnect || string(m.Fields.Bytes(m.Head.Target)) != "/chat?a") {
			t.Errorf("%s: method %v, target %q", tt.name, m.Head.MethodID, m.Fields.Bytes(m.Head.Target))
		}
	}
}

// Without the setting, nothing but CONNECT to a host is a CONNECT.
func TestExtendedConnectIsOffByDefault(t *testing.T) {
	x := begin(t, Server, filled(Limits{}))
	x.feed(client().headers(1, 0, extended...).headers(3, flagEndStream, get...).b, 7)
	if got := strings.Join(x.events, ", "); got != "rejected: PROTOCOL_ERROR, headers 3:  end" || x.err != nil {
		t.Errorf("got %q, %v", got, x.err)
	}
	if x.m.Protocol.Len != 0 {
		t.Error("a request without :protocol has one")
	}
}

func TestExtendedConnectIsAnnounced(t *testing.T) {
	s, c := new(Conn), begin(t, Client, filled(Limits{}))
	s.Init(Server, filled(Limits{ExtendedConnect: true}), 0)
	if c.c.PermitsExtendedConnect() {
		t.Error("a client knows before the settings arrive")
	}
	c.feed(s.Output(nil, 1000), 1)
	if !c.c.PermitsExtendedConnect() || c.err != nil {
		t.Errorf("the announcement is lost: %v", c.err)
	}
	// RFC 8441 section 3
	c.feed(newScript().settings(settingExtendedConnect, 1).b, 1<<20)
	if c.err != nil {
		t.Errorf("again: %v", c.err)
	}
	c.feed(newScript().settings(settingExtendedConnect, 0).b, 1<<20)
	if c.err != ErrSetting {
		t.Errorf("a server takes it back: %v", c.err)
	}
}

// A tunnel has no trailers (RFC 9113 section 8.5), in either direction.
func TestTunnelsHaveNoTrailers(t *testing.T) {
	x := begin(t, Server, filled(Limits{ExtendedConnect: true}))
	x.feed(client().headers(1, 0, extended...).data(1, 0, "abc").headers(1, flagEndStream, "sum: 7").b, 5)
	if got := strings.Join(x.events[1:], ", "); got != "data 1: 3, reset 1: PROTOCOL_ERROR" || x.err != nil {
		t.Errorf("the server: %q, %v", got, x.err)
	}
	for status, want := range map[string]string{
		"200": "headers 1, data 1: 3, reset 1: PROTOCOL_ERROR",
		"404": "headers 1, data 1: 3, trailers 1: Sum=7 end",
	} {
		c := begin(t, Client, filled(Limits{}))
		c.feed(server().b, 1<<20)
		s := c.c.Open()
		s.ExpectTunnel()
		c.request(s, SendHead)
		c.feed(newScript().headers(1, 0, ":status: "+status).data(1, 0, "abc").headers(1, flagEndStream, "sum: 7").b, 5)
		if got := strings.Join(c.events, ", "); got != want || c.err != nil {
			t.Errorf("the client after %s: %q, %v", status, got, c.err)
		}
	}
}

// Finish ends content whether some of it waits for a window or not.
func TestFinishEndsContentThatWaits(t *testing.T) {
	for _, size := range []int{0, 10, firstWindow + 5} {
		x := begin(t, Server, filled(Limits{}))
		x.feed(client().post(1).b, 1<<20)
		s := x.held[1]
		x.c.EndHeaders(s, x.c.Encoder().AppendStatus(x.c.BeginHeaders(), 200), SendHead)
		x.c.Send(s, make([]byte, size), false)
		_ = x.frames()
		waits := s.Unsent() > 0
		x.c.Finish(s)
		x.c.Finish(s)
		if got := strings.Join(x.frames(), ", "); (got == "") != waits || !waits && got != "DATA 1: 0 end" {
			t.Errorf("%d bytes: sent %q", size, got)
		}
		if waits {
			x.feed(newScript().window(1, 100).window(0, 100).b, 1<<20)
			if got := strings.Join(x.frames(), ", "); got != "DATA 1: 5 end" {
				t.Errorf("%d bytes: after the window %q", size, got)
			}
		}
		if s.Sending() != Ended {
			t.Errorf("%d bytes: sending is %v", size, s.Sending())
		}
		x.c.Reset(s, Cancel)
		x.c.Finish(s)
		x.c.Release(s)
		checkBooks(t, x.c)
	}
}
