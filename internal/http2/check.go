package http2

import (
	"bytes"

	"github.com/valyala/fasthttp/internal/ascii"
	"github.com/valyala/fasthttp/internal/field"
	"github.com/valyala/fasthttp/internal/hpack"
	"github.com/valyala/fasthttp/internal/http1"
)

// The pseudo-fields of a request (RFC 9113 section 8.3.1, RFC 8441 section 4), as a set.
const (
	hasMethod = 1 << iota
	hasScheme
	hasAuthority
	hasPath
	hasProtocol
)

// badField is set by the decoder for a field that HTTP/2 forbids.
const badField = field.BadName | field.BadValue

// checkRequest checks the fields of a request (RFC 9113 sections 8.2 and 8.3), and sets
// Head and Scheme from them. It removes fields that do not belong in Fields.
//
// flaw is a fault for which the request gets a response rather than a reset (RFC 9113
// section 8.1.1 permits both): after a reset, net/http clients would send it again, each
// time. A flaw concerns the target alone. Every other fault is e, including any possible
// attempt to make two recipients read different requests. If e is not nil, flaw has no
// meaning.
func (m *Message) checkRequest() (p priority, flaw, e *Error) {
	l, h := &m.Fields, &m.Head
	h.Minor = 1
	seen, i := 0, 0
	for ; i < len(l.Entries); i++ {
		f := &l.Entries[i]
		if f.Flags&badField != 0 {
			if e := faultOfField(f); e != errAuthority || !isPlainlyNoHost(l.Bytes(f.Value)) {
				return p, nil, e
			}
			flaw = ErrHost
		}
		if !hpack.IsPseudo(f.ID) {
			break
		}
		bit := m.pseudo(f)
		if bit == 0 || seen&bit != 0 {
			return p, nil, errPseudo
		}
		seen |= bit
	}
	permitted, e := m.checkTarget(seen)
	if e != nil {
		return p, nil, e
	}
	p, cookies, e := m.requestFields(i, seen)
	if e != nil {
		return p, nil, e
	}
	switch host := l.Bytes(h.Slots[http1.SlotHost]); {
	case len(host) == 0:
		flaw = ErrHost
	case seen&hasAuthority == 0 && !validAuthority(host):
		if !isPlainlyNoHost(host) {
			return p, nil, errAuthority
		}
		flaw = ErrHost
	}
	if !permitted {
		flaw = ErrTarget
	}
	if cookies > 1 {
		m.joinCookies()
	}
	return p, flaw, nil
}

// pseudo records a pseudo-field of a request, and returns its bit, or 0 if requests have no
// pseudo-field with that name.
func (m *Message) pseudo(f *field.Entry) (bit int) {
	switch h := &m.Head; f.ID {
	case hpack.Method:
		h.Method = f.Value
		return hasMethod
	case hpack.Path:
		h.Target = f.Value
		return hasPath
	case hpack.Scheme:
		m.Scheme = f.Value
		return hasScheme
	case hpack.Authority:
		h.Slots[http1.SlotHost] = f.Value
		h.Flags |= http1.HasHost
		return hasAuthority
	case hpack.Protocol:
		if m.extended {
			m.Protocol = f.Value
			return hasProtocol
		}
	}
	return 0
}

// noteMethod sets Head.MethodID of a request that is too large to be checked: the response to
// HEAD has no content.
func (m *Message) noteMethod() {
	l := &m.Fields
	for i := range l.Entries {
		switch f := &l.Entries[i]; {
		case !hpack.IsPseudo(f.ID):
			return
		case f.ID == hpack.Method && string(l.Bytes(f.Value)) == "HEAD":
			m.Head.MethodID = http1.MethodHead
		}
	}
}

// validPseudo reports whether a pseudo-field may have a value, whatever the other values
// are.
func validPseudo(id field.ID, value []byte) bool {
	switch id {
	case hpack.Method:
		return ascii.IsToken(value)
	case hpack.Path:
		return isPath(value) || string(value) == "*"
	case hpack.Scheme:
		return isScheme(value)
	case hpack.Authority:
		return validAuthority(value)
	case hpack.Protocol:
		return isProtocol(value)
	}
	return true
}

// isProtocol reports whether b is the name of a protocol, with a version or without (RFC 9110
// section 7.8).
func isProtocol(b []byte) bool {
	name, version, versioned := bytes.Cut(b, []byte{'/'})
	return ascii.IsToken(name) && (!versioned || ascii.IsToken(version))
}

// validAuthority reports whether http1.ValidHost accepts b, and b is a single host: with a
// comma it may be two Host fields that a peer has joined.
func validAuthority(b []byte) bool {
	return http1.ValidHost(b) && bytes.IndexByte(b, ',') < 0
}

