package http1

import (
	"math/bits"

	"github.com/valyala/fasthttp/internal/ascii"
	"github.com/valyala/fasthttp/internal/bytesconv"
	"github.com/valyala/fasthttp/internal/field"
)

// parseFields parses the field lines from h.next on, up to the empty line. It
// returns the position after that line, or 0 if it needs more bytes.
func (h *Head) parseFields(role Role, b []byte, fields *field.List) (n int, err error) {
	if h.inValue {
		if valueEnd(b, h.seen) == len(b) {
			h.seen = len(b)
			return 0, nil
		}
		h.inValue, h.seen = false, 0
	}
	if h.seen == 0 && wide && !h.KeepAll {
		if err := h.wideLines(role, b, fields); err != nil {
			return 0, err
		}
		if i := h.next; i+1 < len(b) && b[i] == '\r' && b[i+1] == '\n' {
			return i + len("\r\n"), nil
		}
	}
	for {
		if h.seen == 0 {
			if err := h.usualLines(role, b, fields); err != nil {
				return 0, err
			}
		}
		i := h.next
		if i >= len(b) {
			return 0, nil
		}
		if c := b[i]; c == '\r' && i+1 < len(b) && b[i+1] == '\n' {
			return i + len("\r\n"), nil
		} else if c == '\r' || c == '\n' {
			return sectionEnd(role, b, i)
		}
		if end, err := h.anyLine(role, b, fields); end == 0 || err != nil {
			return 0, err
		}
	}
}

// wide reports whether wideLines is used. Tests change it.
var wide = field.Wide

// wideLines is like usualLines if not all fields are kept. It uses instructions that examine
// 32 bytes at once, and leaves more lines to others.
func (h *Head) wideLines(role Role, b []byte, fields *field.List) (err error) {
	w := field.Walk{Text: b, At: h.next, Effects: &effects[role], KeepNames: h.KeepNames}
	// as in usualLines
	w.Until = h.next + shortestLine*min(h.Limits.Fields-h.Lines, len(b))
	for {
		// A walk takes one line for a slot. All but the first of these lines are for apply.
		w.Slots[contentEncoding-1] = h.Slots[SlotContentEncoding]
		fields.AppendLines(&w)
		h.Lines += w.Lines
		if h.takeWalk(role, &w); w.Left == field.LeftLine {
			break
		}
		id := w.ID
		if w.Left == field.LeftName {
			if id = h.lookUp(w.First, w.Last, b[w.At:w.At+w.Size]); id == badName {
				break
			}
		}
		from, keep := w.At+w.Size+len(": "), true
		value := field.Span{Off: uint32(from), Len: uint32(w.Stop - from)}
		if effect := w.Effects[id]; effect != noEffect {
			if keep, err = h.apply(effect, role, b, value); err != nil {
				return err
			}
		}
		if keep {
			e := fields.Extend()
			e.Name, e.Value, e.ID = field.Span{Off: uint32(w.At), Len: uint32(w.Size)}, value, id
		}
		h.Lines++
		w.At = w.Stop + len("\r\n")
		w.Slots, w.Effective, w.Lines = [field.Slots]field.Span{}, 0, 0
	}
	h.next = w.At
	return nil
}

// takeWalk records the effects of the lines that a walk took.
func (h *Head) takeWalk(role Role, w *field.Walk) {
	if w.Effective&field.HasCookie != 0 {
		h.Flags |= HasCookie
	}
	if w.Effective&field.HasKeepAlive != 0 {
		h.Flags |= KeepAlive
	}
	if role == Request {
		if at := w.Slots[host-1]; at.Len > 0 {
			h.noteHost(at)
		}
		if at := w.Slots[userAgent-1]; at.Len > 0 {
			h.Slots[SlotUserAgent] = at
		}
	} else {
		if at := w.Slots[server-1]; at.Len > 0 {
			h.Slots[SlotServer] = at
		}
		if at := w.Slots[contentEncoding-1]; at.Len > 0 {
			h.Slots[SlotContentEncoding] = at
		}
	}
	if at := w.Slots[contentType-1]; at.Len > 0 && (role == Response || h.Slots[SlotContentType] == (field.Span{})) {
		// as in apply
		h.Slots[SlotContentType] = at
	}
}

