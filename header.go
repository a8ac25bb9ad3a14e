package fasthttp

import (
	"bytes"

	"github.com/valyala/fasthttp/internal/ascii"
	"github.com/valyala/fasthttp/internal/bytesconv"
	"github.com/valyala/fasthttp/internal/field"
	"github.com/valyala/fasthttp/internal/http1"
)

// header is the common part of RequestHeader and ResponseHeader.
//
// All text lies in the block of list. The fields that are used most, and that a
// message has at most once, have slots, which hold the positions of their values.
// Cookies and trailers have lists of their own. All other fields are in list, in
// order.
type header struct {
	_ noCopy

	list          field.List
	slots         [numSlots]field.Span
	line          [numLines]field.Span // the start line, see lineMethod and so on
	cookies       field.List
	trailers      http1.Trailers // announced names, without values, and fields of the trailer section
	trailerTarget *header        // the header with the trailer section, if not this: see moveTrailers

	raw           field.Span                  // the field lines as they were received
	slack         [numSlots + numLines]uint16 // free bytes after slots and line: see field.List.Store
	framing       http1.Framing               // of the content after the head that was read
	contentLength int
	state         headerState
	received      uint16  // the status of a response that was read, 0 in any other header
	self          uintptr // the address of the header that owns the memory of the lists, see own

	// serverName is the value that a server sends in the Server field of its responses
	serverName string

	peeked  [][]byte // the last result of PeekAll or PeekKeys
	scratch [numScratch][]byte
	texts   *textMemory // see lend, nil until it is called
}

// Texts that methods compose on demand and return. Each has a buffer of its own, so
// that a call of one method does not change the result of another.
const (
	scratchHead = iota
	scratchTrailers
	scratchTrailerNames
	scratchCookies
	numScratch
)

type headerState uint16

const (
	closing       headerState = 1 << iota // Connection: close
	hasLength                             // Content-Length is to be written
	rawCookies                            // list has received cookies, which are sent from there
	seenCookies                           // with rawCookies: cookies has them, too
	namesKept                             // header names are not normalized
	noSpecial                             // RequestHeader.DisableSpecialHeader
	noDefaultType                         // SetNoDefaultContentType
	noDefaultDate                         // of a response, Server.NoDefaultDate
	oldProtocol                           // the protocol is not HTTP/1.1
	wasRead                               // the head was read from a peer
	hasBadName                            // a field was set but is not written: see field.BadName
	trailing                              // trailers has fields, and not names alone
	namesServer                           // of a response: Server is serverName, see nameServer
	overHTTP2                             // the message was received by HTTP/2, and its protocol was not set since then
	peerVersion                           // the protocol is not HTTP/1.1, and was received
	noDate                                // of a response: its handler wants no Date

	// the flags that reading a head does not change
	configured = namesKept | noSpecial | noDefaultType | noDefaultDate

	// the flags of a response that is sent without Date
	undated = noDefaultDate | noDate
)

func (h *header) is(s headerState) bool { return h.state&s != 0 }

func (h *header) setState(s headerState, on bool) {
	if on {
		h.state |= s
	} else {
		h.state &^= s
	}
}

// hasOwnCookies reports whether the cookies to send are in cookies.
func (h *header) hasOwnCookies() bool { return h.cookies.Len() > 0 && !h.is(rawCookies) }

// hasTrailerNames reports whether there is a Trailer field. It is called for every
// message.
func (h *header) hasTrailerNames() bool {
	return len(h.trailers.Entries) > 0 && h.trailers.HasNames()
}

// The slots. The field of a slot depends on the role.
const (
	slotContentType     = http1.SlotContentType
	slotHost            = http1.SlotHost            // of a request
	slotUserAgent       = http1.SlotUserAgent       // of a request
	slotServer          = http1.SlotServer          // of a response
	slotContentEncoding = http1.SlotContentEncoding // of a response
	slotLength          = http1.NumSlots            // the text of contentLength, if lengthText was called
	slotProtocol        = slotLength + 1            // of a request: see RequestHeader.ConnectProtocol
	numSlots            = slotProtocol + 1
)

