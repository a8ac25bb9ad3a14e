package header

import (
	"bytes"

	"github.com/valyala/fasthttp/internal/ascii"
	"github.com/valyala/fasthttp/internal/bufpool"
	"github.com/valyala/fasthttp/internal/bytesconv"
	"github.com/valyala/fasthttp/internal/field"
	"github.com/valyala/fasthttp/internal/http1"
)

// Header is the head of a request or a response.
//
// All text lies in the block of list. The fields that are used most, and that a
// message has at most once, have slots, which hold the positions of their values.
// Cookies and trailers have lists of their own. All other fields are in list, in
// order.
type Header struct {
	_ noCopy

	List          field.List
	Slots         [numSlots]field.Span // the values of the fields with slots
	Line          [numLines]field.Span // the start line, see LineMethod and so on
	Cookies       field.List
	Trailers      http1.Trailers // announced names, without values, and fields of the trailer section
	TrailerTarget *Header        // the header with the trailer section, if not this: see MoveTrailers

	raw      field.Span                  // the field lines as they were received
	slack    [numSlots + numLines]uint16 // free bytes after slots and line: see field.List.Store
	Framing  http1.Framing               // of the content after the head that was read
	Length   int                         // of the content: -1 in chunks, -2 not declared
	State    State                       // flags
	received uint16                      // the status of a response that was read, 0 in any other header
	Status   int32                       // of a response, 0 for the default
	self     uintptr                     // the address of the header that owns the memory of the lists, see separate

	// ServerName is the value that a server sends in the Server field of its responses
	ServerName string

	Peeked  [][]byte           // the last result of PeekAll or PeekKeys
	Scratch [NumScratch][]byte // composed texts
	texts   *textMemory        // see scratchCopy, nil until it is called
}

// Texts that methods compose on demand and return. Each has a buffer of its own, so
// that a call of one method does not change the result of another.
const (
	ScratchHead = iota
	ScratchTrailers
	scratchTrailerNames
	scratchCookies
	NumScratch
)

// State are the flags of a header.
type State uint16

const (
	Closing       State = 1 << iota // Connection: close
	hasLength                       // Content-Length is to be written
	rawCookies                      // list has received cookies, which are sent from there
	seenCookies                     // with rawCookies: cookies has them, too
	NamesKept                       // header names are not normalized
	NoSpecial                       // RequestHeader.DisableSpecialHeader
	NoDefaultType                   // SetNoDefaultContentType
	NoDefaultDate                   // of a response, Server.NoDefaultDate
	OldProtocol                     // the protocol is not HTTP/1.1
	WasRead                         // the head was read from a peer
	HasBadName                      // a field was set but is not written: see field.BadName
	trailing                        // trailers has fields, and not names alone
	NamesServer                     // of a response: Server is ServerName, see nameServer
	overHTTP2                       // the message was received by HTTP/2, and its protocol was not set since then
	PeerVersion                     // the protocol is not HTTP/1.1, and was received
	NoDate                          // of a response: the server adds no Date, and sends a Date in list

	// the flags that reading a head does not change
	Configured = NamesKept | NoSpecial | NoDefaultType | NoDefaultDate

	// the flags of a response sent without Date
	undated = NoDefaultDate | NoDate
)

// Is reports whether one of the flags is set.
func (h *Header) Is(s State) bool { return h.State&s != 0 }

// SetState sets or clears flags.
func (h *Header) SetState(s State, on bool) {
	if on {
		h.State |= s
	} else {
		h.State &^= s
	}
}

// hasOwnCookies reports whether the cookies to send are in cookies.
func (h *Header) hasOwnCookies() bool { return len(h.Cookies.Entries) > 0 && !h.Is(rawCookies) }

// hasTrailerNames reports whether there is a Trailer field. It is called for every
// message.
func (h *Header) hasTrailerNames() bool {
	return len(h.Trailers.Entries) > 0 && h.Trailers.HasNames()
}

// The slots. The field of a slot depends on the role.
const (
	SlotContentType     = http1.SlotContentType
	SlotHost            = http1.SlotHost            // of a request
	SlotUserAgent       = http1.SlotUserAgent       // of a request
	slotServer          = http1.SlotServer          // of a response
	SlotContentEncoding = http1.SlotContentEncoding // of a response
	slotLength          = http1.NumSlots            // the text of Length, if lengthText was called
	SlotProtocol        = slotLength + 1            // of a request: see RequestHeader.ConnectProtocol
	numSlots            = SlotProtocol + 1
)

