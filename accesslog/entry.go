package accesslog

import (
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

// entry is a request and its response. Its texts are elsewhere, one after the other. An entry has no
// pointers, and is as small as it can be: the queue is memory that no processor has in its cache.
type entry struct {
	second   int64 // of Unix
	taken    time.Duration
	bytes    int64
	addr     [16]byte
	nano     int32
	status   int32
	lengths  [texts]uint16
	protocol uint8
	kind     uint8
}

// The kinds of entries, as bits.
const (
	kindIPv4 = 1 << iota
	kindIPv6
	kindFailed // there is a failure
)

// failure has the errors of an entry, which few of them have.
type failure struct{ refused, err error }

// setClient sets the address of the client, without its zone.
func (e *entry) setClient(client netip.Addr) {
	e.addr = client.As16()
	switch {
	case client.Is4():
		e.kind |= kindIPv4
	case client.IsValid():
		e.kind |= kindIPv6
	}
}

// client returns the address of the client.
func (e *entry) client(zone []byte) netip.Addr {
	switch addr := netip.AddrFrom16(e.addr); {
	case e.kind&kindIPv4 != 0:
		return addr.Unmap()
	case e.kind&kindIPv6 == 0:
		return netip.Addr{}
	case len(zone) > 0:
		return addr.WithZone(string(zone))
	default:
		return addr
	}
}

// at returns the time of the request, in UTC.
func (e *entry) at() time.Time { return time.Unix(e.second, int64(e.nano)).UTC() }

// record is an entry being made.
type record struct {
	entry
	received time.Time
	failure  failure
	zone     string // of the address
	text     []byte // its texts
}

func newRecord() *record { return &record{text: make([]byte, 0, textOfEntry)} }

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
	r.received = ctx.Time()
	client := ctx.ClientIP()
	r.setClient(client)
	if zone := client.Zone(); zone != "" {
		r.zone = zone
	}
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

// finish records a response.
func (r *record) finish(taken time.Duration, sent fasthttp.SentResponse) {
	r.second, r.nano = r.received.Unix(), int32(r.received.Nanosecond())
	r.taken, r.status, r.bytes = taken, int32(sent.StatusCode), sent.Bytes
	if sent.Refused != nil || sent.Err != nil {
		r.kind |= kindFailed
		r.failure = failure{sent.Refused, sent.Err}
	}
	if r.zone != "" {
		r.set(textZone, []byte(r.zone))
	}
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
func (r *record) reset() {
	if r.kind&kindFailed != 0 {
		r.failure = failure{}
	}
	if r.zone != "" {
		r.zone = ""
	}
	r.entry, r.text = entry{}, r.text[:0]
}