// The parts of a start line.
const (
	lineVersion = 0
	lineMethod  = 1 // of a request
	lineTarget  = 2 // of a request
	lineReason  = 1 // of a response
	numLines    = 3
)

// place is where a header keeps the field with a well-known name.
type place uint8

const (
	inList place = iota
	inSlot
	inCookies
	inTrailers
	isLength     // contentLength
	isCoding     // Transfer-Encoding: follows from contentLength
	isConnection // in list, but "close" is a state
	isDate       // of a response: written, never set
)

type placement struct {
	place place
	slot  uint8
}

// places holds, for both roles, the places of the fields that are not simply in
// list. It is an array, indexed by id, since it is used for every field of every
// message.
var places = [2][256]placement{
	http1.Request: {
		field.Host:             {inSlot, slotHost},
		field.ContentType:      {inSlot, slotContentType},
		field.UserAgent:        {inSlot, slotUserAgent},
		field.ContentLength:    {isLength, 0},
		field.TransferEncoding: {isCoding, 0},
		field.Connection:       {isConnection, 0},
		field.Cookie:           {inCookies, 0},
		field.Trailer:          {inTrailers, 0},
	},
	http1.Response: {
		field.Server:           {inSlot, slotServer},
		field.ContentType:      {inSlot, slotContentType},
		field.ContentEncoding:  {inSlot, slotContentEncoding},
		field.ContentLength:    {isLength, 0},
		field.TransferEncoding: {isCoding, 0},
		field.Connection:       {isConnection, 0},
		field.SetCookie:        {inCookies, 0},
		field.Trailer:          {inTrailers, 0},
		field.Date:             {isDate, 0},
	},
}

// reset empties the header. It keeps only the flags of its state that are in kept.
func (h *header) reset(kept headerState) {
	h.list.Reset()
	h.cookies.Reset()
	h.trailers.Reset()
	h.slots = [numSlots]field.Span{}
	h.line = [numLines]field.Span{}
	h.slack = [numSlots + numLines]uint16{}
	h.raw = field.Span{}
	h.contentLength = 0
	h.state &= kept
	h.framing = http1.Framing{}
	h.received = 0
}

// maxKeptBlock is the size in bytes from which on a piece of the memory of a header is not
// reused for the next message. It is a power of two.
const maxKeptBlock = 32 << 10

// shrink frees memory that an unusually large message has left in the header.
func (h *header) shrink() {
	// one of the sizes reaches a power of two if all their bits together do
	s := &h.scratch
	sizes := cap(h.list.Block) | cap(h.cookies.Block) | cap(h.trailers.Block) |
		32*(cap(h.list.Entries)|cap(h.cookies.Entries)|cap(h.trailers.Entries)|cap(h.peeked)) |
		cap(s[scratchHead]) | cap(s[scratchTrailers]) | cap(s[scratchTrailerNames]) | cap(s[scratchCookies])
	if sizes < maxKeptBlock {
		return
	}
	h.list = field.List{}
	h.cookies = field.List{}
	h.trailers = http1.Trailers{}
	h.peeked, h.scratch = nil, [numScratch][]byte{}
}

func (h *header) copyTo(dst *header) {
	dst.ensureOwned()
	dst.list.CopyFrom(&h.list)
	dst.cookies.CopyFrom(&h.cookies)
	dst.trailers.CopyFrom(&h.trailers.List)
	h.copyRest(dst)
}

// copyRest copies all but the lists.
func (h *header) copyRest(dst *header) {
	dst.slots, dst.line, dst.slack, dst.raw = h.slots, h.line, h.slack, h.raw
	dst.contentLength, dst.state = h.contentLength, h.state
	dst.framing, dst.received = h.framing, h.received
	if h.is(namesServer) {
		dst.serverName = h.serverName
	}
}

