// Package requestid gives each request of a server an id, by which its lines in the logs of all
// services can be found.
//
//	ids, err := requestid.New(requestid.Options{From: proxies})
//	...
//	ids.Attach(server)
//
// A request of a trusted peer, such as a proxy, keeps the id that it has. All others get a new one:
// a ULID, which has the time and 80 random bits in 26 letters and digits, and sorts by time. Every
// response has the id, also one of the server itself, such as a 413. FromContext and Bytes return
// it; package accesslog logs it with Options.IDField.
//
// An id is for finding things: do not use it as a secret, nor as a key that must be unique, since
// a trusted peer may send the same one twice.
package requestid

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"net/netip"
	"sync"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/ascii"
	"github.com/valyala/fasthttp/internal/peers"
)

// DefaultField is the name of the field if Options.Field is not set.
const DefaultField = "X-Request-Id"

// The length in bytes of an id that a peer may choose.
const (
	MinLength = 8
	MaxLength = 128
)

// Options has the settings of a Source. The zero value gives a new id to every request.
type Options struct {
	// Field is the name of the field with the id, in requests and responses; DefaultField if it is
	// empty.
	Field string

	// From are the addresses of the peers whose ids are accepted. An id has 8 to 128 letters,
	// digits, and characters of "-_.~:+/=@"; if another one is sent, or several are, the request
	// gets a new one. The field of any other peer is ignored, so that no client can choose what
	// logs contain.
	From []netip.Prefix

	// FromUnix accepts the ids of peers that connect through a Unix socket.
	FromUnix bool
}

// Source gives ids to requests. Use New to make one. Its methods may be called from any goroutine.
type Source struct {
	field   string
	trusted peers.Set
}

// New returns a source. It returns an error if Options.Field is not the name of a field.
func New(o Options) (*Source, error) {
	if o.Field == "" {
		o.Field = DefaultField
	}
	if !ascii.All([]byte(o.Field), ascii.Token) {
		return nil, fmt.Errorf("requestid: %q is no name of a field", o.Field)
	}
	return &Source{field: o.Field, trusted: peers.NewSet(o.From, o.FromUnix)}, nil
}

// Attach makes a server give ids to all requests. It is called before the server is started, and
// after Server.Handler and Server.ResponseReady were set: it puts functions around them.
func (s *Source) Attach(server *fasthttp.Server) {
	server.Handler = s.Handler(server.Handler)
	before := server.ResponseReady
	server.ResponseReady = func(ctx *fasthttp.RequestCtx) {
		s.finish(ctx)
		if before != nil {
			before(ctx)
		}
	}
}

// Handler returns a handler that gives the request an id, calls next, and sets the field of the
// response. It is for a part of a server: responses that the server makes itself, to requests that
// it refuses or whose handler has panicked, do not have the field. Attach is for a whole server.
func (s *Source) Handler(next fasthttp.RequestHandler) fasthttp.RequestHandler {
	return func(ctx *fasthttp.RequestCtx) {
		// a copy, since next may reset the values of ctx
		v := *s.begin(ctx)
		next(ctx)
		// an error resets the response, and a timeout has a response of its own
		resp := ctx.LastTimeoutErrorResponse()
		if resp == nil {
			resp = &ctx.Response
		}
		resp.Header.SetBytesV(s.field, v.id())
	}
}

// finish sets the field of a response just before it is sent.
func (s *Source) finish(ctx *fasthttp.RequestCtx) {
	v, _ := ctx.UserValue(key{}).(*value)
	if v == nil {
		if len(ctx.Response.Header.Peek(s.field)) > 0 {
			return // the response after a timeout
		}
		v = s.begin(ctx)
	}
	ctx.Response.Header.SetBytesV(s.field, v.id())
}

// begin returns the id of a request, which it makes if there is none.
func (s *Source) begin(ctx *fasthttp.RequestCtx) *value {
	if v, _ := ctx.UserValue(key{}).(*value); v != nil {
		return v
	}
	v := values.Get().(*value)
	if !v.accept(s.sent(ctx)) {
		v.make(ctx.Time())
	}
	ctx.SetUserValue(key{}, v)
	return v
}

// sent returns the id that a trusted peer has sent, or nil.
func (s *Source) sent(ctx *fasthttp.RequestCtx) (id []byte) {
	if !s.trusted.Has(ctx.RemoteAddr()) {
		return nil
	}
	if id = ctx.Request.Header.Peek(s.field); len(id) == 0 {
		return nil
	}
	if all := ctx.Request.Header.PeekAll(s.field); len(all) != 1 {
		return nil
	}
	return id
}

// FromContext returns the id of the request of ctx, which is a *fasthttp.RequestCtx or derived
// from one. It is empty if there is none. The result is a copy.
func FromContext(ctx context.Context) string {
	v, _ := ctx.Value(key{}).(*value)
	if v == nil {
		return ""
	}
	return string(v.id())
}

// Bytes returns the id of a request, or nil if it has none. It allocates nothing, and the result is
// valid until the handler returns.
func Bytes(ctx *fasthttp.RequestCtx) []byte {
	v, _ := ctx.UserValue(key{}).(*value)
	if v == nil {
		return nil
	}
	return v.id()
}

// key is the key of the id among the values of a request.
type key struct{}

// value is an id.
type value struct {
	text   [MaxLength]byte
	length int
}

var values = sync.Pool{New: func() any { return new(value) }}

func (v *value) id() []byte { return v.text[:v.length] }

// Close is called at the end of the request.
func (v *value) Close() error {
	values.Put(v)
	return nil
}

// accept copies an id, and reports whether it is valid.
func (v *value) accept(id []byte) bool {
	if len(id) < MinLength || len(id) > MaxLength {
		return false
	}
	for _, c := range id {
		if !valid[c] {
			return false
		}
	}
	v.length = copy(v.text[:], id)
	return true
}

// valid are the characters of ids that are accepted. None of them has a meaning in logs, shells
// within quotes, or HTML.
var valid = func() (set [256]bool) {
	for _, c := range []byte("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_.~:+/=@") {
		set[c] = true
	}
	return set
}()

// digits are the digits of ULIDs, in Crockford's Base32.
const digits = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

// length is how many digits an ULID has: 10 for the time in milliseconds, 16 for 80 random bits.
const length = 26

// make makes a new id.
func (v *value) make(at time.Time) {
	var random [16]byte
	_, _ = rand.Read(random[:10]) // never fails
	v.length = length
	ms := uint64(at.UnixMilli())
	for i := 9; i >= 0; i-- {
		v.text[i] = digits[ms&31]
		ms >>= 5
	}
	for part := range 2 {
		// 40 bits are 8 digits
		bits := binary.BigEndian.Uint64(random[5*part:]) >> 24
		for i := 7; i >= 0; i-- {
			v.text[10+8*part+i] = digits[bits&31]
			bits >>= 5
		}
	}
}
