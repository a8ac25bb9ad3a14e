package http1

import (
	"bufio"
	"bytes"
	"errors"
	"net/textproto"
	"slices"
	"strings"
	"testing"

	"github.com/valyala/fasthttp/internal/field"
)

// readTrailers parses raw as a trailer section: whole if step is 0, else with step
// more bytes at each call.
func readTrailers(raw string, step int) (n int, fields *field.List, err error) {
	h := &Head{Limits: Limits{Head: MaxTrailers, Fields: MaxTrailerFields}}
	b := []byte(raw)
	fields = &field.List{Block: b}
	size := len(b)
	if step > 0 {
		size = min(step, len(b))
	}
	for {
		n, err = h.ParseTrailers(b[:size:size], fields)
		if n > 0 || err != nil || size == len(b) {
			return n, fields, err
		}
		size = min(size+step, len(b))
	}
}

// A trailer section is parsed as strictly as the fields of a request, in both roles
// (known failures 4, 12, 13 and 16).
func TestTrailerSectionsAreReadStrictly(t *testing.T) {
	lines := func(n int) string { return strings.Repeat("A: b\r\n", n) + "\r\n" }
	long := func(n int) string { return "A: " + strings.Repeat("b", n-len("A: \r\n\r\n")) + "\r\n\r\n" }
	for _, c := range []struct {
		raw string
		err error
	}{
		{"\r\n", nil},
		{"A: b\r\n\r\n", nil},
		{"A:\r\nB: \t\r\n\r\n", nil},
		{"Content-Length: x\r\nTransfer-Encoding: \r\nHost: \xff\r\n\r\n", nil},
		{lines(MaxTrailerFields), nil},
		{lines(MaxTrailerFields + 1), ErrManyTrailers},
		{long(MaxTrailers), nil},
		{long(MaxTrailers + 1), ErrLongTrailers},
		{long(MaxTrailers + 1)[:MaxTrailers+1], ErrLongTrailers},
		{strings.Repeat("a", MaxTrailers+1), ErrLongTrailers},
		{"\n", ErrLineEnd},
		{"\r\r\n", ErrLineEnd},
		{"A: b\n\r\n", ErrLineEnd},
		{"A: b\r\n\n", ErrLineEnd},
		{"A: b\rc\r\n\r\n", ErrLineEnd},
		{"A: b\r\n c\r\n\r\n", ErrFold},
		{"\tA: b\r\n\r\n", ErrFold},
		{"A : b\r\n\r\n", ErrFieldName},
		{": b\r\n\r\n", ErrFieldName},
		{"A\r\n\r\n", ErrFieldName},
		{"A\x00: b\r\n\r\n", ErrFieldName},
		{"A: \x00\r\n\r\n", ErrFieldValue},
		{"A: \x7f\r\n\r\n", ErrFieldValue},
		{"0\r\n\r\n", ErrFieldName},
	} {
		for _, step := range []int{0, 1, 2, 3, 64, 1000} {
			n, _, err := readTrailers(c.raw, step)
			if !errors.Is(err, c.err) || c.err == nil && (err != nil || n != len(c.raw)) {
				t.Errorf("%.40q in pieces of %d: %d, %v, want %v", c.raw, step, n, err, c.err)
			}
			if c.err != nil && StatusOf(err) != 400 {
				t.Errorf("%.40q: status %d", c.raw, StatusOf(err))
			}
		}
	}
}

