package http1

import (
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/valyala/fasthttp/internal/field"
)

// frame parses and frames a head with the given start line and lines.
func frame(role Role, start, lines string, x Exchange) (Framing, *Head, error) {
	h, fields := new(Head), new(field.List)
	raw := start + "\r\n" + lines + "\r\n"
	n, err := h.Parse(role, []byte(raw), fields)
	if err != nil {
		return Framing{}, h, err
	}
	if n != len(raw) {
		return Framing{}, h, errors.New("the head is not complete")
	}
	if role == Request {
		return h.Framing, h, nil
	}
	return h.FrameResponse(x), h, nil
}

// TestFramingFollowsTheRFC checks RFC 9112 section 6.3 rule by rule. kf is the known
// failure that a row checks.
func TestFramingFollowsTheRFC(t *testing.T) {
	const (
		post   = "POST / HTTP/1.1"
		post10 = "POST / HTTP/1.0"
		ok     = "HTTP/1.1 200 OK"
		ok10   = "HTTP/1.0 200 OK"
		length = "Content-Length: 5\r\n"
		chunks = "Transfer-Encoding: chunked\r\n"
	)
	var (
		none     = Framing{}
		five     = Framing{Kind: Length, Length: 5}
		chunk    = Framing{Kind: Chunks}
		last     = Framing{Kind: Chunks, MustClose: true}
		loose    = Framing{Kind: Chunks, LooseChunks: true}
		lastOne  = Framing{Kind: Chunks, MustClose: true, LooseChunks: true}
		untilEnd = Framing{Kind: UntilClose, MustClose: true}
		head     = Exchange{Head: true}
		tunnel   = Exchange{Connect: true}
	)
	for _, c := range []struct {
		rule  string
		kf    string
		role  Role
		start string
		lines string
		x     Exchange
		want  Framing
		err   error
	}{
		// rule 1: HEAD, 1xx, 204 and 304 end with their head whatever the fields say
		{"1", "36", Response, ok, chunks, head, none, nil},
		{"1", "36", Response, ok, length, head, none, nil},
		{"1", "36", Response, ok, "", head, none, nil},
		{"1", "36", Response, ok10, "", head, none, nil},
		{"1", "36", Response, "HTTP/1.1 500 Oops", length + chunks, head, none, nil},
		{"1", "36", Response, "HTTP/1.1 100 Continue", chunks, Exchange{}, none, nil},
		{"1", "36", Response, "HTTP/1.1 101 Switching Protocols", "", Exchange{}, none, nil},
		{"1", "36", Response, "HTTP/1.1 103 Early Hints", length, Exchange{}, none, nil},
		{"1", "36", Response, "HTTP/1.1 199 x", length, Exchange{}, none, nil},
		{"1", "36", Response, "HTTP/1.1 204 No Content", length, Exchange{}, none, nil},
		{"1", "36", Response, "HTTP/1.1 204 No Content", chunks, Exchange{}, none, nil},
		{"1", "36", Response, "HTTP/1.1 204 No Content", "", Exchange{}, none, nil},
		{"1", "36", Response, "HTTP/1.1 304 Not Modified", length, Exchange{}, none, nil},
		{"1", "36", Response, "HTTP/1.1 304 Not Modified", "Transfer-Encoding: gzip\r\n", Exchange{}, none, nil},
		// responses with any other status have content
		{"1", "", Response, "HTTP/1.1 200 OK", length, Exchange{}, five, nil},
		{"1", "", Response, "HTTP/1.1 203 x", length, Exchange{}, five, nil},
		{"1", "", Response, "HTTP/1.1 205 Reset Content", length, Exchange{}, five, nil},
		{"1", "", Response, "HTTP/1.1 303 See Other", length, Exchange{}, five, nil},
		{"1", "", Response, "HTTP/1.1 404 Not Found", length, Exchange{}, five, nil},
		{"1", "", Response, "HTTP/1.1 999 x", length, Exchange{}, five, nil},
		// a request's own method does not matter
		{"1", "", Request, "HEAD / HTTP/1.1", length, Exchange{}, five, nil},

		// rule 2: a 2xx answer to CONNECT begins a tunnel
		{"2", "", Response, ok, length, tunnel, none, nil},
		{"2", "", Response, "HTTP/1.1 299 x", chunks, tunnel, none, nil},
		{"2", "", Response, "HTTP/1.1 407 Proxy Authentication Required", length, tunnel, five, nil},
		{"2", "", Response, "HTTP/1.1 302 Found", "", tunnel, untilEnd, nil},

		// rule 3: Transfer-Encoding overrides Content-Length, and the connection ends
		{"3", "10", Request, post, length + chunks, Exchange{}, last, nil},
		{"3", "10", Request, post, chunks + length, Exchange{}, last, nil},
		{"3", "10", Response, ok, length + chunks, Exchange{}, lastOne, nil},
		{"3", "10", Response, ok, chunks + length, Exchange{}, lastOne, nil},
		{"3", "10", Request, post, chunks + "Content-Length: five\r\n", Exchange{}, none, ErrContentLength},

		// rule 4: chunked is the last coding, and the only one
		{"4", "", Request, post, chunks, Exchange{}, chunk, nil},
		{"4", "", Request, post, "TRANSFER-ENCODING:\tChUnKeD \t\r\n", Exchange{}, chunk, nil},
		{"4", "9", Request, post, "Transfer-Encoding: chunked,\r\n", Exchange{}, none, ErrTransferEncoding},
		{"4", "", Response, ok, "Transfer-Encoding: , chunked,\r\n", Exchange{}, loose, nil},
		{"4", "", Response, ok, chunks, Exchange{}, loose, nil},
		{"4", "9", Request, post, "Transfer-Encoding: identity\r\n", Exchange{}, none, ErrUnsupportedCoding},
		{"4", "9", Request, post, "Transfer-Encoding: gzip\r\n", Exchange{}, none, ErrUnsupportedCoding},
		{"4", "9", Request, post, "Transfer-Encoding: gzip, chunked\r\n", Exchange{}, none, ErrUnsupportedCoding},
		{"4", "9", Request, post, "Transfer-Encoding: identity, chunked\r\n", Exchange{}, none, ErrUnsupportedCoding},
		{"4", "9", Request, post, "Transfer-Encoding: gzip\r\n" + chunks, Exchange{}, none, ErrUnsupportedCoding},
		{"4", "9", Request, post, length + "Transfer-Encoding: gzip\r\n", Exchange{}, none, ErrUnsupportedCoding},
		{"4", "9", Request, post, "Transfer-Encoding: xchunked\r\n", Exchange{}, none, ErrUnsupportedCoding},
		{"4", "9", Request, post, chunks + "Transfer-Encoding: gzip\r\n", Exchange{}, none, ErrTransferEncoding},
		{"4", "9", Request, post, chunks + "Transfer-Encoding: identity\r\n", Exchange{}, none, ErrTransferEncoding},
		{"4", "9", Request, post, chunks + chunks, Exchange{}, none, ErrTransferEncoding},
		{"4", "9", Request, post, "Transfer-Encoding: chunked, identity\r\n", Exchange{}, none, ErrTransferEncoding},
		{"4", "9", Request, post, "Transfer-Encoding: \r\n", Exchange{}, none, ErrTransferEncoding},
		{"4", "9", Response, ok, "Transfer-Encoding: gzip, chunked\r\n", Exchange{}, none, ErrUnsupportedCoding},
		{"4", "9", Response, ok, "Transfer-Encoding: chunked, gzip\r\n", Exchange{}, none, ErrTransferEncoding},
		{"4", "9", Response, ok, "Transfer-Encoding: gzip\r\n", Exchange{}, none, ErrUnsupportedCoding},
		// a response with a coding that changes nothing lasts until the end of the
		// connection, as the rule says
		{"4", "", Response, ok, "Transfer-Encoding: identity\r\n", Exchange{}, untilEnd, nil},
		{"4", "", Response, ok, length + "Transfer-Encoding: Identity, identity\r\n", Exchange{}, untilEnd, nil},
		// a response with another coding is refused
		{"4", "", Response, ok, "Transfer-Encoding: identity, gzip\r\n", Exchange{}, none, ErrUnsupportedCoding},
		{"4", "", Response, ok, "Transfer-Encoding: gzip, identity\r\n", Exchange{}, none, ErrUnsupportedCoding},
		{"4", "", Response, ok, "Transfer-Encoding: identity\r\nTransfer-Encoding: gzip\r\n", Exchange{}, none, ErrUnsupportedCoding},
		// section 6.1: HTTP/1.0 has no transfer codings
		{"6.1", "9", Request, post10, chunks, Exchange{}, none, ErrCodingInHTTP10},
		{"6.1", "9", Request, post10, length + chunks, Exchange{}, none, ErrCodingInHTTP10},
		{"6.1", "9", Request, post10, "Transfer-Encoding: gzip\r\n", Exchange{}, none, ErrCodingInHTTP10},
		{"6.1", "", Response, ok10, chunks, Exchange{}, lastOne, nil},

		// rule 5: an invalid Content-Length is an unrecoverable error
		{"5", "11", Request, post, "Content-Length: 21000000000000000000\r\n", Exchange{}, none, ErrContentLength},
		{"5", "11", Request, post, "Content-Length: 9223372036854775808\r\n", Exchange{}, none, ErrContentLength},
		{"5", "11", Request, post, "Content-Length: 18446744073709551621\r\n", Exchange{}, none, ErrContentLength},
		{"5", "11", Request, post, "Content-Length: +1\r\n", Exchange{}, none, ErrContentLength},
		{"5", "11", Request, post, "Content-Length: -1\r\n", Exchange{}, none, ErrContentLength},
		{"5", "11", Request, post, "Content-Length: 0x1\r\n", Exchange{}, none, ErrContentLength},
		{"5", "11", Request, post, "Content-Length: 1_0\r\n", Exchange{}, none, ErrContentLength},
		{"5", "11", Request, post, "Content-Length: 1,1\r\n", Exchange{}, none, ErrContentLength},
		{"5", "11", Request, post, "Content-Length: 5, 5\r\n", Exchange{}, none, ErrContentLength},
		{"5", "11", Request, post, "Content-Length: 5 5\r\n", Exchange{}, none, ErrContentLength},
		{"5", "11", Request, post, "Content-Length: 5.0\r\n", Exchange{}, none, ErrContentLength},
		{"5", "11", Request, post, "Content-Length: \"5\"\r\n", Exchange{}, none, ErrContentLength},
		{"5", "11", Request, post, "Content-Length:\r\n", Exchange{}, none, ErrContentLength},
		{"5", "11", Request, post, length + "Content-Length: 6\r\n", Exchange{}, none, ErrDuplicateContentLength},
		{"5", "11", Request, post, length + length, Exchange{}, none, ErrDuplicateContentLength},
		{"5", "11", Request, post, length + "A: b\r\ncontent-LENGTH: 5\r\n", Exchange{}, none, ErrDuplicateContentLength},
		{"5", "11", Response, ok, "Content-Length: 1,1\r\n", Exchange{}, none, ErrContentLength},
		{"5", "11", Response, ok, length + length, Exchange{}, five, nil},
		{"5", "11", Response, ok, length + "A: b\r\ncontent-LENGTH: 5\r\n" + length, Exchange{}, five, nil},
		{"5", "11", Response, ok, length + "Content-Length: 6\r\n", Exchange{}, none, ErrDuplicateContentLength},
		{"5", "11", Response, ok, length + "Content-Length: x\r\n", Exchange{}, none, ErrContentLength},
		{"5", "11", Response, ok, length + length + "Content-Length: 4\r\n", Exchange{}, none, ErrDuplicateContentLength},
		{"5", "11", Response, ok, "Content-Length: 21000000000000000000\r\n", head, none, ErrContentLength},

		// rule 6: a valid Content-Length
		{"6", "", Request, post, length, Exchange{}, five, nil},
		{"6", "", Request, post10, length, Exchange{}, five, nil},
		{"6", "", Request, "GET / HTTP/1.1", length, Exchange{}, five, nil},
		{"6", "", Request, post, "Content-Length: \t5 \t\r\n", Exchange{}, five, nil},
		{"6", "", Request, post, "Content-Length: 0005\r\n", Exchange{}, five, nil},
		{"6", "", Request, post, "Content-Length: 0\r\n", Exchange{}, Framing{Kind: Length}, nil},
		{"6", "", Request, post, "Content-Length: " + strconv.Itoa(math.MaxInt) + "\r\n", Exchange{}, Framing{Kind: Length, Length: math.MaxInt}, nil},
		{"6", "", Response, ok, length, Exchange{}, five, nil},
		{"6", "", Response, ok10, length, Exchange{}, five, nil},

		// rule 7: a request without either has no content
		{"7", "", Request, post, "", Exchange{}, none, nil},
		{"7", "", Request, post10, "Connection: close\r\n", Exchange{}, none, nil},
		{"7", "", Request, "GET / HTTP/1.1", "Content-Type: text/plain\r\n", Exchange{}, none, nil},

		// rule 8: a response without either lasts until the connection ends
		{"8", "", Response, ok, "", Exchange{}, untilEnd, nil},
		{"8", "", Response, ok10, "Connection: keep-alive\r\n", Exchange{}, untilEnd, nil},
		{"8", "", Response, "HTTP/1.1 404 Not Found", "Content-Type: text/plain\r\n", Exchange{}, untilEnd, nil},
	} {
		got, _, err := frame(c.role, c.start, c.lines, c.x)
		if !errors.Is(err, c.err) || c.err == nil && err != nil || got != c.want {
			t.Errorf("rule %s (known failure %q): %q %q %+v: %+v, %v; want %+v, %v",
				c.rule, c.kf, c.start, c.lines, c.x, got, err, c.want, c.err)
		}
	}
}