// moveTo is copyTo for a header that is reset next.
func (h *header) moveTo(dst *header) {
	h.ensureOwned()
	dst.ensureOwned()
	dst.list, h.list = h.list, dst.list
	dst.cookies, h.cookies = h.cookies, dst.cookies
	dst.trailers, h.trailers = h.trailers, dst.trailers
	h.copyRest(dst)
}

// text returns the text of a span, or nil if it is empty.
func (h *header) text(s field.Span) []byte {
	if s.Len == 0 {
		return nil
	}
	return h.list.Bytes(s)
}

// storeSlot replaces the text of a slot by text with its line breaks replaced. It may
// compact the block, which moves all spans.
func (h *header) storeSlot(slot uint8, text []byte) {
	h.store(&h.slots[slot], &h.slack[slot], text)
}

// storeLine is storeSlot for a part of the start line.
func (h *header) storeLine(part uint8, text []byte) {
	h.store(&h.line[part], &h.slack[numSlots+part], text)
}

// storeAt is storeSlot for the value of the field at i in list.
func (h *header) storeAt(i int, text []byte) {
	h.ensureOwned()
	e := &h.list.Entries[i]
	h.store(&e.Value, &e.Slack, text)
}

// store is storeSlot for the span s, with the free bytes after it.
func (h *header) store(s *field.Span, spare *uint16, text []byte) {
	h.ensureOwned()
	h.list.Pinned = true
	if len(h.list.Block)+len(text) >= cap(h.list.Block) {
		h.makeRoom(len(text))
	}
	// text may point into the block, so it must not be used after Store
	unclean := ascii.HasControl(text)
	if s.Len|uint32(*spare) == 0 {
		*s = h.list.Append(text)
	} else {
		*s = h.list.Store(*s, spare, text)
	}
	if unclean {
		http1.Clean(h.list.Bytes(*s))
	}
}

// makeRoom is called before up to n bytes are stored. If the block would have to grow
// although most of it is unused, makeRoom compacts it.
func (h *header) makeRoom(n int) {
	h.ensureOwned()
	h.list.Pinned = true
	if len(h.list.Block)+n >= cap(h.list.Block) && h.list.IsSparse() {
		h.compact()
	}
}

// ensureOwned is called before the lists are changed. A message must not be copied as a value,
// but tests of applications do so to make the request of a context. Therefore own gives
// a copied header memory of its own.
func (h *header) ensureOwned() {
	if at := bytesconv.Address(h); h.self != at {
		h.separate(at)
	}
}

// separate is own for a new or copied header.
func (h *header) separate(at uintptr) {
	h.self = at
	for _, l := range []*field.List{&h.list, &h.cookies, &h.trailers.List} {
		l.Separate()
	}
	h.peeked, h.scratch, h.texts = nil, [numScratch][]byte{}, nil
}

func (h *header) compact() {
	h.slack = [numSlots + numLines]uint16{}
	h.list.Compact(&h.slots[0], &h.slots[1], &h.slots[2], &h.slots[3], &h.slots[4], &h.line[0], &h.line[1], &h.line[2], &h.raw)
}

// key is a field name that a caller has passed.
type key struct {
	name []byte
	id   field.ID
}

func keyOf(name []byte) key { return key{name, field.Lookup(name)} }

// find returns the position of the first field in list with the name k, or -1. If names
// are kept as they are, an exactly equal name takes precedence over a name that differs
// in its case.
func (h *header) find(k key) int {
	if h.is(namesKept) {
		if i := h.list.Find(bytesconv.String(k.name), 0); i >= 0 {
			return i
		}
	}
	return h.findFold(k, 0)
}

