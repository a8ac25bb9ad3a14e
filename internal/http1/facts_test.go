package http1

import (
	"errors"
	"strings"
	"testing"

	"github.com/valyala/fasthttp/internal/field"
)

// facts parses a request head of the given field lines.
func facts(t *testing.T, lines string) (*Head, error) {
	t.Helper()
	h := new(Head)
	raw := "POST / HTTP/1.1\r\n" + lines + "\r\n"
	n, err := h.Parse(Request, []byte(raw), new(field.List))
	if err == nil && n != len(raw) {
		t.Fatalf("%q: read %d of %d bytes", lines, n, len(raw))
	}
	return h, err
}

// known failure 5
func TestConnectionIsAListOfTokensOverAllItsLines(t *testing.T) {
	for lines, want := range map[string]Flags{
		"":                                        0,
		"Connection: close\r\n":                   Close,
		"Connection:close\r\n":                    Close,
		"CONNECTION: CLOSE\r\n":                   Close,
		"Connection: \tclose\t \r\n":              Close,
		"Connection: keep-alive\r\n":              KeepAlive,
		"Connection: Keep-Alive\r\n":              KeepAlive,
		"Connection: upgrade\r\n":                 Upgrade,
		"Connection: Upgrade, HTTP2-Settings\r\n": Upgrade,
		"Connection: keep-alive, Upgrade\r\n":     KeepAlive | Upgrade,
		"Connection: TE,close,TE\r\n":             Close,
		"Connection: ,,close,,\r\n":               Close,
		"Connection: , \r\n":                      0,
		"Connection:\r\n":                         0,
		"Connection: x\r\nConnection: close\r\n":  Close,
		"Connection: keep-alive\r\nA: b\r\nconnection: close\r\n": KeepAlive | Close,
		"Connection: upgrade\r\nConnection: x, keep-alive\r\n":    Upgrade | KeepAlive,
		"Connection: close\r\nConnection: \r\n":                   Close,
		"Connection: closed, xclose, close-x\r\n":                 0,
		"Connection: close keep-alive\r\n":                        0,
		"Connection: close;q=1\r\n":                               0,
		"Connection: \"close\"\r\n":                               0,
		"Connection: keep_alive, keepalive, keep-alivee\r\n":      0,
		"X-Connection: close\r\n":                                 0,
		"Proxy-Connection: close\r\nKeep-Alive: timeout=5\r\n":    0,
	} {
		h, err := facts(t, lines)
		if got := h.Flags & (Close | KeepAlive | Upgrade); err != nil || got != want {
			t.Errorf("%q: %x, %v, want %x", lines, got, err, want)
		}
	}
}

func TestConnectionFlagsReadsOneList(t *testing.T) {
	for list, want := range map[string]Flags{
		"":                              0,
		"keep-alive":                    KeepAlive,
		"close":                         Close,
		" Close\t,  uPGRADE,foo":        Close | Upgrade,
		"upgrade,close,keep-alive":      KeepAlive | Close | Upgrade,
		"keep-alive,close,upgrade,":     KeepAlive | Close | Upgrade,
		"keep-alive\x00":                0,
		"keep-alive,\xffclose,clos\xe9": KeepAlive,
	} {
		if got := ConnectionFlags([]byte(list)); got != want {
			t.Errorf("%q: %x, want %x", list, got, want)
		}
	}
	if got := ConnectionFlags(nil); got != 0 {
		t.Errorf("no list at all: %x", got)
	}
}

// known failure 6
func TestExpectations(t *testing.T) {
	for lines, want := range map[string]Flags{
		"":                                       0,
		"Expect: 100-continue\r\n":               Expect100,
		"expect: 100-CONTINUE\r\n":               Expect100,
		"Expect: \t100-Continue \r\n":            Expect100,
		"Expect: 100-continue,\r\n":              Expect100,
		"Expect: 100-continue, 100-continue\r\n": Expect100,
		"Expect:\r\n":                            0,
		"Expect: ,\r\n":                          0,
		"Expect: 100\r\n":                        ExpectOther,
		"Expect: 100-continues\r\n":              ExpectOther,
		"Expect: 100-continue;q=1\r\n":           ExpectOther,
		"Expect: 100-continue=x\r\n":             ExpectOther,
		"Expect: 200-ok\r\n":                     ExpectOther,
		"Expect: 100-continue, x=\"a,b\"\r\n":    Expect100 | ExpectOther,
		"Expect: x\r\nExpect: 100-continue\r\n":  Expect100 | ExpectOther,
		"Expect: \"100-continue\"\r\n":           ExpectOther,
	} {
		h, err := facts(t, lines)
		if got := h.Flags & (Expect100 | ExpectOther); err != nil || got != want {
			t.Errorf("%q: %x, %v, want %x", lines, got, err, want)
		}
	}
}

