package http1

import (
	"encoding/binary"

	"github.com/valyala/fasthttp/internal/ascii"
	"github.com/valyala/fasthttp/internal/field"
)

// Limits limits the size of a head. A zero field means its default.
type Limits struct {
	Line   int // bytes of a request line without its CRLF
	Head   int // bytes of the whole head
	Fields int // field lines
}

// The defaults: browsers and proxies stay well below them. A peer that sends more is faulty
// or malicious.
const (
	DefaultMaxLine   = 16 << 10
	DefaultMaxHead   = 64 << 10
	DefaultMaxFields = 500
)

// fill replaces missing limits by their defaults.
func (l *Limits) fill() {
	if l.Line <= 0 {
		l.Line = DefaultMaxLine
	}
	if l.Head <= 0 {
		l.Head = DefaultMaxHead
	}
	if l.Fields <= 0 {
		l.Fields = DefaultMaxFields
	}
}

// Role is the side that wrote a message.
type Role uint8

const (
	Request  Role = iota // a client wrote it
	Response             // a server wrote it
	// trailers is the role of a trailer section. Its fields have no effect on
	// framing and connection (RFC 9110 section 6.5.1).
	trailers
)

// Head parses a start line and the fields after it, and records the positions of their
// parts. Spans count from the first byte of the head; a Head does not store text.
//
// It normalises names in place, in the bytes that it parses, unless KeepNames is set. The
// caller resets a Head before each message. It may then call a parser any number of times,
// each time with more bytes of the same head.
type Head struct {
	Facts
	StartLine
	Framing   Framing // of the content of the message, once its head is complete
	KeepNames bool    // leave names unchanged
	KeepAll   bool    // index fields that have a slot or an effect of their own, too
	Spaces    bool    // accept names with spaces in trailers, as in responses
	Connect   bool    // the response is that to CONNECT: a 2xx begins a tunnel
	Limits    Limits  // of this head

	next int // start of the first line that was not parsed yet
	// seen is the position up to which that line was examined. The bytes before it are a
	// part of a name or, if inValue is set, of a value. So a line of 64 KiB that arrives
	// byte by byte is not read from its beginning for every byte.
	seen    int
	inValue bool
}

// StartLine holds the parts of the first line of a head.
type StartLine struct {
	Method, Target field.Span // of a request
	Reason         field.Span // of a response
	Status         int        // of a response
	Minor          int        // of HTTP/1.x: 0 or 1; a higher one counts as 1
	Version        field.Span // "HTTP/1.1", as received
	Fields         int        // position of the first field line, or of the empty line
	MethodID       MethodID   // of a request
}

// Facts holds the declarations of a head's fields about its framing and its connection. The
// parser collects them in the same pass in which it reads the fields.
type Facts struct {
	ContentLength int64                // valid if HasLength is set
	Slots         [NumSlots]field.Span // positions of values
	Lines         int                  // the number of field lines
	Flags         Flags                // the facts found
}

// Flags is a set of facts.
type Flags uint16

const (
	HasLength     Flags = 1 << iota // Content-Length
	HasCoding                       // any Transfer-Encoding
	IsChunked                       // chunked is the last transfer coding
	OtherCoding                     // a transfer coding other than chunked
	Identity                        // every other coding is the old "identity"
	Close                           // Connection: close
	KeepAlive                       // Connection: keep-alive
	Upgrade                         // Connection: upgrade
	Expect100                       // Expect: 100-continue
	ExpectOther                     // Expect: anything else
	HasHost                         // one Host field
	ManyHosts                       // more than one
	HasTrailer                      // Trailer
	HasCookie                       // Cookie, or Set-Cookie in a response
	ManyEncodings                   // in a response: Content-Encoding lines after that of the slot, which are in the list
)

// Expects is the set of the flags of an Expect field.
const Expects = Expect100 | ExpectOther

// Has reports whether any of the flags in set is set.
func (f *Facts) Has(set Flags) bool { return f.Flags&set != 0 }

