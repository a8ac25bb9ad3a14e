package http1

import (
	"fmt"
	"strings"
	"testing"
)

// words returns an Encoding in the form of the tables below.
func words(e Encoding) string {
	kind := [...]string{NoBody: "nothing", Length: fmt.Sprintf("%d bytes", e.Length), Chunks: "chunks", UntilClose: "until close"}[e.Kind]
	var says []string
	for _, s := range []struct {
		flag FramingFlags
		word string
	}{
		{SendLength, fmt.Sprintf("length %d", e.Length)}, {SendChunked, "chunked"}, {SendClose, "close"},
		{SendKeepAlive, "keep-alive"}, {OverridesKeepAlive, "alone"}, {LacksTrailers, "no trailers"}, {EndsConn, "ends"}, {OwnVersion, "HTTP/1.1"},
	} {
		if e.Flags.Has(s.flag) {
			says = append(says, s.word)
		}
	}
	return strings.TrimSpace(kind + ": " + strings.Join(says, ", "))
}

func TestEncodeSendsMessages(t *testing.T) {
	resp := func(status int, content ContentKind, size int, terms Terms) Outgoing {
		return Outgoing{Role: Response, Content: content, Size: size, Status: status, Terms: terms}
	}
	req := func(content ContentKind, size int, terms Terms) Outgoing {
		return Outgoing{Role: Request, Content: content, Size: size, Terms: terms}
	}
	for _, tc := range []struct {
		o    Outgoing
		want string
	}{
		{req(NoContent, 0, 0), "nothing:"},
		{req(NoContent, 0, HasTrailers), "nothing:"},
		{req(NoContent, 0, AsksClose), "nothing: close, ends"},
		{req(SizedContent, 0, 0), "0 bytes: length 0"},
		{req(SizedContent, 5, 0), "5 bytes: length 5"},
		{req(SizedContent, 5, LineIsOld|AsksClose), "5 bytes: length 5, close, no trailers, ends"},
		{req(SizedContent, 5, HasTrailers), "chunks: chunked"},
		{req(SizedContent, 5, HasTrailers|LineIsOld), "5 bytes: length 5, no trailers"},
		{req(UnsizedContent, 0, 0), "chunks: chunked"},
		{req(UnsizedContent, 0, LineIsOld), "chunks: chunked, HTTP/1.1"},
		{req(UnsizedContent, 0, LineIsOld|LineIsReceived), "chunks: chunked, HTTP/1.1"},
		{req(SizedContent, 5, LineIsOld|LineIsReceived|HasTrailers), "chunks: chunked, HTTP/1.1"},
		{req(SizedContent, 5, LineIsReceived), "5 bytes: length 5, HTTP/1.1"},

		{resp(200, SizedContent, 5, 0), "5 bytes: length 5"},
		{resp(200, SizedContent, 0, 0), "0 bytes: length 0"},
		{resp(404, SizedContent, 5, 0), "5 bytes: length 5"},
		{resp(200, SizedContent, 5, ConnEnds), "5 bytes: length 5, close, alone, ends"},
		{resp(200, SizedContent, 5, AsksClose), "5 bytes: length 5, close, alone, ends"},
		{resp(200, SizedContent, 5, PeerIsOld), "5 bytes: length 5, keep-alive, no trailers"},
		{resp(200, SizedContent, 5, PeerIsOld|ConnEnds), "5 bytes: length 5, close, alone, no trailers, ends"},
		{resp(200, SizedContent, 5, HasTrailers), "chunks: chunked"},
		{resp(200, SizedContent, 5, HasTrailers|PeerIsOld), "5 bytes: length 5, keep-alive, no trailers"},
		{resp(200, SizedContent, 5, HasTrailers|SkipsContent), "nothing: length 5"},
		{resp(200, UnsizedContent, 0, 0), "chunks: chunked"},
		{resp(200, UnsizedContent, 0, PeerIsOld), "until close: close, alone, no trailers, ends"},
		{resp(200, UnsizedContent, 0, LineIsOld), "until close: close, alone, no trailers, ends"},
		{resp(200, UnsizedContent, 0, LineIsOld|SkipsContent), "nothing: no trailers"},
		{resp(200, UnsizedContent, 0, LineIsOld|LineIsReceived), "chunks: chunked, HTTP/1.1"},
		{resp(200, UnsizedContent, 0, LineIsOld|LineIsReceived|PeerIsOld), "until close: close, alone, no trailers, ends, HTTP/1.1"},
		{resp(200, UnsizedContent, 0, SkipsContent), "nothing: chunked"},
		{resp(200, UnsizedContent, 0, SkipsContent|PeerIsOld), "nothing: keep-alive, no trailers"},
		{resp(200, NoContent, 0, SkipsContent), "nothing:"},
		{resp(200, OpenContent, 0, SkipsContent), "nothing:"},
		{resp(200, OpenContent, 0, 0), "until close: close, alone, ends"},
		{resp(200, SizedContent, 5, BeginsTunnel), "nothing:"},
		{resp(200, UnsizedContent, 0, BeginsTunnel|ConnEnds), "nothing: close, alone, ends"},
		{resp(101, NoContent, 0, ConnEnds), "nothing: ends"},
		{resp(101, NoContent, 0, AsksClose), "nothing: close, ends"},
		{resp(103, SizedContent, 5, ConnEnds), "nothing: close, alone, ends"},
		{resp(204, SizedContent, 5, HasTrailers), "nothing:"},
		{resp(205, SizedContent, 5, 0), "nothing: length 0"},
		{resp(205, UnsizedContent, 0, PeerIsOld), "nothing: length 0, keep-alive, no trailers"},
		{resp(205, SizedContent, 5, ByApplication), "5 bytes: length 5"},
		{resp(200, SizedContent, 5, ByApplication|AsksClose), "5 bytes: length 5, close, ends"},
		{resp(304, SizedContent, 5, 0), "nothing: length 5"},
		{resp(304, UnsizedContent, 0, 0), "nothing:"},
	} {
		if got := words(tc.o.Encode()); got != tc.want {
			t.Errorf("%+v: %s, want %s", tc.o, got, tc.want)
		}
	}
}