// known failure 9
func TestTransferCodingsAreAList(t *testing.T) {
	const te = "Transfer-Encoding: "
	for _, c := range []struct {
		lines string
		want  Flags
		err   error
	}{
		{te + "chunked\r\n", IsChunked, nil},
		{te + "CHUNKED\r\n", IsChunked, nil},
		{te + "gzip\r\n", OtherCoding, nil},
		{te + "gzip, chunked\r\n", OtherCoding | IsChunked, nil},
		{te + "gzip\r\n" + te + "chunked\r\n", OtherCoding | IsChunked, nil},
		{te + "gzip;level=9, deflate , chunked\r\n", OtherCoding | IsChunked, nil},
		{te + "identity\r\n", OtherCoding | Identity, nil},
		{te + "IDENTITY, chunked\r\n", OtherCoding | Identity | IsChunked, nil},
		{te + "identity;q=1\r\n", OtherCoding, nil},
		{te + "identity, x\r\n", OtherCoding, nil},
		{te + "x\r\n" + te + "identity\r\n", OtherCoding, nil},
		{te + "trailers\r\n", OtherCoding, nil},
		// a comma inside a quoted parameter does not begin another coding
		{te + "x;p=\"a, chunked\"\r\n", OtherCoding, nil},
		{te + "x;p=\"a\\\", chunked\"\r\n", OtherCoding, nil},
		{te + "x;p=\"a, b\", chunked\r\n", OtherCoding | IsChunked, nil},
		{te + "x;p=\"a\\\\\", chunked\r\n", OtherCoding | IsChunked, nil},
		{te + "x;p=\"never ends, chunked\r\n", OtherCoding, nil},
		// near misses of the name
		{te + "chunke\r\n", OtherCoding, nil},
		{te + "chunkedd\r\n", OtherCoding, nil},
		{te + "x-chunked\r\n", OtherCoding, nil},
		{te + "gzip chunked\r\n", OtherCoding, nil},

		// recipients disagree about whether an empty element counts
		{te + "chunked,\r\n", 0, ErrTransferEncoding},
		{te + ",chunked\r\n", 0, ErrTransferEncoding},
		{te + "chunked ,\t\r\n", 0, ErrTransferEncoding},
		{te + "gzip,,chunked\r\n", 0, ErrTransferEncoding},
		{te + "gzip,\r\n" + te + "chunked\r\n", 0, ErrTransferEncoding},
		{te + "chunked\r\n" + te + "\r\n", 0, ErrTransferEncoding},
		{te + "\r\n" + te + "chunked\r\n", 0, ErrTransferEncoding},
		{te + "\r\n", 0, ErrTransferEncoding},
		{te + ", ,\r\n", 0, ErrTransferEncoding},
		{te + "chunked, chunked\r\n", 0, ErrTransferEncoding},
		{te + "chunked, gzip\r\n", 0, ErrTransferEncoding},
		{te + "chunked\r\n" + te + "gzip\r\n", 0, ErrTransferEncoding},
		{te + "chunked\r\nA: b\r\n" + te + "CHUNKED\r\n", 0, ErrTransferEncoding},
		{te + "gzip, chunked, gzip\r\n", 0, ErrTransferEncoding},
		{te + "chunked;q=1\r\n", 0, ErrTransferEncoding},
		{te + "chunked ; q=1\r\n", 0, ErrTransferEncoding},
		{te + "chunked chunked\r\n", 0, ErrTransferEncoding},
		{te + "\"chunked\"\r\n", 0, ErrTransferEncoding},
		{te + "gzip, ;q=1\r\n", 0, ErrTransferEncoding},
		{te + "gzip, \"x\", chunked\r\n", 0, ErrTransferEncoding},
		{te + "\xffchunked\r\n", 0, ErrTransferEncoding},
		{te + "\x0bchunked\r\n", 0, ErrFieldValue},
	} {
		h, err := facts(t, c.lines)
		if c.err != nil {
			if !errors.Is(err, c.err) {
				t.Errorf("%q: %v, want %v", c.lines, err, c.err)
			}
			continue
		}
		if c.want&OtherCoding != 0 && errors.Is(err, ErrUnsupportedCoding) {
			err = nil // the list is well-formed
		}
		if got := h.Flags; err != nil || got != c.want|HasCoding {
			t.Errorf("%q: %x, %v, want %x", c.lines, got, err, c.want|HasCoding)
		}
	}
}