func TestFramingErrorsHaveTheirStatus(t *testing.T) {
	for lines, want := range map[string]int{
		"Content-Length: 1,1\r\n":                    400,
		"Content-Length: 1\r\nContent-Length: 1\r\n": 400,
		"Transfer-Encoding: chunked, chunked\r\n":    400,
		"Transfer-Encoding: chunked, gzip\r\n":       400,
		"Transfer-Encoding: gzip\r\n":                501,
		"Transfer-Encoding: gzip, chunked\r\n":       501,
		"Transfer-Encoding: identity\r\n":            501,
	} {
		_, _, err := frame(Request, "POST / HTTP/1.1", lines, Exchange{})
		if got := StatusOf(err); err == nil || got != want {
			t.Errorf("%q: %d (%v), want %d", lines, got, err, want)
		}
	}
	if got := StatusOf(errors.New("something else")); got != 400 {
		t.Errorf("%d for an error of another kind", got)
	}
}

// TestPersistenceFollowsTheRFC checks RFC 9112 section 9.3. Known failure 5 concerns lists
// in Connection.
func TestPersistenceFollowsTheRFC(t *testing.T) {
	for _, c := range []struct {
		version string
		lines   string
		want    bool
	}{
		{"1.1", "", true},
		{"1.7", "", true},
		{"1.0", "", false},
		{"1.1", "Connection: close\r\n", false},
		{"1.1", "Connection: Close\r\n", false},
		{"1.1", "Connection: foo, CLOSE , bar\r\n", false},
		{"1.1", "Connection: foo\r\nConnection: close\r\n", false},
		{"1.1", "Connection: close\r\nConnection: keep-alive\r\n", false},
		{"1.1", "Connection: keep-alive, close\r\n", false},
		{"1.1", "Connection: closed\r\n", true},
		{"1.1", "Connection: foo\r\n", true},
		{"1.1", "Connection:\r\n", true},
		{"1.0", "Connection: keep-alive\r\n", true},
		{"1.0", "Connection: foo,Keep-Alive\r\n", true},
		{"1.0", "Connection: foo\r\nConnection: KEEP-ALIVE\r\n", true},
		{"1.0", "Connection: keep-alive, close\r\n", false},
		{"1.0", "Connection: foo\r\n", false},
		{"1.0", "Proxy-Connection: keep-alive\r\n", false},
		{"1.1", "Proxy-Connection: close\r\n", true},
	} {
		for role, start := range map[Role]string{Request: "GET / HTTP/" + c.version, Response: "HTTP/" + c.version + " 200 OK"} {
			_, h, err := frame(role, start, c.lines, Exchange{})
			if err != nil || h.KeepsAlive() != c.want {
				t.Errorf("HTTP/%s %q: %v, %v, want %v", c.version, c.lines, h.KeepsAlive(), err, c.want)
			}
		}
	}
}