// Slots of a Head: the values that nearly every message has, each of them once.
const (
	SlotContentType = iota
	SlotHost        // of a request
	SlotUserAgent   // of a request
	NumSlots

	SlotServer          = SlotHost      // of a response
	SlotContentEncoding = SlotUserAgent // of a response
)

// MethodID identifies a method that affects framing or connection, or that nearly all
// requests have.
type MethodID uint8

const (
	MethodOther   MethodID = iota // any other method
	MethodGet                     // GET
	MethodHead                    // HEAD
	MethodConnect                 // CONNECT
)

// Reset clears all state of the message. The settings stay.
func (h *Head) Reset() {
	h.Facts = Facts{}
	h.StartLine = StartLine{}
	h.Framing = Framing{}
	h.next, h.seen, h.inValue = 0, 0, false
}

// KeepsAlive reports whether the sender of this head keeps the connection open after
// the message (RFC 9112 section 9.3).
func (h *Head) KeepsAlive() bool {
	if h.Has(Close) {
		return false
	}
	return h.Minor > 0 || h.Has(KeepAlive)
}

// Parse reads the head of a message from b, which begins with its first byte. It adds an
// entry to fields for every field line without a slot. It returns the length of the head,
// or 0 if b does not contain all of it. If the head is well-formed but the framing of the
// content is not, it returns the length and the error of the framing.
func (h *Head) Parse(role Role, b []byte, fields *field.List) (n int, err error) {
	h.Limits.fill()
	if h.next == 0 {
		if role == Request {
			n, err = h.requestLine(b)
		} else {
			n, err = h.statusLine(b)
		}
		if n == 0 || err != nil || role == Request && n-len("\r\n") > h.Limits.Line {
			return 0, h.startLineError(role, b, n, err)
		}
		h.next, h.Fields = n, n
	}
	n, err = h.parseFields(role, b, fields)
	switch {
	case err != nil:
		return 0, err
	case examined(b, n) > h.Limits.Head:
		return 0, ErrLongHead
	case n > 0 && (role == Response || h.Has(HasCoding|HasLength)):
		err = h.frame(role)
	}
	return n, err
}

// ParseTrailers parses a trailer section, which is a header section without a start
// line, including the empty line that ends it.
func (h *Head) ParseTrailers(b []byte, fields *field.List) (n int, err error) {
	h.Limits.fill()
	n, err = h.parseFields(trailers, b, fields)
	switch {
	case err == error(ErrManyFields):
		return 0, ErrManyTrailers
	case err == nil && examined(b, n) > h.Limits.Head:
		return 0, ErrLongTrailers
	}
	return n, err
}

// examined returns the number of bytes that the parser has examined: n if it has found the
// end, or all of b.
func examined(b []byte, n int) int {
	if n > 0 {
		return n
	}
	return len(b)
}

// startLineError returns the error of a start line of n bytes: err, or the error of a line
// that is too long or incomplete. It is nil for a line that may be completed.
func (h *Head) startLineError(role Role, b []byte, n int, err error) error {
	switch {
	case err != nil:
		return err
	case role == Request && lineSize(b, n) > h.Limits.Line:
		return ErrLongRequestLine
	case n == 0 && len(b) > h.Limits.Head:
		return ErrLongHead
	}
	return nil
}

// lineSize returns the size of a request line of n bytes, without its line end. If n is 0,
// the line is incomplete, and b is the part that has arrived.
func lineSize(b []byte, n int) int {
	if n > 0 {
		return n - len("\r\n")
	}
	if len(b) > 0 && b[len(b)-1] == '\r' {
		return len(b) - 1
	}
	return len(b)
}

const (
	http11  = 0x312e312f50545448 // "HTTP/1.1" as a little-endian word
	version = "HTTP/1.1"
)