// The result follows the RFCs for every combination of message and connection.
func TestEncodeKeepsTheRules(t *testing.T) {
	statuses := []int{0, 100, 101, 103, 199, 200, 201, 204, 205, 206, 304, 404, 500}
	for _, role := range []Role{Request, Response} {
		for _, status := range statuses {
			if (role == Request) != (status == 0) {
				continue
			}
			for content := range contentKinds {
				for terms := Terms(0); terms <= allTerms; terms++ {
					if role == Request && !ofRequests(content, terms) {
						continue
					}
					for _, size := range []int{0, 7} {
						o := Outgoing{Role: role, Content: content, Terms: terms, Status: status, Size: size}
						if rule := brokenRule(o, o.Encode()); rule != "" {
							t.Fatalf("%+v is sent as %s, but %s", o, words(o.Encode()), rule)
						}
					}
				}
			}
		}
	}
}

// ofRequests reports whether a request can have this kind of content under these
// terms.
func ofRequests(content ContentKind, terms Terms) bool {
	return content != OpenContent && terms&(PeerIsOld|SkipsContent|BeginsTunnel|ByApplication) == 0
}

// brokenRule returns the rule that e breaks for o, or "".
func brokenRule(o Outgoing, e Encoding) string {
	follows := e.Kind != NoBody
	skips := o.Has(SkipsContent)
	old := o.Has(PeerIsOld)
	oldLine := o.Has(LineIsOld) && !e.Flags.Has(OwnVersion)
	ends := e.Flags.Has(EndsConn)
	final := o.Role == Request || o.Status >= 200
	noContent := o.Role == Response && (!final || o.Status == 204 || o.Status == 304 || o.Has(BeginsTunnel) || o.Status == 205 && !o.Has(ByApplication))
	for _, r := range []struct {
		broken bool
		rule   string
	}{
		{e.Flags.Has(SendLength) && e.Flags.Has(SendChunked), "RFC 9112 6.2: no Content-Length beside Transfer-Encoding"},
		{e.Kind == Length && !e.Flags.Has(SendLength), "RFC 9112 6.2: a recipient must find the length"},
		{e.Kind == Length && (e.Length != o.Size && o.Content == SizedContent || e.Length < 0), "RFC 9110 8.6: a length is that of the content"},
		{e.Kind == Chunks && !e.Flags.Has(SendChunked), "RFC 9112 6.1: chunks are announced"},
		{e.Kind == UntilClose && (e.Flags.Has(SendLength|SendChunked) || !ends || !e.Flags.Has(SendClose)), "RFC 9112 6.3: the end of the connection is the end of content without a length"},
		{e.Kind == UntilClose && o.Role == Request, "RFC 9112 6.3: a request cannot end with its connection"},
		{(old && o.Role == Response || oldLine) && e.Flags.Has(SendChunked), "RFC 9112 6.1: HTTP/1.0 has no transfer codings"},
		{o.Has(LineIsReceived) && !e.Flags.Has(OwnVersion), "RFC 9110 2.5: the version that is sent is that of the sender"},
		{(old || oldLine) && !e.Flags.Has(LacksTrailers), "RFC 9112 7.1.2: HTTP/1.0 has no trailers"},
		{noContent && follows, "RFC 9110 6.4.1: such a response has no content"},
		{skips && follows, "RFC 9110 9.3.2: the content is skipped"},
		{!noContent && !skips && !follows && o.Role == Response, "RFC 9112 6.3: other responses have content, be it empty"},
		{!skips && !follows && o.Role == Request && (o.Content == SizedContent || o.Content == UnsizedContent), "content is lost"},
		{o.Role == Response && (!final || o.Status == 204) && e.Flags.Has(SendLength|SendChunked), "RFC 9110 8.6, RFC 9112 6.1: 1xx and 204 have no framing"},
		{o.Role == Response && o.Has(BeginsTunnel) && e.Flags.Has(SendLength|SendChunked), "RFC 9110 9.3.6: a tunnel has no framing"},
		{o.Status == 304 && e.Flags.Has(SendChunked), "a 304 has no coding"},
		{(o.Has(AsksClose) || o.Has(ConnEnds)) != ends && e.Kind != UntilClose, "RFC 9112 9.6: the connection ends if one side wants that"},
		{e.Flags.Has(SendClose) != ends && o.Status != 101, "RFC 9112 9.6: a peer that ends a connection announces it"},
		{e.Flags.Has(SendClose) && e.Flags.Has(SendKeepAlive), "RFC 9112 9.3: a connection ends or goes on"},
		{o.Role == Response && old && !ends && !e.Flags.Has(SendKeepAlive), "RFC 9112 9.3: HTTP/1.0 closes without keep-alive"},
		{o.Role == Response && !old && e.Flags.Has(SendKeepAlive), "HTTP/1.1 needs no keep-alive"},
		{e.Flags.Has(OverridesKeepAlive) && !e.Flags.Has(SendClose), "keep-alive is only overridden by close"},
		{!e.Flags.Has(SendLength) && e.Length > 0, "a length that is known is said"},
		{e.Flags.Has(SendLength) && e.Length < 0, "a length is no marker"},
		{e.Flags.Has(SendChunked) && e.Length != UnsizedLength, "the length of chunks is not known"},
	} {
		if r.broken {
			return r.rule
		}
	}
	return ""
}