// usualLines parses field lines as long as they are complete and have the usual form: a
// name, a colon, a space, a value without tabs, and CRLF. It leaves any other line, and the
// lines at the end of b, to anyLine.
func (h *Head) usualLines(role Role, b []byte, fields *field.List) (err error) {
	effects, i := &effects[role], h.next
	// lines that begin before until are not too many, and contain the words that are read
	until := min(len(b)-shortestUsual+1, i+shortestLine*min(h.Limits.Fields-h.Lines, len(b)))
	for ; i < until; h.Lines++ {
		first, size := bytesconv.Word(b, i), 0
		last := first
		if hit := maybeColon(first); hit != 0 {
			size = bits.TrailingZeros64(hit) / 8
			first &= (hit ^ (hit - 1)) >> 8
			last = first
		} else {
			if hit := maybeColon(bytesconv.Word(b, i+8)); hit != 0 {
				size = 8 + bits.TrailingZeros64(hit)/8
			} else if hit := maybeColon(bytesconv.Word(b, i+16)); hit != 0 {
				size = 16 + bits.TrailingZeros64(hit)/8
				if size > len(b)-i-8 {
					break
				}
			} else if size = longName(b, i); size == 0 {
				break
			}
			last = bytesconv.Word(b, i+size-8)
		}
		if !isUsualStart(bytesconv.Half(b, i+size)) {
			break
		}
		id, ok := field.Usual(first, last, size)
		if !ok || size > 16 && !id.HasMiddle(bytesconv.Word(b, i+8), bytesconv.Word(b, i+size-16), size) {
			if id = h.lookUp(first, last, b[i:i+size]); id == badName {
				break
			}
		}
		from := i + size + len(": ")
		stop := ascii.NextControl(b, from)
		// with the byte after the line, which shows whether the value continues there
		if stop+len("\r\n")+1 > len(b) || !isUsualStop(bytesconv.Half(b, stop-1)) {
			break
		}
		value := field.Span{Off: uint32(from), Len: uint32(stop - from)}
		if effect := effects[id]; effect != noEffect {
			keep := h.KeepAll
			switch effect {
			case cookie:
				// this case and the next two are the same as in apply, without a call
				h.Flags |= HasCookie
				keep = true
			case host:
				h.noteHost(value)
			case userAgent:
				h.place(SlotUserAgent, value)
			default:
				if keep, err = h.apply(effect, role, b, value); err != nil {
					return err
				}
			}
			if !keep {
				i = stop + len("\r\n")
				continue
			}
		}
		n, e := len(fields.Entries), (*field.Entry)(nil)
		if all := fields.Entries[:cap(fields.Entries)]; n < len(all) {
			fields.Entries = fields.Entries[:n+1]
			e = &all[n]
		} else {
			e = fields.Extend()
		}
		e.Name, e.Value = field.Span{Off: uint32(i), Len: uint32(size)}, value
		e.ID, e.Flags, e.Slack = id, 0, 0
		i = stop + len("\r\n")
	}
	h.next = i
	return nil
}

// maybeColon returns a word whose lowest set bit is the high bit of the first byte of w
// that is a colon, or of a byte outside of ASCII before it. It is zero if there is neither.
func maybeColon(w uint64) uint64 { return (w ^ ':'*ones - ones) & (0x80 * ones) }

// isUsualStart reports whether w is a colon, one space, a byte that can begin a value, and
// any other byte.
func isUsualStart(w uint32) bool {
	return bits.ReverseBytes32(w)-(':'<<24|' '<<16|'!'<<8) < (0x100-'!')<<8
}