// findAll returns the function that finds the positions of all fields with the name
// k: either all names are compared exactly, or all without regard to case.
func (h *header) findAll(k key) func(h *header, k key, from int) int {
	if h.is(namesKept) && h.list.Find(bytesconv.String(k.name), 0) >= 0 {
		return (*header).findExact
	}
	return (*header).findFold
}

func (h *header) findFold(k key, from int) int { return h.list.FindFold(k.id, k.name, from) }

// findExact is find for changing a field: if names are kept as they are, only names
// that are exactly equal match.
func (h *header) findExact(k key, from int) int {
	if h.is(namesKept) {
		return h.list.Find(bytesconv.String(k.name), from)
	}
	return h.list.FindFold(k.id, k.name, from)
}

// peek returns the value of the field k, or nil.
func (h *header) peek(role http1.Role, k key) []byte {
	w := places[role][k.id]
	switch w.place {
	case inSlot:
		h.nameServer()
		if role == http1.Response && k.id == field.ContentType {
			return h.peekType()
		}
		return h.text(h.slots[w.slot])
	case inCookies:
		return h.peekCookies(role)
	case inTrailers:
		return h.trailerNames()
	case isLength:
		return h.lengthText()
	}
	if i := h.find(k); i >= 0 {
		return h.list.Value(i)
	}
	if w.place == isConnection && h.is(closing) {
		return h.scratchCopy(textClose)
	}
	if h.is(trailing) {
		return h.peekAnnounced(k)
	}
	return nil
}

// nameServer stores the name of the server, the default, as the value of the field
// Server. It is called before the field is read or set; most responses are sent
// without a call.
func (h *header) nameServer() {
	if h.is(namesServer) {
		h.state &^= namesServer
		h.storeSlot(slotServer, bytesconv.Bytes(h.serverName))
	}
}

// lengthText returns the value of Content-Length, or nil.
func (h *header) lengthText() []byte {
	if !h.is(hasLength) {
		return nil
	}
	var digits [20]byte
	h.storeSlot(slotLength, ascii.AppendUint(digits[:0], h.contentLength))
	return h.text(h.slots[slotLength])
}

// set sets the field k to value, its only value.
func (h *header) set(role http1.Role, k key, value []byte) {
	if place := places[role][k.id].place; place != inList {
		if place == isConnection {
			h.state &^= closing
		}
		if h.setSpecial(role, k, value) {
			return
		}
	}
	if h.is(trailing) {
		if to := h.section(); to != h && to.trailers.Sends(k.id, k.name) {
			to.set(role, k, value)
			return
		}
		h.removeTrailing(k, h.is(namesKept))
	}
	if k.id == field.Host && role == http1.Request {
		h.setHostLine(k, value)
		return
	}
	i := h.findExact(k, 0)
	if i < 0 {
		h.append(k, value)
		return
	}
	h.setOnly(i, k, value)
}

// setHostLine sets the line of Host in list, whatever its spelling. A request with two of
// them is refused (RFC 9112 section 3.2).
func (h *header) setHostLine(k key, value []byte) {
	i := h.list.FindID(field.Host, 0)
	if i < 0 {
		h.append(k, value)
		return
	}
	h.storeAt(i, value)
	if h.list.FindID(field.Host, i+1) >= 0 {
		h.ensureOwned()
		h.list.RemoveID(field.Host, i+1)
	}
}

// setOnly sets the field k, whose first line is at i, to value, its only value.
func (h *header) setOnly(i int, k key, value []byte) {
	h.storeAt(i, value)
	h.list.Entries[i].Flags &^= field.InHeader
	if i++; i == len(h.list.Entries) {
		return
	}
	if i = h.findExact(k, i); i >= 0 {
		h.removeFrom(i, k)
	}
}

// removeFrom removes the line at i, and the later lines of the field k.
func (h *header) removeFrom(i int, k key) {
	h.ensureOwned()
	h.list.RemoveEach(i, func(from int) int { return h.findExact(k, from) })
}

