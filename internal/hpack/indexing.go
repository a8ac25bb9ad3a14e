package hpack

import "github.com/valyala/fasthttp/internal/field"

// Indexing is how Encoder represents a field missing in both tables.
type Indexing uint8

const (
	Index Indexing = iota // with an entry in the dynamic table, for a repeated field
	Plain                 // without one
	Never                 // without one, in any intermediary's table either (RFC 7541 section 7.1.3)
)

const (
	// A value of fewer bytes may be guessed: an attacker that sees the size of blocks, and
	// can add fields to them, finds out whether its guess was in the table.
	shortSecret = 20
	// A larger value evicts many entries, and mostly belongs to one message.
	longValue = 1024
)

// IndexingOf returns how a field is best represented. It is Plain for names whose values
// mostly differ from message to message. The id of a pseudo-field is Unknown, so the caller
// decides: Plain for ":path", and Index for the others.
func IndexingOf(id field.ID, value []byte) Indexing {
	how := indexing[id]
	if how == Index && len(value) > longValue {
		return Plain
	}
	if id == field.Cookie && len(value) < shortSecret {
		return Never
	}
	return how
}

// indexing has the exceptions from Index.
var indexing = [256]Indexing{
	field.Authorization: Never, field.ProxyAuthorization: Never, field.XApiKey: Never, field.XCsrfToken: Never,

	field.Age: Plain, field.ContentDisposition: Plain, field.ContentLength: Plain, field.ContentRange: Plain,
	field.Etag: Plain, field.Expires: Plain, field.LastModified: Plain, field.Location: Plain, field.ContentLocation: Plain,
	field.SetCookie: Plain, field.IfMatch: Plain, field.IfNoneMatch: Plain, field.IfModifiedSince: Plain,
	field.IfUnmodifiedSince: Plain, field.IfRange: Plain, field.Range: Plain, field.IdempotencyKey: Plain,
	field.CfRay: Plain, field.ServerTiming: Plain, field.Traceparent: Plain, field.Tracestate: Plain,
	field.XAmznTraceId: Plain, field.XB3Spanid: Plain, field.XB3Traceid: Plain, field.XCloudTraceContext: Plain,
	field.XCorrelationId: Plain, field.XEnvoyUpstreamServiceTime: Plain, field.XRequestId: Plain, field.XRequestStart: Plain,
	field.XRatelimitRemaining: Plain, field.XRatelimitReset: Plain, field.XRuntime: Plain,
	field.Forwarded: Plain, field.XForwardedFor: Plain, field.XRealIp: Plain, field.CfConnectingIp: Plain, field.TrueClientIp: Plain,
	field.SecWebsocketKey: Plain, field.SecWebsocketAccept: Plain,
}