// isUsualStop reports whether w is the last byte of a value, CRLF, and a byte that does not
// continue the value.
func isUsualStop(w uint32) bool {
	w = bits.RotateLeft32(w, 8)
	return w-('\n'<<24|'\r'<<16|'!'<<8) < (0x100-'!')<<8 && (byte(w) > ' ' || !isSpace(byte(w)))
}

// shortestUsual is the least number of bytes that are examined to find the name of a line.
const shortestUsual = 24

// shortestLine is the least size of a line that usualLines parses: "a: b" and CRLF.
const shortestLine = 6

// badName is the result of lookUp in place of an id.
const badName = field.ID(255)

// longName returns the size of the name at b[i], which has at least 24 bytes, or 0 if
// there is no colon near enough.
func longName(b []byte, i int) int {
	const near = 64
	name := b[i:min(len(b), i+near)]
	if name[0] == '\r' {
		return 0
	}
	size := ascii.IndexByte(name, ':')
	// a word is read after the name
	if size == len(name) || size > len(b)-i-8 {
		return 0
	}
	return size
}

// lookUp returns the id of a name with these ends, as in field.LookupWords, and
// normalises it.
func (h *Head) lookUp(first, last uint64, name []byte) field.ID {
	id, normal := field.LookupWords(first, last, name)
	switch {
	case normal || id != field.Unknown && h.KeepNames:
	case id != field.Unknown:
		copy(name, id.String())
	case !h.validName(name):
		return badName
	}
	return id
}

// anyLine parses the field line at h.next. It returns the position after the line, or 0 if
// it needs more bytes.
func (h *Head) anyLine(role Role, b []byte, fields *field.List) (end int, err error) {
	i := h.next
	size, colon, id, err := h.fieldName(b, i, role == Response || h.Spaces)
	if colon == 0 || err != nil {
		return 0, err
	}
	var flags field.Flag
	if id == field.Unknown && h.Has(Close) && isSpaced(b[i:i+size], 0) && ascii.IndexByte(b[i:i+size], ' ') < size {
		// the field is not forwarded
		flags = field.BadName
	}
	from, stop, end, err := fieldValue(role, b, colon+1)
	if end == 0 || err != nil {
		if h.inValue = err == nil && valueEnd(b, colon+1) == len(b); h.inValue {
			h.seen = len(b)
		}
		return 0, err
	}
	if h.Lines >= h.Limits.Fields {
		return 0, ErrManyFields
	}
	h.Lines++
	value, keep := field.Span{Off: uint32(from), Len: uint32(stop - from)}, true
	if effect := effects[role][id]; effect != noEffect {
		if keep, err = h.apply(effect, role, b, value); err != nil {
			return 0, err
		}
	}
	if keep {
		fields.Entries = append(fields.Entries, field.Entry{
			Name:  field.Span{Off: uint32(i), Len: uint32(size)},
			Value: value,
			ID:    id,
			Flags: flags,
		})
	}
	h.next = end
	return end, nil
}

// sectionEnd parses the empty line at b[i].
func sectionEnd(role Role, b []byte, i int) (n int, err error) {
	if role == Response {
		return looseLineEnd(b, i)
	}
	return lineEnd(b, i)
}