// requestLine parses "method SP target SP version CRLF" (RFC 9112 section 3) and
// returns its length.
func (h *Head) requestLine(b []byte) (n int, err error) {
	i, id := methodEnd(b)
	if i == len(b) {
		return 0, nil
	}
	h.MethodID = id
	if i == 0 {
		return 0, ErrMissingMethod
	}
	if b[i] != ' ' {
		return 0, ErrRequestLine
	}
	h.Method = field.Span{Off: 0, Len: uint32(i)}
	target := i + 1
	i = target + ascii.IndexSpaceOrControl(b[target:])
	if i == len(b) {
		return 0, nil
	}
	switch b[i] {
	case ' ':
	case '\r', '\n':
		return 0, ErrRequestLine
	default:
		return 0, ErrTarget
	}
	if i == target {
		if i+1 == len(b) {
			return 0, nil
		}
		if b[i+1] == 'H' {
			return 0, ErrEmptyTarget
		}
		return 0, ErrExtraWhitespace
	}
	h.Target = field.Span{Off: uint32(target), Len: uint32(i - target)}
	i++
	if end := i + len(version) + len("\r\n"); end <= len(b) {
		// nearly all request lines end like this
		if last := (*[10]byte)(b[i:end]); binary.LittleEndian.Uint64(last[:]) == http11 && last[8] == '\r' && last[9] == '\n' {
			h.Minor, h.Version = 1, field.Span{Off: uint32(i), Len: uint32(len(version))}
			return end, nil
		}
	}
	n, err = h.version(b[i:])
	if n == 0 || err != nil {
		return 0, err
	}
	h.Version = field.Span{Off: uint32(i), Len: uint32(n)}
	return lineEnd(b, i+n)
}

const (
	get  = 'G' | 'E'<<8 | 'T'<<16 | ' '<<24
	post = 'P' | 'O'<<8 | 'S'<<16 | 'T'<<24
)

// methodEnd returns the position of the first byte of b outside of a token, and
// the method before it. It tests for GET and POST first, the methods of nearly all
// requests.
func methodEnd(b []byte) (end int, id MethodID) {
	if len(b) >= 5 {
		switch binary.LittleEndian.Uint32(b) {
		case get:
			return 3, MethodGet
		case post:
			if b[4] == ' ' {
				return 4, MethodOther
			}
		}
	}
	for end < len(b) && ascii.Is(b[end], ascii.Token) {
		end++
	}
	switch string(b[:end]) {
	case "GET":
		id = MethodGet
	case "HEAD":
		id = MethodHead
	case "CONNECT":
		id = MethodConnect
	}
	return end, id
}

// lineEnd returns the position after the CRLF at b[i], or 0 if it needs more bytes.
func lineEnd(b []byte, i int) (n int, err error) {
	switch {
	case i < len(b) && b[i] == ' ':
		return 0, ErrExtraWhitespace
	case i < len(b) && b[i] != '\r' || i+1 < len(b) && b[i+1] != '\n':
		return 0, ErrLineEnd
	case i+1 >= len(b):
		return 0, nil
	}
	return i + 2, nil
}

// version parses "HTTP/d.d" and returns its length, or 0 if it needs more bytes.
func (h *Head) version(b []byte) (n int, err error) {
	if len(b) >= 8 && binary.LittleEndian.Uint64(b) == http11 {
		h.Minor = 1
		return 8, nil
	}
	for i := range len(version) {
		if i == len(b) {
			return 0, nil
		}
		if i == 5 || i == 7 {
			if !ascii.Is(b[i], ascii.Digit) {
				return 0, ErrVersion
			}
			continue
		}
		if b[i] != version[i] {
			if i == 0 && b[i] == ' ' {
				return 0, ErrExtraWhitespace
			}
			return 0, ErrVersion
		}
	}
	if b[5] != '1' {
		return 0, ErrMajorVersion
	}
	h.Minor = 0
	if b[7] != '0' {
		h.Minor = 1
	}
	return 8, nil
}

// maxStatusSpaces is how many spaces may precede a status.
const maxStatusSpaces = 255