// FuzzTrailers parses a section whole and in pieces, which must give the same result, and
// compares accepted sections with the standard library.
func FuzzTrailers(f *testing.F) {
	f.Add([]byte("\r\nGET"), uint8(0))
	f.Add([]byte("A: b\r\na:  c \r\nX-y:\r\n\r\n"), uint8(1))
	f.Add([]byte("A: b\r\n c\r\n\r\n"), uint8(2))
	f.Add([]byte("Expires: \xff\t\xfe\r\nEtag: \"x\"\r\n\r\n\r\n"), uint8(6))
	f.Fuzz(func(t *testing.T, raw []byte, step uint8) {
		n, fields, err := readTrailers(string(raw), 0)
		n2, fields2, err2 := readTrailers(string(raw), int(step)+1)
		if n2 != n || (err2 == nil) != (err == nil) {
			t.Fatalf("%q: whole: %d, %v; in pieces: %d, %v", raw, n, err, n2, err2)
		}
		if err != nil {
			if n != 0 {
				t.Fatalf("%q: both %d and %v", raw, n, err)
			}
			return
		}
		if n > MaxTrailers || n > len(raw) || len(fields.Entries) > MaxTrailerFields {
			t.Fatalf("%q: %d bytes, %d fields", raw, n, len(fields.Entries))
		}
		if !slices.Equal(fields.Entries, fields2.Entries) || !bytes.Equal(fields.Block, fields2.Block) {
			t.Fatalf("%q: whole: %v\nin pieces: %v", raw, fields.Entries, fields2.Entries)
		}
		if n == 0 {
			return
		}
		std, err := textproto.NewReader(bufio.NewReader(bytes.NewReader(raw[:n]))).ReadMIMEHeader()
		if err != nil {
			t.Fatalf("%q is accepted, but not by the standard library: %v", raw[:n], err)
		}
		ours := textproto.MIMEHeader{}
		for i := range fields.Entries {
			name := textproto.CanonicalMIMEHeaderKey(string(fields.Name(i)))
			ours[name] = append(ours[name], string(fields.Value(i)))
		}
		if len(ours) != len(std) {
			t.Fatalf("%q: %q, the standard library: %q", raw[:n], ours, std)
		}
		for name, values := range ours {
			if !slices.Equal(values, std[name]) {
				t.Fatalf("%q: %s: %q, the standard library: %q", raw[:n], name, values, std[name])
			}
		}
	})
}

// Proxies are known to pass the address of a client in fields with these names.
func TestAddressesOfClientsAreBarredAsTrailers(t *testing.T) {
	for _, name := range []string{
		"X-Originating-IP", "WL-Proxy-Client-IP", "WL-Proxy-SSL", "X-ProxyUser-Ip", "X-True-Client-IP", "Fly-Client-IP", "DO-Connecting-IP",
		"X-Cluster-Client-IP", "True-Client-IP", "CF-Connecting-IP", "Fastly-Client-IP", "X-Client-IP", "X-Remote-Addr", "X-Remote-User",
		"Remote-User", "X-SSL-Client-Cert", "X-Original-URL", "X-Rewrite-URL", "x_originating_ip",
	} {
		if !IsBarredTrailer([]byte(name)) {
			t.Errorf("%s is taken as a trailer", name)
		}
	}
}

func TestTrailersAreAnnouncedAndCome(t *testing.T) {
	var l Trailers
	put := func(name, value string, flags field.Flag) {
		l.Put(field.Lookup([]byte(name)), []byte(name), []byte(value), flags, false)
	}
	at := func(name string) (field.ID, []byte) { return field.Lookup([]byte(name)), []byte(name) }
	put("x-own", "", 0)
	put("x-hint", "", field.ByPeer)
	put("X-CAME", "a\r\nb", field.InTrailers)
	put("x-own", "c", field.InTrailers)
	if got := string(l.AppendNames([]byte("<"))); got != "<X-Own, X-Hint" {
		t.Errorf("announced: %q", got)
	}
	names := ""
	for name := range l.EachName {
		names += string(name) + " "
	}
	if i := l.FindField(field.Unknown, []byte("x-came"), 0); names != "X-Own X-Hint X-Came " || string(l.Value(i)) != "a  b" {
		t.Errorf("all names: %q, value %q", names, l.Value(i))
	}
	for name, want := range map[string][2]bool{"X-OWN": {true, true}, "x-hint": {true, false}, "x-came": {false, false}} {
		if got := [2]bool{l.Announced(at(name)) >= 0, l.Sends(at(name))}; got != want {
			t.Errorf("%s: announced and sent: %t, want %t", name, got, want)
		}
	}
	if id, name := at("x-hint"); !l.Reannounce(id, name, 0) || !l.Sends(id, name) || l.Reannounce(field.Unknown, []byte("other"), 0) {
		t.Error("a name that is announced again keeps its old meaning")
	}
	id, name := at("X-Own")
	if l.RemoveFields(id, name, false); l.FindField(id, name, 0) >= 0 || l.Announced(id, name) < 0 {
		t.Error("a field was removed with its name, or not at all")
	}
	if l.RemoveNames(); l.HasNames() || !l.HasOwn() || l.Len() != 1 {
		t.Errorf("%d entries are left", l.Len())
	}
	for i := range MaxTrailerNames {
		if name := []byte{'x', byte('0' + i)}; l.IsFullFor(field.Unknown, name) {
			t.Fatalf("full for name %d", i)
		} else {
			l.Put(field.Unknown, name, nil, field.ByPeer, true)
		}
	}
	if !l.IsFullFor(field.Unknown, []byte("y")) || l.IsFullFor(field.Unknown, []byte("x0")) {
		t.Error("another name than one too many is one")
	}
}