// fieldName parses the name that begins at b[start] (RFC 9112 section 5) and
// normalises it. It returns the size of the name and the position of the colon after
// it, or a position of 0 if it needs more bytes.
//
// If spaces is set, spaces may follow the name, and are not part of it (by RFC 9112 section
// 5.1 proxies remove them from responses). A name with spaces inside is left unchanged. The
// connection is then closed, since such a sender may have made other errors, too.
func (h *Head) fieldName(b []byte, start int, spaces bool) (size, colon int, id field.ID, err error) {
	name := b[start:]
	known := max(h.seen-start, 0)
	size = known + ascii.IndexByte(name[known:], ':')
	if size == len(name) {
		// more bytes of the name may follow, but those received must be valid
		if !ascii.All(name[known:], ascii.Token) && !(spaces && isSpaced(name, known)) {
			return 0, 0, 0, nameError(name)
		}
		h.seen = len(b)
		return 0, 0, 0, nil
	}
	h.seen = 0
	colon = start + size
	name = name[:size]
	for spaces && size > 1 && name[size-1] == ' ' {
		size--
		name = name[:size]
	}
	id, normal := field.LookupForm(name)
	switch {
	case normal:
	case id != field.Unknown:
		if !h.KeepNames {
			copy(name, id.String())
		}
	case spaces && ascii.IndexByte(name, ' ') < size && isSpaced(name, 0):
		h.Flags |= Close
	case !h.validName(name):
		return 0, 0, 0, nameError(name)
	}
	return size, colon, id, nil
}

// isSpaced reports whether name is a token except for spaces after its first byte.
// The bytes up to from were checked before.
func isSpaced(name []byte, from int) bool {
	for _, c := range name[from:] {
		if c != ' ' && !ascii.Is(c, ascii.Token) {
			return false
		}
	}
	return len(name) > 0 && name[0] != ' '
}

// validName reports whether name is a token, and if so normalises it.
func (h *Head) validName(name []byte) bool {
	if h.KeepNames || len(name) == 0 {
		return ascii.IsToken(name)
	}
	letters := &tokens[1]
	differ := byte(0)
	for _, c := range name {
		normal := letters[c]
		if normal == 0 {
			return false
		}
		differ |= normal ^ c
		letters = &tokens[0]
		if c == '-' {
			letters = &tokens[1]
		}
	}
	if differ != 0 {
		field.Normalize(name)
	}
	return true
}

// tokens maps the bytes of a token to lower case, and in the second table to upper case,
// for bytes after a hyphen. It maps all other bytes to 0.
var tokens = buildTokens()

func buildTokens() (t [2][256]byte) {
	for i := range 256 {
		if c := byte(i); ascii.Is(c, ascii.Token) {
			t[0][c], t[1][c] = ascii.Lower(c), ascii.Upper(c)
		}
	}
	return t
}