// The parts of a start line.
const (
	LineVersion = 0
	LineMethod  = 1 // of a request
	lineTarget  = 2 // of a request
	LineReason  = 1 // of a response
	numLines    = 3
)

// place is where a header keeps the field with a well-known name.
type place uint8

const (
	inList place = iota
	inSlot
	inCookies
	inTrailers
	isLength     // Length
	isCoding     // Transfer-Encoding: follows from Length
	isConnection // in list, but "close" is a state
	isDate       // of a response: in list, but written only with NoDate
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
		field.Host:             {inSlot, SlotHost},
		field.ContentType:      {inSlot, SlotContentType},
		field.UserAgent:        {inSlot, SlotUserAgent},
		field.ContentLength:    {isLength, 0},
		field.TransferEncoding: {isCoding, 0},
		field.Connection:       {isConnection, 0},
		field.Cookie:           {inCookies, 0},
		field.Trailer:          {inTrailers, 0},
	},
	http1.Response: {
		field.Server:           {inSlot, slotServer},
		field.ContentType:      {inSlot, SlotContentType},
		field.ContentEncoding:  {inSlot, SlotContentEncoding},
		field.ContentLength:    {isLength, 0},
		field.TransferEncoding: {isCoding, 0},
		field.Connection:       {isConnection, 0},
		field.SetCookie:        {inCookies, 0},
		field.Trailer:          {inTrailers, 0},
		field.Date:             {isDate, 0},
	},
}

// Reset empties the header. It keeps only the flags of its state that are in kept.
func (h *Header) Reset(kept State) {
	h.List.Reset()
	h.Cookies.Reset()
	h.Trailers.Reset()
	h.Slots = [numSlots]field.Span{}
	h.Line = [numLines]field.Span{}
	h.slack = [numSlots + numLines]uint16{}
	h.raw = field.Span{}
	h.Length = 0
	h.State &= kept
	h.Framing = http1.Framing{}
	h.received = 0
}

// maxKeptBlock is the size in bytes from which on a piece of the memory of a header is not
// reused for the next message. It is a power of two.
const MaxKeptBlock = 32 << 10

// Shrink frees memory that an unusually large message has left in the header.
func (h *Header) Shrink() {
	// one of the sizes reaches a power of two if all their bits together do
	s := &h.Scratch
	sizes := cap(h.List.Block) | cap(h.Cookies.Block) | cap(h.Trailers.Block) |
		32*(cap(h.List.Entries)|cap(h.Cookies.Entries)|cap(h.Trailers.Entries)|cap(h.Peeked)) |
		cap(s[ScratchHead]) | cap(s[ScratchTrailers]) | cap(s[scratchTrailerNames]) | cap(s[scratchCookies])
	if sizes < MaxKeptBlock {
		return
	}
	h.List = field.List{}
	h.Cookies = field.List{}
	h.Trailers = http1.Trailers{}
	h.Peeked, h.Scratch = nil, [NumScratch][]byte{}
}

// CopyTo makes dst a copy of the header.
func (h *Header) CopyTo(dst *Header) {
	dst.ensureOwned()
	dst.List.CopyFrom(&h.List)
	dst.Cookies.CopyFrom(&h.Cookies)
	dst.Trailers.CopyFrom(&h.Trailers.List)
	h.copyRest(dst)
}

// copyRest copies all but the lists.
func (h *Header) copyRest(dst *Header) {
	dst.Slots, dst.Line, dst.slack, dst.raw = h.Slots, h.Line, h.slack, h.raw
	dst.Length, dst.State, dst.Status = h.Length, h.State, h.Status
	dst.Framing, dst.received = h.Framing, h.received
	if h.Is(NamesServer) {
		dst.ServerName = h.ServerName
	}
}

// MoveTo moves the header to dst, and is called before the header is reset.
func (h *Header) MoveTo(dst *Header) {
	h.ensureOwned()
	dst.ensureOwned()
	dst.List, h.List = h.List, dst.List
	dst.Cookies, h.Cookies = h.Cookies, dst.Cookies
	dst.Trailers, h.Trailers = h.Trailers, dst.Trailers
	h.copyRest(dst)
}

// Text returns the text of a span, or nil if it is empty.
func (h *Header) Text(s field.Span) []byte {
	if s.Len == 0 {
		return nil
	}
	return h.List.Bytes(s)
}

// StoreSlot replaces the text of a slot by text with its line breaks replaced. It may
// compact the block, which moves all spans.
func (h *Header) StoreSlot(slot uint8, text []byte) {
	h.store(&h.Slots[slot], &h.slack[slot], text)
}