// isPlainlyNoHost reports whether a value that validAuthority rejects is harmless: a valid
// field value, but no host, and not two values joined.
func isPlainlyNoHost(b []byte) bool {
	return ascii.All(b, ascii.FieldByte) && bytes.IndexByte(b, ',') < 0 &&
		(len(b) == 0 || !ascii.IsBlank(b[0]) && !ascii.IsBlank(b[len(b)-1]))
}

// isPath reports whether http1.CheckTarget accepts a path as the path of a URI without a
// fragment. RFC 9113 section 8.3.1 requires the grammar of URIs, which is ASCII.
func isPath(b []byte) bool {
	return len(b) > 0 && b[0] == '/' && ascii.IsVisible(b) && bytes.IndexByte(b, '#') < 0
}

// checkTarget checks that a request has its pseudo-fields. permitted reports whether its
// method permits their values.
func (m *Message) checkTarget(seen int) (permitted bool, e *Error) {
	l, h := &m.Fields, &m.Head
	if seen&hasMethod == 0 {
		return false, errPseudoMissing
	}
	method := l.Bytes(h.Method)
	if seen&hasProtocol != 0 {
		// RFC 8441 section 4: the other pseudo-fields are as in any request
		if string(method) != "CONNECT" {
			return false, errPseudo
		}
		h.MethodID = http1.MethodConnect
		if seen|hasAuthority != hasMethod|hasScheme|hasAuthority|hasPath|hasProtocol {
			return false, errPseudoMissing
		}
		return string(l.Bytes(h.Target)) != "*", nil
	}
	switch string(method) {
	case "GET":
		h.MethodID = http1.MethodGet
	case "HEAD":
		h.MethodID = http1.MethodHead
	case "CONNECT":
		h.MethodID = http1.MethodConnect
		h.Target = h.Slots[http1.SlotHost]
		if seen != hasMethod|hasAuthority {
			// RFC 9113 section 8.5
			return false, errPseudo
		}
		return http1.IsAuthority(l.Bytes(h.Target)), nil
	}
	if seen|hasAuthority != hasMethod|hasScheme|hasAuthority|hasPath {
		return false, errPseudoMissing
	}
	return string(l.Bytes(h.Target)) != "*" || string(method) == "OPTIONS", nil
}

func isScheme(b []byte) bool {
	switch string(b) {
	case "http", "https":
		return true
	case "":
		return false
	}
	for _, c := range b {
		if !ascii.Is(c, ascii.Alpha|ascii.Digit) && c != '+' && c != '-' && c != '.' {
			return false
		}
	}
	return ascii.Is(b[0], ascii.Alpha)
}

// requestFields checks the fields of a request from the one at i on, and keeps the ones that
// belong in Fields.
func (m *Message) requestFields(i, seen int) (p priority, cookies int, e *Error) {
	l, kept, hosts := &m.Fields, 0, 0
	p = defaultPriority
	for ; i < len(l.Entries); i++ {
		f := &l.Entries[i]
		if isPlain(f, http1.Request) {
			l.Entries[kept] = *f
			kept++
			continue
		}
		if e := checkField(l, f); e != nil {
			return p, 0, e
		}
		switch f.ID {
		case field.Host:
			if hosts++; hosts > 1 {
				return p, 0, errAuthority
			}
			if seen&hasAuthority != 0 {
				if !ascii.EqualFold(l.Bytes(f.Value), l.Bytes(m.Head.Slots[http1.SlotHost])) {
					return p, 0, errAuthority
				}
				if !m.Head.KeepAll {
					continue
				}
			}
		case field.Cookie:
			cookies++
		case field.Priority:
			p = parsePriority(defaultPriority, l.Bytes(f.Value))
		}
		if f.ID != field.Host || seen&hasAuthority == 0 {
			keep, err := m.Head.Note(http1.Request, f.ID, l.Block, f.Value)
			if err != nil {
				return p, 0, errLength
			}
			if !keep {
				continue
			}
		}
		l.Entries[kept] = *f
		kept++
	}
	l.Entries = l.Entries[:kept]
	return p, cookies, nil
}

// special has, for each role, the well-known names whose fields need more than storing.
var special = func() (t [http1.Response + 1][256]bool) {
	for role := range t {
		for id := range t[role] {
			t[role][id] = http1.HasEffect(http1.Role(role), field.ID(id))
		}
		for _, id := range []field.ID{
			field.Host, field.Cookie, field.Priority, field.Te,
			field.Connection, field.KeepAlive, field.ProxyConnection, field.TransferEncoding, field.Upgrade,
		} {
			t[role][id] = true
		}
		for id := hpack.OtherPseudo; id != 0; id++ {
			t[role][id] = true
		}
	}
	return t
}()

// isPlain reports whether a field is allowed and has no meaning here, like most fields.
func isPlain(f *field.Entry, role http1.Role) bool {
	return f.Flags&badField == 0 && !special[role][f.ID]
}