// A client accepts all that RFC 9110 section 5.6.1 requires of a recipient: it does not
// forward the list to another server, which could read it in another way.
func TestTransferCodingsOfAResponseMayBeEmptyElements(t *testing.T) {
	const te = "Transfer-Encoding: "
	for value, want := range map[string]Flags{
		"chunked,":         IsChunked,
		",chunked":         IsChunked,
		" ,\t, chunked ,,": IsChunked,
		"gzip,, chunked":   OtherCoding | IsChunked,
		"chunked\r\n" + te: IsChunked,
	} {
		h := new(Head)
		raw := "HTTP/1.1 200 OK\r\n" + te + value + "\r\n\r\n"
		_, err := h.Parse(Response, []byte(raw), new(field.List))
		if want&OtherCoding != 0 && errors.Is(err, ErrUnsupportedCoding) {
			err = nil // the list is well-formed
		}
		if err != nil || h.Flags != want|HasCoding {
			t.Errorf("%q: %x, %v, want %x", value, h.Flags, err, want|HasCoding)
		}
	}
	h := new(Head)
	if _, err := h.Parse(Response, []byte("HTTP/1.1 200 OK\r\n"+te+", ,\r\n\r\n"), new(field.List)); !errors.Is(err, ErrTransferEncoding) {
		t.Errorf("no coding at all: %v", err)
	}
}

// hostOf returns the text in the slot of Host, for a head that facts has parsed.
func hostOf(h *Head, lines string) string {
	raw, at := "POST / HTTP/1.1\r\n"+lines, h.Slots[SlotHost]
	return raw[at.Off : at.Off+at.Len]
}

// Fields that have a slot, or that determine the framing of a message, are not in the list
// unless all fields must be kept there.
func TestFieldsWithAnEffect(t *testing.T) {
	for _, c := range []struct {
		role  Role
		lines string
		all   bool
		slots string
		list  string
	}{
		{Request, "Host: a\r\nX: y\r\nUser-Agent: u\r\nContent-Type: t\r\n", false, "t a u", "X"},
		{Request, "Host: a\r\nX: y\r\nUser-Agent: u\r\nContent-Type: t\r\n", true, "t a u", "Host X User-Agent Content-Type"},
		{Request, "User-Agent: u\r\nUser-Agent: v\r\nContent-Type: t\r\nContent-Type: s\r\n", false, "t  v", ""},
		{Request, "User-Agent: u\r\nUser-Agent: v\r\nContent-Type:\r\nContent-Type: s\r\n", false, "  v", ""},
		{Request, "User-Agent: u\r\nUser-Agent: v\r\nContent-Type: t\r\nContent-Type: s\r\n", true, "t  u", "User-Agent User-Agent Content-Type Content-Type"},
		{Request, "Content-Length: 1\r\nCookie: c=d\r\nConnection: close\r\nConnection: x, close\r\nTransfer-Encoding: chunked\r\n", false, "  ", "Cookie Connection"},
		{Request, "Server: s\r\nContent-Encoding: br\r\nSet-Cookie: c=d\r\nTrailer: X\r\nExpect: 100-continue\r\n", false, "  ", "Server Content-Encoding Set-Cookie Trailer Expect"},
		{Response, "Server: s\r\nContent-Encoding: br\r\nSet-Cookie: c=d\r\nTrailer: X\r\nContent-Type: t\r\nContent-Type: u\r\n", false, "u s br", "Set-Cookie Trailer"},
		{Response, "Host: a\r\nUser-Agent: u\r\nCookie: c\r\nConnection: Close\r\nConnection: keep-alive\r\nContent-Length: 0\r\n", false, "  ", "Host User-Agent Cookie Connection"},
	} {
		start := "POST / HTTP/1.1\r\n"
		if c.role == Response {
			start = "HTTP/1.1 200 OK\r\n"
		}
		raw := []byte(start + c.lines + "\r\n")
		h, fields := &Head{KeepAll: c.all}, &field.List{Block: raw}
		if n, err := h.Parse(c.role, raw, fields); n != len(raw) || err != nil {
			t.Fatalf("%q: %d, %v", raw, n, err)
		}
		var slots, names []string
		for _, s := range h.Slots {
			slots = append(slots, string(fields.Bytes(s)))
		}
		for i := range fields.Len() {
			names = append(names, string(fields.Name(i)))
		}
		if got := strings.Join(slots, " "); got != c.slots {
			t.Errorf("%q: slots %q, want %q", c.lines, got, c.slots)
		}
		if got := strings.Join(names, " "); got != c.list {
			t.Errorf("%q: list %q, want %q", c.lines, got, c.list)
		}
		if want := strings.Count(c.lines, "\n"); h.Lines != want {
			t.Errorf("%q: %d lines", c.lines, h.Lines)
		}
	}
}