func TestDecidingTheFramingDoesNotAllocate(t *testing.T) {
	_, h, err := frame(Request, "POST / HTTP/1.1", "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", Exchange{})
	if err != nil {
		t.Fatal(err)
	}
	_, bad, err := frame(Request, "POST / HTTP/1.1", "Transfer-Encoding: gzip\r\n", Exchange{})
	if err == nil {
		t.Fatal("an unknown coding was accepted")
	}
	allocs := testing.AllocsPerRun(100, func() {
		if err := h.frame(Request); h.Framing.Kind != Chunks || err != nil {
			t.Error(h.Framing, err)
		}
		if err := bad.frame(Request); err == nil {
			t.Error("no error")
		}
	})
	if allocs != 0 {
		t.Errorf("%v allocations", allocs)
	}
}

// naiveFraming frames a head from its lines as text, without the parser of the
// package. It returns "?" if it does not decide.
func naiveFraming(role Role, minor, status int, lines []string, x Exchange) string {
	var lengths, codings []string
	for _, line := range lines {
		name, value, _ := strings.Cut(line, ":")
		value = strings.Trim(value, " \t")
		if role == Response {
			name = strings.TrimRight(name, " \t") // RFC 9112 section 5.1
		}
		switch strings.ToLower(name) {
		case "content-length":
			lengths = append(lengths, value)
		case "transfer-encoding":
			if strings.Contains(value, `"`) {
				return "?"
			}
			for coding := range strings.SplitSeq(value, ",") {
				if coding = strings.ToLower(strings.Trim(coding, " \t")); coding != "" {
					codings = append(codings, coding)
				} else if role == Request {
					return "error"
				}
			}
			if len(codings) == 0 {
				return "error"
			}
		}
	}
	if slices.ContainsFunc(lengths, func(n string) bool { return n == "" || strings.Trim(n, "0123456789") != "" }) {
		return "error"
	}
	if role == Response {
		// a length may be repeated in a response
		lengths = slices.CompactFunc(lengths, func(a, b string) bool { return strings.TrimLeft(a, "0") == strings.TrimLeft(b, "0") })
	}
	if len(lengths) > 1 {
		return "error"
	}
	chunked := len(codings) > 0 && codings[len(codings)-1] == "chunked"
	switch {
	case len(lengths) == 1 && len(strings.TrimLeft(lengths[0], "0")) > 18:
		return "?"
	case len(codings) > 1 || len(codings) == 1 && !chunked:
		return "?"
	case role == Response && (x.Head || status < 200 && status > 99 || status == 204 || status == 304 || x.Connect && status/100 == 2):
		return "none"
	case chunked && role == Request && minor == 0:
		return "error"
	case chunked && (len(lengths) > 0 || minor == 0):
		return "chunks, close"
	case chunked:
		return "chunks"
	case len(lengths) > 0:
		return "length " + strings.TrimLeft(lengths[0], "0")
	case role == Request:
		return "none"
	}
	return "until close"
}