func nameError(name []byte) error {
	if len(name) > 0 && isSpace(name[0]) {
		return ErrFold
	}
	return ErrFieldName
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' }

// fieldValue parses the rest of a field line, which begins at b[i] after the colon.
// The value is b[from:stop]. end is the position after the line, or 0 if fieldValue
// needs more bytes.
func fieldValue(role Role, b []byte, i int) (from, stop, end int, err error) {
	from = i
	for from < len(b) && isSpace(b[from]) {
		from++
	}
	stop = valueEnd(b, from)
	if role == Response {
		stop, end, err = unfold(b, stop)
	} else {
		end, err = requestLineEnd(b, stop)
	}
	if end == 0 || err != nil {
		return 0, 0, 0, err
	}
	// if the value began with a fold, it begins with the spaces that replaced it
	for from < stop && isSpace(b[from]) {
		from++
	}
	for stop > from && isSpace(b[stop-1]) {
		stop--
	}
	return from, stop, end, nil
}

// unfold finds the end of a folded field line of a response whose first line ends at
// b[stop], and replaces each obs-fold by spaces, as RFC 9112 section 5.2 requires of
// a user agent.
func unfold(b []byte, stop int) (newStop, end int, err error) {
	for {
		end, err = looseLineEnd(b, stop)
		// the next byte shows whether the value continues
		if err != nil || end == 0 || end == len(b) {
			return 0, 0, err
		}
		if !isSpace(b[end]) {
			return stop, end, nil
		}
		for stop > 0 && isSpace(b[stop-1]) {
			stop--
		}
		for end < len(b) && isSpace(b[end]) {
			end++
		}
		if end == len(b) {
			// a fold is replaced only when all of it has arrived
			return 0, 0, nil
		}
		for i := stop; i < end; i++ {
			b[i] = ' '
		}
		stop = valueEnd(b, end)
	}
}

// requestLineEnd parses the CRLF that must be at b[i], the first control character after a
// field value of a request.
func requestLineEnd(b []byte, i int) (end int, err error) {
	switch {
	case i == len(b):
		return 0, nil
	case b[i] == '\n':
		return 0, ErrLineEnd
	case b[i] != '\r':
		return 0, ErrFieldValue
	case i+1 == len(b):
		return 0, nil
	case b[i+1] != '\n':
		return 0, ErrLineEnd
	}
	return i + 2, nil
}

// effect is the effect of a field line beside being in the list. The zero value is
// noEffect.
type effect = field.Effect

const (
	noEffect    effect = iota
	contentType        // the first field.Slots are values that a walk collects
	host
	userAgent
	server
	contentEncoding
	cookie     // field.EffectCookie
	connection // field.EffectConnection
	contentLength
	transferEncoding
	expect
	trailer
)

// effects holds, for each role, the fields that have an effect. It is an array, indexed by
// id, since it is used for every field of every message.
var effects = [...][256]effect{
	Request: {
		field.ContentType:      contentType,
		field.Host:             host,
		field.UserAgent:        userAgent,
		field.ContentLength:    contentLength,
		field.TransferEncoding: transferEncoding,
		field.Connection:       connection,
		field.Expect:           expect,
		field.Trailer:          trailer,
		field.Cookie:           cookie,
	},
	Response: {
		field.ContentType:      contentType,
		field.Server:           server,
		field.ContentEncoding:  contentEncoding,
		field.ContentLength:    contentLength,
		field.TransferEncoding: transferEncoding,
		field.Connection:       connection,
		field.Trailer:          trailer,
		field.SetCookie:        cookie,
	},
	trailers: {},
}

// HasEffect reports whether Note does anything for a field.
func HasEffect(role Role, id field.ID) bool { return effects[role][id] != noEffect }

// Note records a field that was not received as a line, such as one of HTTP/2. at is the
// position of its value in b. Note reports whether the field also belongs in the list of
// fields.
func (h *Head) Note(role Role, id field.ID, b []byte, at field.Span) (keep bool, err error) {
	if what := effects[role][id]; what != noEffect {
		return h.apply(what, role, b, at)
	}
	return true, nil
}

// apply records the effect of a field line on framing, connection or message. It reports
// whether the line also belongs in the list of fields. at is the position of its value in
// b.
func (h *Head) apply(what effect, role Role, b []byte, at field.Span) (keep bool, err error) {
	switch what {
	case contentType:
		// In a request the first of several lines counts, even if it is empty. net/http
		// and most proxies use it: content that one of them has accepted as one type must
		// not be parsed as another here (RFC 9110 section 8.3).
		if role == Response || h.Slots[SlotContentType] == (field.Span{}) {
			h.place(SlotContentType, at)
		}
	case host:
		h.noteHost(at)
	case userAgent:
		h.place(SlotUserAgent, at)
	case server:
		h.place(SlotServer, at)
	case contentEncoding:
		switch first := h.Slots[SlotContentEncoding]; {
		case first.Len == 0 || h.KeepAll:
			h.place(SlotContentEncoding, at)
		case at.Len > 0:
			// the lines are one list (RFC 9110 section 5.3)
			h.Flags |= ManyEncodings
			return true, nil
		}
	case contentLength:
		if !h.opensTunnel() {
			err = h.noteLength(role, textAt(b, at))
		}
	case transferEncoding:
		if !h.opensTunnel() {
			err = h.noteCoding(role, textAt(b, at))
		}
	case connection:
		value := textAt(b, at)
		h.Flags |= ConnectionFlags(value)
		// "close" is a property of the message
		return h.KeepAll || !ascii.EqualFoldString(value, "close"), nil
	case expect:
		h.noteExpect(textAt(b, at))
		return true, nil
	case trailer:
		h.Flags |= HasTrailer
		return true, nil
	case cookie:
		h.Flags |= HasCookie
		return true, nil
	}
	return h.KeepAll, err
}

func textAt(b []byte, at field.Span) []byte { return b[at.Off : int(at.Off)+int(at.Len)] }

// noteHost records a Host line.
func (h *Head) noteHost(at field.Span) {
	if h.Has(HasHost) {
		h.Flags |= ManyHosts
	}
	h.Flags |= HasHost
	h.place(SlotHost, at)
}

// noteLength parses a Content-Length: digits only, once (RFC 9110 section 8.6). In a
// request a second one is an error even if it is equal: two recipients may disagree about
// which counts. In a response equal ones are accepted: some servers repeat the line, which
// is harmless.
func (f *Facts) noteLength(role Role, value []byte) error {
	if role == Request && f.Has(HasLength) {
		return ErrDuplicateContentLength
	}
	n, ok := ascii.ParseUint(value)
	if !ok {
		return ErrContentLength
	}
	if f.Has(HasLength) && f.ContentLength != int64(n) {
		return ErrDuplicateContentLength
	}
	f.ContentLength = int64(n)
	f.Flags |= HasLength
	return nil
}

// noteCoding parses a Transfer-Encoding line (RFC 9112 section 6.1). Several lines
// are one list.
//
// By RFC 9110 section 5.6.1 recipients ignore empty elements. Not all do, so two servers
// may disagree about whether "chunked," is chunked: in a request an empty element is an
// error.
func (f *Facts) noteCoding(role Role, list []byte) error {
	f.Flags |= HasCoding
	for rest := list; rest != nil; {
		var coding []byte
		coding, rest = ascii.NextElement(rest)
		switch {
		case len(coding) == 0 && role == Response:
			continue
		case len(coding) == 0, f.Has(IsChunked):
			return ErrTransferEncoding
		case ascii.EqualFoldString(coding, "chunked"):
			f.Flags |= IsChunked
		case !ascii.IsToken(coding[:tokenLen(coding)]):
			return ErrTransferEncoding
		default:
			name := coding[:tokenLen(coding)]
			if ascii.EqualFoldString(name, "chunked") {
				return ErrTransferEncoding
			}
			// without other codings, "identity" leaves the message unchanged
			switch identity := ascii.EqualFoldString(coding, "identity"); {
			case !identity:
				f.Flags &^= Identity
			case !f.Has(OtherCoding):
				f.Flags |= Identity
			}
			f.Flags |= OtherCoding
		}
	}
	if !f.Has(IsChunked | OtherCoding) {
		return ErrTransferEncoding
	}
	return nil
}

func (f *Facts) noteExpect(list []byte) {
	for rest := list; rest != nil; {
		var e []byte
		e, rest = ascii.NextElement(rest)
		switch {
		case len(e) == 0:
		case ascii.EqualFoldString(e, "100-continue"):
			f.Flags |= Expect100
		default:
			f.Flags |= ExpectOther
		}
	}
}

// ConnectionFlags returns the flags that a Connection field line sets. The line is a
// list of tokens in any case (RFC 9110 section 7.6.1).
func ConnectionFlags(list []byte) (flags Flags) {
	if string(list) == "keep-alive" {
		return KeepAlive
	}
	for rest := list; rest != nil; {
		var option []byte
		option, rest = ascii.NextElement(rest)
		switch {
		case ascii.EqualFoldString(option, "close"):
			flags |= Close
		case ascii.EqualFoldString(option, "keep-alive"):
			flags |= KeepAlive
		case ascii.EqualFoldString(option, "upgrade"):
			flags |= Upgrade
		}
	}
	return flags
}