func TestOtherFacts(t *testing.T) {
	for _, c := range []struct {
		lines string
		want  Flags
		host  string
	}{
		{"Host: a\r\n", HasHost, "a"},
		{"A: b\r\nHOST:\r\n", HasHost, ""},
		{"Host: a\r\nhost: a\r\n", HasHost | ManyHosts, "a"},
		{"A: b\r\nB: c\r\nTrailer: X\r\nCookie: a=b\r\nHost: h\r\n", HasTrailer | HasCookie | HasHost, "h"},
		{"Content-Length: 0\r\n", HasLength, ""},
		{"Cookie: a=b\r\nHost: a\r\nHost: b\r\n", HasCookie | HasHost | ManyHosts, "b"},
		{"Host: a\r\nCookie: a=b\r\nTrailer: X\r\nExpect: x\r\nConnection: close\r\nContent-Length: 1\r\n", HasHost | HasCookie | HasTrailer | ExpectOther | Close | HasLength, "a"},
		{"X-Host: a\r\nSet-Cookie: a=b\r\nTE: trailers\r\nUpgrade: h2c\r\n", 0, ""},
	} {
		h, err := facts(t, c.lines)
		if err != nil || h.Flags != c.want || hostOf(h, c.lines) != c.host {
			t.Errorf("%q: %x, host %q, %v, want %x, %q", c.lines, h.Flags, hostOf(h, c.lines), err, c.want, c.host)
		}
	}
	var f Facts
	if f.Has(Close | HasHost) {
		t.Error("no flag is set, but one of two is")
	}
	if f.Flags = HasHost; !f.Has(Close | HasHost) {
		t.Error("one of two flags is set")
	}
}

// The fields of a trailer section have no effect on framing and connection (RFC 9110
// section 6.5.1).
func TestTrailersSayNothingOfTheConnection(t *testing.T) {
	h := new(Head)
	raw := "Connection: close\r\nContent-Length: x\r\nTransfer-Encoding: gzip\r\nHost: a\r\nExpect: y\r\n\r\n"
	n, err := h.ParseTrailers([]byte(raw), new(field.List))
	if n != len(raw) || err != nil || h.Flags != 0 {
		t.Errorf("%d, %v, %x", n, err, h.Flags)
	}
}

func TestAResetHeadKeepsItsSettingsOnly(t *testing.T) {
	h := &Head{KeepNames: true, Limits: Limits{Line: 100, Head: 200, Fields: 3}}
	raw := []byte("POST /x HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 7\r\n\r\n")
	if n, err := h.Parse(Request, raw, new(field.List)); n != len(raw) || err != nil {
		t.Fatal(n, err)
	}
	h.Reset()
	if want := (Head{KeepNames: true, Limits: Limits{Line: 100, Head: 200, Fields: 3}}); *h != want {
		t.Errorf("%+v", *h)
	}
}