// FuzzFrame compares the framing of heads with naiveFraming, and checks the
// properties of every framing.
func FuzzFrame(f *testing.F) {
	f.Add(uint8(0), uint16(200), "Content-Length: 5\r\nTransfer-Encoding: chunked")
	f.Add(uint8(1), uint16(200), "Transfer-Encoding: ,chunked\t,")
	f.Add(uint8(42), uint16(200), "TrAnsfer-EnCoding:,Chunked")
	f.Add(uint8(2), uint16(304), "content-length: 007")
	f.Add(uint8(2), uint16(399), "Content-Length:5\r\nContent-Length:5\r\n")
	f.Add(uint8(0), uint16(399), "Content-Length:5\r\nContent-Length:5\r\n")
	f.Add(uint8(2), uint16(200), "Content-Length:5\r\nContent-Length:6\r\n")
	f.Add(uint8(5), uint16(101), "Transfer-Encoding: gzip;q=\",\", chunked\r\nConnection: close, x")
	f.Add(uint8(0x85), uint16(227), "Content-Length :")
	f.Add(uint8(8), uint16(299), "Content-Length: 5\r\nContent-Length: 5")
	f.Add(uint8(14), uint16(209), "Content-Length:0")
	f.Fuzz(func(t *testing.T, how uint8, code uint16, text string) {
		role, minor := Role(how&1), int(how>>1&1)
		x := Exchange{Head: how&4 != 0, Connect: how&8 != 0}
		status := int(code)%900 + 100
		version := "HTTP/1." + strconv.Itoa(minor)
		start := "POST / " + version
		if role == Response {
			start = version + " " + strconv.Itoa(status) + " x"
		}
		if role == Response && (strings.Contains(text, "\n ") || strings.Contains(text, "\n\t") || strings.Contains(strings.ReplaceAll(text, "\r\n", ""), "\n")) {
			return // folds and lone LFs make the lines differ from the text
		}
		if text != "" {
			text += "\r\n"
		}
		got, h, err := frame(role, start, text, x)
		if err != nil && got != (Framing{}) {
			t.Fatalf("%q: both %+v and %v", text, got, err)
		}
		if got.Length < 0 || got.Kind != Length && got.Length != 0 || got.Kind == UntilClose && (role == Request || !got.MustClose) {
			t.Fatalf("%q: %+v", text, got)
		}
		said := "error"
		switch {
		case err != nil:
			if errors.Is(err, ErrFieldName) || errors.Is(err, ErrFieldValue) || errors.Is(err, ErrLineEnd) || errors.Is(err, ErrFold) ||
				errors.Is(err, ErrLongHead) || errors.Is(err, ErrManyFields) || strings.Contains(text, "\r\n\r\n") || strings.HasPrefix(text, "\r\n") {
				return // not a well-formed head
			}
		case got.Kind == Chunks && got.MustClose:
			said = "chunks, close"
		case got.Kind == Chunks:
			said = "chunks"
		case got.Kind == Length:
			said = "length " + strings.TrimLeft(strconv.FormatInt(got.Length, 10), "0")
		case got.Kind == NoBody:
			said = "none"
		case got.Kind == UntilClose:
			said = "until close"
		}
		lines := strings.Split(strings.TrimSuffix(text, "\r\n"), "\r\n")
		if want := naiveFraming(role, h.Minor, h.Status, lines, x); want != "?" && said != want {
			t.Fatalf("%s %q: %s (%v), want %s", start, text, said, err, want)
		}
	})
}