// StoreLine is StoreSlot for a part of the start line.
func (h *Header) StoreLine(part uint8, text []byte) {
	h.store(&h.Line[part], &h.slack[numSlots+part], text)
}

// StoreAt is StoreSlot for the value of the field at i in list.
func (h *Header) StoreAt(i int, text []byte) {
	h.ensureOwned()
	e := &h.List.Entries[i]
	h.store(&e.Value, &e.Slack, text)
}

// store is StoreSlot for the span s, with the free bytes after it.
func (h *Header) store(s *field.Span, spare *uint16, text []byte) {
	h.ensureOwned()
	h.List.Pinned = true
	if len(h.List.Block)+len(text) >= cap(h.List.Block) {
		h.MakeRoom(len(text))
	}
	// text may point into the block, so it must not be used after field.List.Store
	unclean := ascii.HasControl(text)
	if s.Len|uint32(*spare) == 0 {
		*s = h.List.Append(text)
	} else {
		*s = h.List.Store(*s, spare, text)
	}
	if unclean {
		http1.Clean(h.List.Bytes(*s))
	}
}

// MakeRoom is called before up to n bytes are stored. If the block would have to grow
// although most of it is unused, MakeRoom compacts it.
func (h *Header) MakeRoom(n int) {
	h.ensureOwned()
	h.List.Pinned = true
	if len(h.List.Block)+n >= cap(h.List.Block) && h.List.IsSparse() {
		h.Compact()
	}
}

// ensureOwned is called before the lists are changed. A message must not be copied as a value,
// but tests of applications do so to make the request of a context. Therefore separate gives
// a copied header memory of its own.
func (h *Header) ensureOwned() {
	if at := bytesconv.Address(h); h.self != at {
		h.separate(at)
	}
}

// separate is ensureOwned for a new or copied header.
func (h *Header) separate(at uintptr) {
	h.self = at
	for _, l := range []*field.List{&h.List, &h.Cookies, &h.Trailers.List} {
		l.Separate()
	}
	h.Peeked, h.Scratch, h.texts = nil, [NumScratch][]byte{}, nil
}

// Compact removes the unused bytes of the block, which moves all spans.
func (h *Header) Compact() {
	h.slack = [numSlots + numLines]uint16{}
	h.List.Compact(&h.Slots[0], &h.Slots[1], &h.Slots[2], &h.Slots[3], &h.Slots[4], &h.Line[0], &h.Line[1], &h.Line[2], &h.raw)
}

// Key is a field name, Name, that a caller has passed.
type Key struct {
	Name []byte
	ID   field.ID // field.Unknown if the name is not a well-known one
}

// KeyOf returns the key of a name.
func KeyOf(name []byte) Key { return Key{name, field.Lookup(name)} }

// KeyOfID returns the key of a well-known name.
func KeyOfID(id field.ID) Key { return Key{id.Bytes(), id} }

// find returns the position of the first field in list with the name k, or -1. If names
// are kept as they are, an exactly equal name takes precedence over a name that differs
// in its case.
func (h *Header) find(k Key) int {
	if h.Is(NamesKept) {
		if i := h.List.Find(bytesconv.String(k.Name), 0); i >= 0 {
			return i
		}
	}
	return h.findFold(k, 0)
}

// findAll returns the function that finds the positions of all fields with the name
// k: either all names are compared exactly, or all without regard to case.
func (h *Header) findAll(k Key) func(h *Header, k Key, from int) int {
	if h.Is(NamesKept) && h.List.Find(bytesconv.String(k.Name), 0) >= 0 {
		return (*Header).findExact
	}
	return (*Header).findFold
}

func (h *Header) findFold(k Key, from int) int { return h.List.FindFold(k.ID, k.Name, from) }

// findExact is find for changing a field: if names are kept as they are, only names
// that are exactly equal match.
func (h *Header) findExact(k Key, from int) int {
	if h.Is(NamesKept) {
		return h.List.Find(bytesconv.String(k.Name), from)
	}
	return h.List.FindFold(k.ID, k.Name, from)
}

// Peek returns the value of the field k, or nil.
func (h *Header) Peek(role http1.Role, k Key) []byte {
	w := places[role][k.ID]
	switch w.place {
	case inSlot:
		h.nameServer()
		if role == http1.Response && k.ID == field.ContentType {
			return h.PeekType()
		}
		return h.Text(h.Slots[w.slot])
	case inCookies:
		return h.peekCookies(role)
	case inTrailers:
		return h.TrailerNames()
	case isLength:
		return h.lengthText()
	}
	if i := h.find(k); i >= 0 {
		return h.List.Value(i)
	}
	if w.place == isConnection && h.Is(Closing) {
		return h.scratchCopy(textClose)
	}
	if h.Is(trailing) {
		return h.peekAnnounced(k)
	}
	return nil
}