// checkField checks a field other than a pseudo-field.
func checkField(l *field.List, f *field.Entry) *Error {
	if f.Flags&badField != 0 {
		return faultOfField(f)
	}
	switch f.ID {
	case field.Connection, field.KeepAlive, field.ProxyConnection, field.TransferEncoding, field.Upgrade:
		// RFC 9113 section 8.2.2
		return errConnectionName
	case field.Te:
		if !ascii.EqualFoldString(l.Bytes(f.Value), "trailers") {
			return errConnectionName
		}
	default:
		if hpack.IsPseudo(f.ID) {
			return errPseudo
		}
	}
	return nil
}

func faultOfField(f *field.Entry) *Error {
	if f.Flags&field.BadName != 0 {
		return errFieldName
	}
	switch f.ID {
	case hpack.Method:
		return errMethod
	case hpack.Path:
		return errPath
	case hpack.Scheme:
		return errScheme
	case hpack.Authority:
		return errAuthority
	case hpack.Protocol:
		return errProtocol
	}
	return errFieldValue
}

// joinCookies joins several Cookie fields into one (RFC 9113 section 8.2.3).
func (m *Message) joinCookies() {
	l := &m.Fields
	first, kept := -1, 0
	off := len(l.Block)
	for i := range l.Entries {
		f := &l.Entries[i]
		if f.ID == field.Cookie {
			if first >= 0 {
				l.Block = append(l.Block, "; "...)
			}
			l.Block = append(l.Block, l.Bytes(f.Value)...)
			if first >= 0 {
				continue
			}
			first = kept
		}
		l.Entries[kept] = *f
		kept++
	}
	l.Entries = l.Entries[:kept]
	l.Entries[first].Value = field.Span{Off: uint32(off), Len: uint32(len(l.Block) - off)}
}

// frame sets the framing of a message. If end is set, the message ends with its head. If
// none is set, it has no content, whatever its content-length (RFC 9113 section 8.1.1).
func (m *Message) frame(end, none bool) *Error {
	h := &m.Head
	h.Framing = http1.Framing{Kind: http1.NoBody}
	switch {
	case none:
	case end:
		if h.Has(http1.HasLength) && h.ContentLength != 0 {
			return errLengthDiffers
		}
	case h.Has(http1.HasLength):
		h.Framing = http1.Framing{Kind: http1.Length, Length: h.ContentLength}
	default:
		h.Framing.Kind = http1.UntilClose
	}
	return nil
}

// checkResponse is checkRequest for a response (RFC 9113 section 8.3.2).
func (m *Message) checkResponse() *Error {
	l := &m.Fields
	m.Head.Minor = 1
	if len(l.Entries) == 0 || l.Entries[0].ID != hpack.Status {
		return errPseudoMissing
	}
	status := l.Value(0)
	if len(status) != 3 || status[0] == '0' || !ascii.All(status, ascii.Digit) || string(status) == "101" {
		return errStatus
	}
	m.Head.Status = int(status[0]-'0')*100 + int(status[1]-'0')*10 + int(status[2]-'0')
	kept := 0
	for i := 1; i < len(l.Entries); i++ {
		f := &l.Entries[i]
		if isPlain(f, http1.Response) {
			l.Entries[kept] = *f
			kept++
			continue
		}
		if e := checkField(l, f); e != nil {
			return e
		}
		keep, err := m.Head.Note(http1.Response, f.ID, l.Block, f.Value)
		if err != nil {
			return errLength
		}
		if keep {
			l.Entries[kept] = *f
			kept++
		}
	}
	l.Entries = l.Entries[:kept]
	return nil
}

// StoresFields reports whether n fields or more were stored, pseudo-fields not counted.
func (m *Message) StoresFields(n int) bool {
	for i := range m.Fields.Entries {
		if !hpack.IsPseudo(m.Fields.Entries[i].ID) {
			n--
		}
	}
	return n <= 0
}

// HasLargeTrailers reports whether a trailer section exceeds the limits that HTTP/1 has, where the size
// is that of the lines.
func (m *Message) HasLargeTrailers() bool {
	size := len("\r\n")
	for i := range m.Fields.Entries {
		e := &m.Fields.Entries[i]
		size += int(e.Name.Len) + int(e.Value.Len) + len(": \r\n")
	}
	return size > http1.MaxTrailers || len(m.Fields.Entries) > http1.MaxTrailerFields
}

// checkTrailers checks the fields of a trailer section (RFC 9113 section 8.1).
func (m *Message) checkTrailers() *Error {
	for i := range m.Fields.Entries {
		if e := checkField(&m.Fields, &m.Fields.Entries[i]); e != nil {
			return e
		}
	}
	return nil
}