// add adds a value to the field k.
func (h *header) add(role http1.Role, k key, value []byte) {
	switch w := places[role][k.id]; {
	case w.place == inList:
	case w.place == inTrailers && !h.is(noSpecial):
		_ = h.addTrailers(withoutLineBreaks(value))
		return
	case k.id == field.Host:
		h.set(role, k, value)
		return
	case w.place == inSlot && h.is(noSpecial) && h.slots[w.slot].Len > 0:
		// the slot keeps the first of several values
	case h.setSpecial(role, k, value):
		return
	}
	if h.is(trailing) {
		if to := h.section(); to != h && to.trailers.Sends(k.id, k.name) {
			to.add(role, k, value)
			return
		}
	}
	h.append(k, value)
}

// append adds a field line to list.
func (h *header) append(k key, value []byte) {
	h.makeRoom(len(k.name) + len(value))
	var flags field.Flag
	if k.id == field.Unknown && !ascii.IsToken(k.name) {
		flags = field.BadName
		h.state |= hasBadName
	}
	e := h.list.Add(bytesconv.String(k.name), bytesconv.String(value))
	e.ID, e.Flags = k.id, flags
	switch name := h.list.Bytes(e.Name); {
	case flags == field.BadName:
		http1.Clean(name)
	case !h.is(namesKept):
		field.Normalize(name)
	}
	http1.Clean(h.list.Bytes(e.Value))
}

// setSpecial sets a field kept elsewhere than simply in list. It returns false if the
// field must be added to list, too.
func (h *header) setSpecial(role http1.Role, k key, value []byte) bool {
	w := places[role][k.id]
	if w.place == inSlot {
		h.nameServer()
	}
	if h.is(noSpecial) {
		// the application writes these fields itself: they are stored in their
		// places, and also in list, the only place that is written
		switch w.place {
		case inSlot:
			h.storeSlot(w.slot, value)
		case inCookies:
			h.addCookies(role, value)
		case isLength:
			h.setLengthText(value)
		case isConnection:
			h.setState(closing, h.is(closing) || http1.ConnectionFlags(value)&http1.Close != 0)
		}
		return false
	}
	switch w.place {
	case inSlot:
		h.storeSlot(w.slot, value)
	case inCookies:
		h.addCookies(role, value)
	case inTrailers:
		// as documented, forbidden names are omitted without an error
		_ = h.setTrailers(withoutLineBreaks(value))
	case isLength:
		h.setLengthText(value)
	case isConnection:
		h.setConnection(k, value)
	}
	return true
}

// withoutLineBreaks returns value with its line breaks replaced, or value itself if it has none.
func withoutLineBreaks(value []byte) []byte {
	if ascii.IndexLineBreak(value) == len(value) {
		return value
	}
	return http1.AppendText(nil, value)
}

func (h *header) setLengthText(value []byte) {
	if n, ok := ascii.ParseUint(value); ok {
		h.contentLength = n
		h.state |= hasLength
	}
}

func (h *header) removeID(id field.ID) {
	h.ensureOwned()
	h.list.RemoveID(id, 0)
}

// del removes the field k.
func (h *header) del(role http1.Role, k key) {
	w := places[role][k.id]
	switch w.place {
	case inSlot:
		h.nameServer()
		h.storeSlot(w.slot, nil)
	case inCookies:
		h.delAllCookies(role)
	case inTrailers:
		h.removeTrailerNames()
	case isLength:
		h.contentLength = 0
		h.state &^= hasLength
	case isConnection:
		h.removeConnection()
	}
	if h.is(trailing) {
		h.removeTrailing(k, h.is(namesKept))
	}
	if !h.is(namesKept) {
		h.removeNormalized(k)
		return
	}
	h.removeFrom(h.findExact(k, 0), k)
}