// Usual messages have a path of their own, with the same result.
func TestEncodeOfUsualMessages(t *testing.T) {
	for _, size := range []int{0, 1, 1 << 40} {
		for _, status := range []int{200, 201, 206, 301, 400, 404, 500, 599} {
			o := Outgoing{Role: Response, Content: SizedContent, Status: status, Size: size}
			if e := o.Encode(); e != Sized(size) {
				t.Errorf("%+v is sent as %s", o, words(e))
			}
		}
		if e := (Outgoing{Content: SizedContent, Size: size}).Encode(); e != Sized(size) {
			t.Errorf("a request with %d bytes is sent as %s", size, words(e))
		}
	}
	if e := (Outgoing{}).Encode(); e != (Encoding{}) {
		t.Errorf("a request without content is sent as %s", words(e))
	}
}

// The response to HEAD has the framing fields of the response to GET, or fewer, and
// never others (RFC 9110 section 9.3.2).
func TestEncodeAnswersHeadAsGet(t *testing.T) {
	for _, status := range []int{200, 204, 205, 304, 404} {
		for content := range contentKinds {
			for terms := Terms(0); terms <= allTerms; terms++ {
				if terms&(SkipsContent|HasTrailers) != 0 {
					continue
				}
				get := Outgoing{Role: Response, Content: content, Terms: terms, Status: status, Size: 7}
				head := get
				head.Terms |= SkipsContent
				g, h := get.Encode(), head.Encode()
				if framing := SendLength | SendChunked; h.Flags&framing&^g.Flags != 0 || h.Flags.Has(SendLength) && h.Length != g.Length {
					t.Errorf("%+v is sent as %s, and after HEAD as %s", get, words(g), words(h))
				}
			}
		}
	}
}

// Frame finds the end of every message that Encode frames.
func TestFrameUnderstandsEncode(t *testing.T) {
	for _, status := range []int{0, 200, 204, 205, 304, 404} {
		for content := range contentKinds {
			for terms := Terms(0); terms <= allTerms; terms++ {
				o := Outgoing{Role: Response, Content: content, Terms: terms, Status: status, Size: 7}
				if status == 0 {
					o.Role = Request
				}
				if o.Role == Request && !ofRequests(content, terms) || o.Has(BeginsTunnel) && status/100 != 2 {
					continue
				}
				e := o.Encode()
				h := Head{StartLine: StartLine{Status: status, Minor: 1}}
				if e.Flags.Has(SendLength) {
					h.Flags, h.ContentLength = HasLength, int64(e.Length)
				}
				if e.Flags.Has(SendChunked) {
					h.Flags = HasCoding | IsChunked
				}
				err := h.frame(o.Role)
				f := h.FrameResponse(Exchange{Head: o.Has(SkipsContent), Connect: o.Has(BeginsTunnel)})
				kind := f.Kind
				if kind == Length && f.Length == 0 && e.Kind == NoBody {
					kind = NoBody
				}
				if err != nil || kind != e.Kind {
					t.Fatalf("%+v is sent as %s, and understood as %+v, %v", o, words(e), f, err)
				}
			}
		}
	}
}