// statusLine parses "version SP status [SP reason] CRLF" (RFC 9112 section 4). The
// space before an empty reason may be missing: many servers leave it out.
func (h *Head) statusLine(b []byte) (n int, err error) {
	if len(b) >= 13 && binary.LittleEndian.Uint64(b) == http11 && b[8] == ' ' && b[12] == ' ' {
		// nearly all status lines begin like this
		hundreds, tens, units := b[9]-'0', b[10]-'0', b[11]-'0'
		if max(hundreds, tens, units) <= 9 {
			h.Minor, h.Version = 1, field.Span{Len: uint32(len(version))}
			h.Status = int(hundreds)*100 + int(tens)*10 + int(units)
			return h.reason(b, len("HTTP/1.1 200 "))
		}
	}
	n, err = h.version(b)
	if err == error(ErrVersion) {
		return 0, ErrStatusLine
	}
	if n == 0 || err != nil || n == len(b) {
		return 0, err
	}
	h.Version = field.Span{Len: uint32(n)}
	if b[n] != ' ' {
		return 0, ErrStatusLineSpace
	}
	i := n + 1
	code := 0
	for end := n + 4; i < end; i++ {
		if i == len(b) {
			return 0, nil
		}
		if !ascii.Is(b[i], ascii.Digit) {
			if b[i] == ' ' && i == end-3 && i <= n+maxStatusSpaces {
				// RFC 9112 section 4 lets a recipient take more than one
				end++
				continue
			}
			return 0, ErrNonNumeric
		}
		code = code*10 + int(b[i]-'0')
	}
	h.Status = code
	if i == len(b) {
		return 0, nil
	}
	if b[i] != ' ' {
		if b[i] != '\r' && b[i] != '\n' {
			return 0, ErrStatusCode
		}
		return looseLineEnd(b, i)
	}
	return h.reason(b, i+1)
}

// reason parses the reason at b[i], which ends the status line, and returns its length.
func (h *Head) reason(b []byte, i int) (n int, err error) {
	end := valueEnd(b, i)
	h.Reason = field.Span{Off: uint32(i), Len: uint32(end - i)}
	return looseLineEnd(b, end)
}

// looseLineEnd is like lineEnd, for responses: a single LF ends a line, too (RFC 9112
// section 2.2 permits that).
func looseLineEnd(b []byte, i int) (n int, err error) {
	switch {
	case i == len(b):
		return 0, nil
	case b[i] == '\n':
		return i + 1, nil
	case b[i] != '\r':
		return 0, ErrFieldValue
	case i+1 == len(b):
		return 0, nil
	case b[i+1] != '\n':
		return 0, ErrLineEnd
	}
	return i + 2, nil
}

// valueEnd returns the position of the first byte from b[i] on that cannot be part
// of a field value.
func valueEnd(b []byte, i int) int {
	for {
		i += ascii.IndexControl(b[i:])
		if i == len(b) || b[i] != '\t' {
			return i
		}
		i++
	}
}

// SkipEmptyLines returns the length of the CRLFs at the beginning of b, at most two: that
// many may precede a request line (RFC 9112 section 2.2). It does not skip a lone CR; the
// parser of the request line rejects that.
func SkipEmptyLines(b []byte) int {
	n := 0
	for n < 4 && len(b) >= n+2 && b[n] == '\r' && b[n+1] == '\n' {
		n += 2
	}
	return n
}

// place makes a line the value of a slot. The last line counts, or the first one if all
// lines are kept.
func (h *Head) place(slot int, at field.Span) {
	if !h.KeepAll || h.Slots[slot] == (field.Span{}) {
		h.Slots[slot] = at
	}
}

// opensTunnel reports whether this is the head of a successful response to CONNECT. A client ignores
// its Content-Length and Transfer-Encoding (RFC 9110 section 9.3.6).
func (h *Head) opensTunnel() bool { return h.Connect && h.Status/100 == 2 }