// delAnyCase is del that compares names without regard to case, even if names are
// kept as they are.
func (h *header) delAnyCase(role http1.Role, name string) {
	k := keyOf(bytesconv.Bytes(name))
	h.del(role, k)
	h.list.RemoveEach(h.findFold(k, 0), func(from int) int { return h.findFold(k, from) })
	if h.is(trailing) {
		h.removeTrailing(k, false)
	}
}

// SetContentType sets the Content-Type field.
func (h *header) SetContentType(contentType string) {
	h.SetContentTypeBytes(bytesconv.Bytes(contentType))
}

// SetContentTypeBytes sets the Content-Type field.
func (h *header) SetContentTypeBytes(contentType []byte) {
	h.storeSlot(slotContentType, contentType)
}

// SetNoDefaultContentType sets whether a message with content but without a
// Content-Type is sent without one (true), or gets a default Content-Type (false).
func (h *header) SetNoDefaultContentType(noDefaultContentType bool) {
	h.setState(noDefaultType, noDefaultContentType)
}

// DisableNormalizing makes the header keep field names as they are set or received,
// and reports whether it did so before. Only proxies need it, for peers to which
// "x-id" and "X-Id" are different names. If no name matches exactly, methods still
// look it up without regard to case.
func (h *header) DisableNormalizing() bool {
	before := h.is(namesKept)
	h.state |= namesKept
	return before
}

// EnableNormalizing makes the header normalize field names again, as it does by
// default: "content-TYPE" becomes "Content-Type". It reports whether the header kept
// names as they are before.
func (h *header) EnableNormalizing() bool {
	before := h.is(namesKept)
	h.state &^= namesKept
	return before
}

// IsHTTP11 reports whether the protocol of the message is HTTP/1.1.
func (h *header) IsHTTP11() bool { return !h.is(oldProtocol) }

func (h *header) setVersion(version []byte) {
	h.storeLine(lineVersion, version)
	h.state &^= overHTTP2 | peerVersion
	h.setState(oldProtocol, len(version) > 0 && !bytes.Equal(version, strHTTP11))
}

// peekVersion is like version, but the caller may write to the result.
func (h *header) peekVersion() []byte {
	if v := h.text(h.line[lineVersion]); v != nil {
		return v
	}
	return h.scratchCopy(textVersion)
}

// version returns the protocol as HTTP/1 writes it; for a message that was received by HTTP/2
// the protocol concerns only that connection. The caller must not write to the result.
func (h *header) version() []byte {
	if v := h.text(h.line[lineVersion]); v != nil && !h.isHTTP2() {
		return v
	}
	return strHTTP11
}

// setCoding makes the Transfer-Encoding field match contentLength.
func (h *header) setCoding(chunked bool) {
	at := h.list.FindID(field.TransferEncoding, 0)
	switch {
	case chunked && at < 0:
		h.append(key{field.TransferEncoding.Bytes(), field.TransferEncoding}, strChunked)
	case !chunked && at >= 0:
		h.removeID(field.TransferEncoding)
	}
}

// findPlain returns the position of the first field whose name is exactly name, or
// -1 if there is none or it has another place than list.
func (h *header) findPlain(role http1.Role, name []byte) int {
	i := h.list.Find(bytesconv.String(name), 0)
	if i >= 0 && places[role][h.list.Entries[i].ID].place != inList {
		return -1
	}
	return i
}

// peekCanonical is peek for a name that must match exactly.
func (h *header) peekCanonical(role http1.Role, name []byte) []byte {
	if i := h.findPlain(role, name); i >= 0 {
		return h.list.Value(i)
	}
	k := keyOf(name)
	if places[role][k.id].place != inList && string(name) == k.id.String() {
		return h.peek(role, k)
	}
	if v := h.list.Get(bytesconv.String(name)); v != nil || !h.is(trailing) {
		return v
	}
	if i := h.trailers.Announced(k.id, k.name); i < 0 || string(h.trailers.Name(i)) != string(name) {
		return nil
	}
	return h.peekAnnounced(k)
}
