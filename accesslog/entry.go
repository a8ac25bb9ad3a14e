package accesslog

import (
	"encoding/binary"
	"net/netip"
	"time"

	"github.com/valyala/fasthttp"
)

// The texts of an entry.
const (
	textMethod = iota
	textTarget
	textReferer
	textAgent
	textID
	textZone // of the address
	texts
)

// The protocols of requests.
const (
	protocolUnknown = iota // the request could not be read
	protocol10
	protocol11
	protocol2
	protocol3
)

var protocols = [...]string{protocol10: "HTTP/1.0", protocol11: "HTTP/1.1", protocol2: "HTTP/2.0", protocol3: "HTTP/3.0"}

// entry is a request and its response. Its texts are elsewhere, one after the other.
type entry struct {
	at       time.Time
	taken    time.Duration
	client   netip.Addr // without its zone
	protocol uint8
	status   int
	bytes    int64
	failed   bool // there is a failure
	lengths  [texts]uint16
}

// failure has the errors of an entry, which few of them have.
type failure struct{ refused, err error }

// The places in the encoding of an entry, which its texts follow. An encoded entry has no pointers,
// and is less than half as large: the queue is memory that no processor has in its cache.
const (
	atSecond   = 0
	atTaken    = atSecond + 8
	atBytes    = atTaken + 8
	atAddr     = atBytes + 8
	atNano     = atAddr + 16
	atStatus   = atNano + 4
	atLengths  = atStatus + 4
	atProtocol = atLengths + 2*texts
	atKind     = atProtocol + 1
	headSize   = atKind + 1
)

// The kinds of entries, as bits.
const (
	kindIPv4 = 1 << iota
	kindIPv6
	kindFailed
)

// encode writes e to the first headSize bytes of p.
func (e *entry) encode(p []byte) {
	kind := uint8(0)
	switch {
	case e.client.Is4():
		kind = kindIPv4
	case e.client.IsValid():
		kind = kindIPv6
	}
	if e.failed {
		kind |= kindFailed
	}
	addr := e.client.As16()
	copy(p[atAddr:atAddr+len(addr)], addr[:])
	binary.LittleEndian.PutUint64(p[atSecond:], uint64(e.at.Unix()))
	binary.LittleEndian.PutUint32(p[atNano:], uint32(e.at.Nanosecond()))
	binary.LittleEndian.PutUint64(p[atTaken:], uint64(e.taken))
	binary.LittleEndian.PutUint64(p[atBytes:], uint64(e.bytes))
	binary.LittleEndian.PutUint32(p[atStatus:], uint32(e.status))
	for i, n := range e.lengths {
		binary.LittleEndian.PutUint16(p[atLengths+2*i:], n)
	}
	p[atProtocol], p[atKind] = e.protocol, kind
}

// decode is the inverse of encode. The time is in UTC.
func (e *entry) decode(p []byte) {
	addr := netip.AddrFrom16([16]byte(p[atAddr:]))
	switch kind := p[atKind]; {
	case kind&kindIPv4 != 0:
		e.client = addr.Unmap()
	case kind&kindIPv6 != 0:
		e.client = addr
	default:
		e.client = netip.Addr{}
	}
	e.failed = p[atKind]&kindFailed != 0
	e.at = time.Unix(int64(binary.LittleEndian.Uint64(p[atSecond:])), int64(binary.LittleEndian.Uint32(p[atNano:]))).UTC()
	e.taken = time.Duration(binary.LittleEndian.Uint64(p[atTaken:]))
	e.bytes = int64(binary.LittleEndian.Uint64(p[atBytes:]))
	e.status = int(int32(binary.LittleEndian.Uint32(p[atStatus:])))
	for i := range e.lengths {
		e.lengths[i] = binary.LittleEndian.Uint16(p[atLengths+2*i:])
	}
	e.protocol = p[atProtocol]
}

// record is an entry being made.
type record struct {
	entry
	failure failure
	text    []byte // room for the encoded entry, and its texts
}

func newRecord() *record { return &record{text: make([]byte, headSize, 2*headSize+textOfEntry)} }

// capture records a request.
func (r *record) capture(ctx *fasthttp.RequestCtx) {
	r.captureConn(ctx)
	h := &ctx.Request.Header
	switch {
	case ctx.IsHTTP2():
		r.protocol = protocol2
	case string(h.Protocol()) == protocols[protocol3]:
		r.protocol = protocol3
	case h.IsHTTP11():
		r.protocol = protocol11
	default:
		r.protocol = protocol10
	}
	r.set(textMethod, h.Method())
	r.set(textTarget, h.RequestURI())
	r.set(textReferer, h.Referer())
	r.set(textAgent, h.UserAgent())
}

// captureConn records the facts that are known without a request.
func (r *record) captureConn(ctx *fasthttp.RequestCtx) {
	r.at = ctx.Time()
	r.client = ctx.ClientIP()
}

// captureRefused records a request that no handler has got. Of one that could not be read, and of
// a refused connection, only the address and the time are known.
func (r *record) captureRefused(ctx *fasthttp.RequestCtx, refused error) {
	if refused == nil || ctx.Request.Header.Len() > 0 {
		r.capture(ctx)
		return
	}
	r.captureConn(ctx)
}

// finish records a response, and encodes the entry.
func (r *record) finish(taken time.Duration, sent fasthttp.SentResponse) {
	r.taken, r.status, r.bytes = taken, sent.StatusCode, sent.Bytes
	r.failed = sent.Refused != nil || sent.Err != nil
	if r.failed {
		r.failure = failure{sent.Refused, sent.Err}
	}
	if zone := r.client.Zone(); zone != "" {
		r.set(textZone, []byte(zone))
	}
	r.encode(r.text)
}

// set adds a text. They are added in their order.
func (r *record) set(text int, value []byte) {
	from := len(r.text)
	if len(value) <= MaxValue {
		r.text = append(r.text, value...)
	} else {
		r.text = append(r.text, value[:MaxValue-3]...)
		r.text = append(r.text, "..."...)
	}
	r.lengths[text] = uint16(len(r.text) - from)
}

// reset empties the record. It keeps no references to a request.
func (r *record) reset() { r.entry, r.failure, r.text = entry{}, failure{}, r.text[:headSize] }