// nameServer stores the name of the server, the default, as the value of the field
// Server. It is called before the field is read or set; most responses are sent
// without a call.
func (h *Header) nameServer() {
	if h.Is(NamesServer) {
		h.State &^= NamesServer
		h.StoreSlot(slotServer, bytesconv.Bytes(h.ServerName))
	}
}

// lengthText returns the value of Content-Length, or nil.
func (h *Header) lengthText() []byte {
	if !h.Is(hasLength) {
		return nil
	}
	var digits [20]byte
	h.StoreSlot(slotLength, ascii.AppendUint(digits[:0], h.Length))
	return h.Text(h.Slots[slotLength])
}

// Set sets the field k to value, its only value.
func (h *Header) Set(role http1.Role, k Key, value []byte) {
	if place := places[role][k.ID].place; place != inList {
		if place == isConnection {
			h.State &^= Closing
		}
		if h.setSpecial(role, k, value) {
			return
		}
	}
	if h.Is(trailing) {
		if to := h.Section(); to != h && to.Trailers.Sends(k.ID, k.Name) {
			to.Set(role, k, value)
			return
		}
		h.removeTrailing(k, h.Is(NamesKept))
	}
	if k.ID == field.Host && role == http1.Request {
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
func (h *Header) setHostLine(k Key, value []byte) {
	i := h.List.FindID(field.Host, 0)
	if i < 0 {
		h.append(k, value)
		return
	}
	h.StoreAt(i, value)
	if h.List.FindID(field.Host, i+1) >= 0 {
		h.ensureOwned()
		h.List.RemoveID(field.Host, i+1)
	}
}

// setOnly sets the field k, whose first line is at i, to value, its only value.
func (h *Header) setOnly(i int, k Key, value []byte) {
	h.StoreAt(i, value)
	h.List.Entries[i].Flags &^= field.InHeader
	if i++; i == len(h.List.Entries) {
		return
	}
	if i = h.findExact(k, i); i >= 0 {
		h.removeFrom(i, k)
	}
}

// removeFrom removes the line at i, and the later lines of the field k.
func (h *Header) removeFrom(i int, k Key) {
	h.ensureOwned()
	h.List.RemoveEach(i, func(from int) int { return h.findExact(k, from) })
}

// Add adds a value to the field k.
func (h *Header) Add(role http1.Role, k Key, value []byte) {
	switch w := places[role][k.ID]; {
	case w.place == inList:
	case w.place == inTrailers && !h.Is(NoSpecial):
		_ = h.AddTrailers(withoutLineBreaks(value))
		return
	case k.ID == field.Host:
		h.Set(role, k, value)
		return
	case w.place == inSlot && h.Is(NoSpecial) && h.Slots[w.slot].Len > 0:
		// the slot keeps the first of several values
	case h.setSpecial(role, k, value):
		return
	}
	if h.Is(trailing) {
		if to := h.Section(); to != h && to.Trailers.Sends(k.ID, k.Name) {
			to.Add(role, k, value)
			return
		}
	}
	h.append(k, value)
}

// append adds a field line to list.
func (h *Header) append(k Key, value []byte) {
	h.MakeRoom(len(k.Name) + len(value))
	var flags field.Flag
	if k.ID == field.Unknown && !ascii.IsToken(k.Name) {
		flags = field.BadName
		h.State |= HasBadName
	}
	e := h.List.Add(bytesconv.String(k.Name), bytesconv.String(value))
	e.ID, e.Flags = k.ID, flags
	switch name := h.List.Bytes(e.Name); {
	case flags == field.BadName:
		http1.Clean(name)
	case !h.Is(NamesKept):
		field.Normalize(name)
	}
	http1.Clean(h.List.Bytes(e.Value))
}

// setSpecial sets a field kept elsewhere than simply in list. It returns false if the
// field must be added to list, too.
func (h *Header) setSpecial(role http1.Role, k Key, value []byte) bool {
	w := places[role][k.ID]
	if w.place == inSlot {
		h.nameServer()
	}
	if h.Is(NoSpecial) {
		// the application writes these fields itself: they are stored in their
		// places, and also in list, the only place that is written
		switch w.place {
		case inSlot:
			h.StoreSlot(w.slot, value)
		case inCookies:
			h.addCookies(role, value)
		case isLength:
			h.setLengthText(value)
		case isConnection:
			h.SetState(Closing, h.Is(Closing) || http1.ConnectionFlags(value)&http1.Close != 0)
		}
		return false
	}
	switch w.place {
	case inSlot:
		h.StoreSlot(w.slot, value)
	case inCookies:
		h.addCookies(role, value)
	case inTrailers:
		// as documented, forbidden names are omitted without an error
		_ = h.SetTrailers(withoutLineBreaks(value))
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

func (h *Header) setLengthText(value []byte) {
	if n, ok := ascii.ParseUint(value); ok {
		h.Length = n
		h.State |= hasLength
	}
}

// RemoveID removes the fields of list with a well-known name.
func (h *Header) RemoveID(id field.ID) {
	h.ensureOwned()
	h.List.RemoveID(id, 0)
}

// Del removes the field k.
func (h *Header) Del(role http1.Role, k Key) {
	w := places[role][k.ID]
	switch w.place {
	case inSlot:
		h.nameServer()
		h.StoreSlot(w.slot, nil)
	case inCookies:
		h.DelAllCookies(role)
	case inTrailers:
		h.removeTrailerNames()
	case isLength:
		h.Length = 0
		h.State &^= hasLength
	case isConnection:
		h.removeConnection()
	}
	if h.Is(trailing) {
		h.removeTrailing(k, h.Is(NamesKept))
	}
	if !h.Is(NamesKept) {
		h.removeNormalized(k)
		return
	}
	h.removeFrom(h.findExact(k, 0), k)
}

// DelAnyCase is Del that compares names without regard to case, even if names are
// kept as they are.
func (h *Header) DelAnyCase(role http1.Role, name string) {
	k := KeyOf(bytesconv.Bytes(name))
	h.Del(role, k)
	h.List.RemoveEach(h.findFold(k, 0), func(from int) int { return h.findFold(k, from) })
	if h.Is(trailing) {
		h.removeTrailing(k, false)
	}
}

// SetVersion sets the protocol of the start line.
func (h *Header) SetVersion(version []byte) {
	h.StoreLine(LineVersion, version)
	h.State &^= overHTTP2 | PeerVersion
	h.SetState(OldProtocol, len(version) > 0 && !bytes.Equal(version, strHTTP11))
}

// LentVersion is like version, but the caller may write to the result.
func (h *Header) LentVersion() []byte {
	if v := h.Text(h.Line[LineVersion]); v != nil {
		return v
	}
	return h.scratchCopy(textVersion)
}

// version returns the protocol as HTTP/1 writes it; for a message that was received by HTTP/2
// the protocol concerns only that connection. The caller must not write to the result.
func (h *Header) version() []byte {
	if v := h.Text(h.Line[LineVersion]); v != nil && !h.IsHTTP2() {
		return v
	}
	return strHTTP11
}

// setCoding makes the Transfer-Encoding field match Length.
func (h *Header) setCoding(chunked bool) {
	at := h.List.FindID(field.TransferEncoding, 0)
	switch {
	case chunked && at < 0:
		h.append(KeyOfID(field.TransferEncoding), strChunked)
	case !chunked && at >= 0:
		h.RemoveID(field.TransferEncoding)
	}
}

// findPlain returns the position of the first field whose name is exactly name, or
// -1 if there is none or it has another place than list.
func (h *Header) findPlain(role http1.Role, name []byte) int {
	i := h.List.Find(bytesconv.String(name), 0)
	if i >= 0 && places[role][h.List.Entries[i].ID].place != inList {
		return -1
	}
	return i
}

// PeekCanonical is Peek for a name that must match exactly.
func (h *Header) PeekCanonical(role http1.Role, name []byte) []byte {
	if i := h.findPlain(role, name); i >= 0 {
		return h.List.Value(i)
	}
	k := KeyOf(name)
	if places[role][k.ID].place != inList && string(name) == k.ID.String() {
		return h.Peek(role, k)
	}
	if v := h.List.Get(bytesconv.String(name)); v != nil || !h.Is(trailing) {
		return v
	}
	if i := h.Trailers.Announced(k.ID, k.Name); i < 0 || string(h.Trailers.Name(i)) != string(name) {
		return nil
	}
	return h.peekAnnounced(k)
}

// Poison overwrites all memory that slices of the header can point to.
func (h *Header) Poison() {
	bufpool.Poison(h.List.Block)
	bufpool.Poison(h.Cookies.Block)
	bufpool.Poison(h.Trailers.Block)
	for _, text := range h.Scratch {
		bufpool.Poison(text)
	}
	if h.texts != nil {
		for i := range h.texts.short {
			bufpool.Poison(h.texts.short[i][:])
		}
		bufpool.Poison(h.texts.contentType[:])
	}
}
