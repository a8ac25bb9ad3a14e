package field

import (
	"encoding/binary"
	"math/bits"

	"github.com/valyala/fasthttp/internal/ascii"
	"github.com/valyala/fasthttp/internal/bytesconv"
)

// ID identifies a well-known field name by a small number. It is stored in entries, so
// that a field that every message has is found without comparing names.
type ID uint8

// The well-known names. Unknown is for all others.
const (
	Unknown ID = iota
	Accept
	AcceptCh
	AcceptCharset
	AcceptEncoding
	AcceptLanguage
	AcceptRanges
	AccessControlAllowCredentials
	AccessControlAllowHeaders
	AccessControlAllowMethods
	AccessControlAllowOrigin
	AccessControlExposeHeaders
	AccessControlMaxAge
	AccessControlRequestHeaders
	AccessControlRequestMethod
	AccessControlRequestPrivateNetwork
	Age
	Allow
	AltSvc
	Authorization
	Baggage
	CacheControl
	CfCacheStatus
	CfConnectingIp
	CfIpcountry
	CfRay
	CfVisitor
	Connection
	ContentDisposition
	ContentEncoding
	ContentLanguage
	ContentLength
	ContentLocation
	ContentRange
	ContentSecurityPolicy
	ContentSecurityPolicyReportOnly
	ContentType
	Cookie
	CrossOriginEmbedderPolicy
	CrossOriginOpenerPolicy
	CrossOriginResourcePolicy
	Date
	Dnt
	EarlyData
	Etag
	Expect
	Expires
	Forwarded
	From
	Host
	Http2Settings
	IdempotencyKey
	IfMatch
	IfModifiedSince
	IfNoneMatch
	IfRange
	IfUnmodifiedSince
	KeepAlive
	LastModified
	Link
	Location
	MaxForwards
	Nel
	Origin
	PermissionsPolicy
	Pragma
	Priority
	ProxyAuthenticate
	ProxyAuthorization
	ProxyConnection
	Range
	Referer
	ReferrerPolicy
	ReportTo
	RetryAfter
	SaveData
	SecChUa
	SecChUaArch
	SecChUaMobile
	SecChUaModel
	SecChUaPlatform
	SecFetchDest
	SecFetchMode
	SecFetchSite
	SecFetchStorageAccess
	SecFetchUser
	SecGpc
	SecPurpose
	SecWebsocketAccept
	SecWebsocketExtensions
	SecWebsocketKey
	SecWebsocketProtocol
	SecWebsocketVersion
	Server
	ServerTiming
	SetCookie
	StrictTransportSecurity
	Te
	TimingAllowOrigin
	Traceparent
	Tracestate
	Trailer
	TransferEncoding
	TrueClientIp
	Upgrade
	UpgradeInsecureRequests
	UserAgent
	Vary
	Via
	WwwAuthenticate
	XAmznTraceId
	XApiKey
	XB3Sampled
	XB3Spanid
	XB3Traceid
	XCache
	XCloudTraceContext
	XContentTypeOptions
	XCorrelationId
	XCsrfToken
	XEnvoyAttemptCount
	XEnvoyUpstreamServiceTime
	XForwardedFor
	XForwardedHost
	XForwardedPort
	XForwardedProto
	XForwardedServer
	XFrameOptions
	XPoweredBy
	XRatelimitLimit
	XRatelimitRemaining
	XRatelimitReset
	XRealIp
	XRequestId
	XRequestStart
	XRequestedWith
	XRuntime
	XServedBy
	XXssProtection
	numIDs
)

// NumIDs is the number of ids, including Unknown. All ids are less.
const NumIDs = int(numIDs)

// names holds the well-known names in their normalised form.
var names = [numIDs]string{
	Accept:                             "Accept",
	AcceptCh:                           "Accept-Ch",
	AcceptCharset:                      "Accept-Charset",
	AcceptEncoding:                     "Accept-Encoding",
	AcceptLanguage:                     "Accept-Language",
	AcceptRanges:                       "Accept-Ranges",
	AccessControlAllowCredentials:      "Access-Control-Allow-Credentials",
	AccessControlAllowHeaders:          "Access-Control-Allow-Headers",
	AccessControlAllowMethods:          "Access-Control-Allow-Methods",
	AccessControlAllowOrigin:           "Access-Control-Allow-Origin",
	AccessControlExposeHeaders:         "Access-Control-Expose-Headers",
	AccessControlMaxAge:                "Access-Control-Max-Age",
	AccessControlRequestHeaders:        "Access-Control-Request-Headers",
	AccessControlRequestMethod:         "Access-Control-Request-Method",
	AccessControlRequestPrivateNetwork: "Access-Control-Request-Private-Network",
	Age:                                "Age",
	Allow:                              "Allow",
	AltSvc:                             "Alt-Svc",
	Authorization:                      "Authorization",
	Baggage:                            "Baggage",
	CacheControl:                       "Cache-Control",
	CfCacheStatus:                      "Cf-Cache-Status",
	CfConnectingIp:                     "Cf-Connecting-Ip",
	CfIpcountry:                        "Cf-Ipcountry",
	CfRay:                              "Cf-Ray",
	CfVisitor:                          "Cf-Visitor",
	Connection:                         "Connection",
	ContentDisposition:                 "Content-Disposition",
	ContentEncoding:                    "Content-Encoding",
	ContentLanguage:                    "Content-Language",
	ContentLength:                      "Content-Length",
	ContentLocation:                    "Content-Location",
	ContentRange:                       "Content-Range",
	ContentSecurityPolicy:              "Content-Security-Policy",
	ContentSecurityPolicyReportOnly:    "Content-Security-Policy-Report-Only",
	ContentType:                        "Content-Type",
	Cookie:                             "Cookie",
	CrossOriginEmbedderPolicy:          "Cross-Origin-Embedder-Policy",
	CrossOriginOpenerPolicy:            "Cross-Origin-Opener-Policy",
	CrossOriginResourcePolicy:          "Cross-Origin-Resource-Policy",
	Date:                               "Date",
	Dnt:                                "Dnt",
	EarlyData:                          "Early-Data",
	Etag:                               "Etag",
	Expect:                             "Expect",
	Expires:                            "Expires",
	Forwarded:                          "Forwarded",
	From:                               "From",
	Host:                               "Host",
	Http2Settings:                      "Http2-Settings",
	IdempotencyKey:                     "Idempotency-Key",
	IfMatch:                            "If-Match",
	IfModifiedSince:                    "If-Modified-Since",
	IfNoneMatch:                        "If-None-Match",
	IfRange:                            "If-Range",
	IfUnmodifiedSince:                  "If-Unmodified-Since",
	KeepAlive:                          "Keep-Alive",
	LastModified:                       "Last-Modified",
	Link:                               "Link",
	Location:                           "Location",
	MaxForwards:                        "Max-Forwards",
	Nel:                                "Nel",
	Origin:                             "Origin",
	PermissionsPolicy:                  "Permissions-Policy",
	Pragma:                             "Pragma",
	Priority:                           "Priority",
	ProxyAuthenticate:                  "Proxy-Authenticate",
	ProxyAuthorization:                 "Proxy-Authorization",
	ProxyConnection:                    "Proxy-Connection",
	Range:                              "Range",
	Referer:                            "Referer",
	ReferrerPolicy:                     "Referrer-Policy",
	ReportTo:                           "Report-To",
	RetryAfter:                         "Retry-After",
	SaveData:                           "Save-Data",
	SecChUa:                            "Sec-Ch-Ua",
	SecChUaArch:                        "Sec-Ch-Ua-Arch",
	SecChUaMobile:                      "Sec-Ch-Ua-Mobile",
	SecChUaModel:                       "Sec-Ch-Ua-Model",
	SecChUaPlatform:                    "Sec-Ch-Ua-Platform",
	SecFetchDest:                       "Sec-Fetch-Dest",
	SecFetchMode:                       "Sec-Fetch-Mode",
	SecFetchSite:                       "Sec-Fetch-Site",
	SecFetchStorageAccess:              "Sec-Fetch-Storage-Access",
	SecFetchUser:                       "Sec-Fetch-User",
	SecGpc:                             "Sec-Gpc",
	SecPurpose:                         "Sec-Purpose",
	SecWebsocketAccept:                 "Sec-Websocket-Accept",
	SecWebsocketExtensions:             "Sec-Websocket-Extensions",
	SecWebsocketKey:                    "Sec-Websocket-Key",
	SecWebsocketProtocol:               "Sec-Websocket-Protocol",
	SecWebsocketVersion:                "Sec-Websocket-Version",
	Server:                             "Server",
	ServerTiming:                       "Server-Timing",
	SetCookie:                          "Set-Cookie",
	StrictTransportSecurity:            "Strict-Transport-Security",
	Te:                                 "Te",
	TimingAllowOrigin:                  "Timing-Allow-Origin",
	Traceparent:                        "Traceparent",
	Tracestate:                         "Tracestate",
	Trailer:                            "Trailer",
	TransferEncoding:                   "Transfer-Encoding",
	TrueClientIp:                       "True-Client-Ip",
	Upgrade:                            "Upgrade",
	UpgradeInsecureRequests:            "Upgrade-Insecure-Requests",
	UserAgent:                          "User-Agent",
	Vary:                               "Vary",
	Via:                                "Via",
	WwwAuthenticate:                    "Www-Authenticate",
	XAmznTraceId:                       "X-Amzn-Trace-Id",
	XApiKey:                            "X-Api-Key",
	XB3Sampled:                         "X-B3-Sampled",
	XB3Spanid:                          "X-B3-Spanid",
	XB3Traceid:                         "X-B3-Traceid",
	XCache:                             "X-Cache",
	XCloudTraceContext:                 "X-Cloud-Trace-Context",
	XContentTypeOptions:                "X-Content-Type-Options",
	XCorrelationId:                     "X-Correlation-Id",
	XCsrfToken:                         "X-Csrf-Token",
	XEnvoyAttemptCount:                 "X-Envoy-Attempt-Count",
	XEnvoyUpstreamServiceTime:          "X-Envoy-Upstream-Service-Time",
	XForwardedFor:                      "X-Forwarded-For",
	XForwardedHost:                     "X-Forwarded-Host",
	XForwardedPort:                     "X-Forwarded-Port",
	XForwardedProto:                    "X-Forwarded-Proto",
	XForwardedServer:                   "X-Forwarded-Server",
	XFrameOptions:                      "X-Frame-Options",
	XPoweredBy:                         "X-Powered-By",
	XRatelimitLimit:                    "X-Ratelimit-Limit",
	XRatelimitRemaining:                "X-Ratelimit-Remaining",
	XRatelimitReset:                    "X-Ratelimit-Reset",
	XRealIp:                            "X-Real-Ip",
	XRequestId:                         "X-Request-Id",
	XRequestStart:                      "X-Request-Start",
	XRequestedWith:                     "X-Requested-With",
	XRuntime:                           "X-Runtime",
	XServedBy:                          "X-Served-By",
	XXssProtection:                     "X-Xss-Protection",
}

// String returns the normalised name, or "" for Unknown.
func (id ID) String() string { return names[id] }

// Bytes returns the normalised name, which must not be written to.
func (id ID) Bytes() []byte { return bytesconv.Bytes(names[id]) }

// words is the key for the look-up of a name: its first and its last eight bytes, which
// overlap in a name of fewer than 16. If the name has fewer than eight, both are the whole
// name, padded with zeros.
type words struct{ first, last uint64 }

func wordsOf(name []byte) (w words) {
	if n := len(name); n >= 8 {
		return words{binary.LittleEndian.Uint64(name), binary.LittleEndian.Uint64(name[n-8:])}
	}
	if n := len(name); n >= 4 {
		// the two halves may have bytes in common
		w.first = uint64(binary.LittleEndian.Uint32(name)) | uint64(binary.LittleEndian.Uint32(name[n-4:]))<<(8*(n-4))
	} else {
		for i, c := range name {
			w.first |= uint64(c) << (8 * i)
		}
	}
	w.last = w.first
	return w
}

const (
	slotBits = 10
	// found by trying random odd numbers until no two names shared a slot; a test
	// fails if an added name makes another number necessary
	slotFactor = 0xce524e50f9740e05
	lowerCase  = 0x2020202020202020
)

// slot computes a slot from the length and the ends of a name, without regard to case. It
// rotates by whole bytes, so that one operation removes the case from both ends.
func (w words) slot(size int) uint64 {
	return ((w.first ^ bits.RotateLeft64(w.last, 24) | lowerCase) ^ uint64(size)) * slotFactor >> (64 - slotBits)
}

// known is a well-known name in the form that LookupWords compares, except for its ends.
type known struct {
	// fold has the bit 0x20 set for every letter: it is the case of the letter
	fold words
	// second and third are as in HasMiddle, for a name of more than 16 bytes
	second, third uint64
	size          int
}

// slots holds the ids of the well-known names in their slots. LookupWords compares a name
// with ends and table.
var slots, ends, table = buildTable()

// ends and table have an element for every possible ID, so that no index is checked.
func buildTable() (slots [1 << slotBits]ID, ends [256]words, table [256]known) {
	for id := Unknown + 1; id < numIDs; id++ {
		name := id.Bytes()
		w := wordsOf(name)
		k := known{fold: words{letters(w.first), letters(w.last)}, size: len(name)}
		if len(name) > 16 {
			k.second = binary.LittleEndian.Uint64(name[8:])
			k.third = binary.LittleEndian.Uint64(name[len(name)-16:])
		}
		ends[id], table[id] = w, k
		slots[w.slot(len(name))] = id
	}
	// no name has this size, and none in a message these ends
	ends[Unknown], table[Unknown].size = words{noName, noName}, -1
	return slots, ends, table
}

// noName is eight colons.
const noName = ':' * 0x0101010101010101

// letters returns a word with the bit 0x20 set for every letter in w. w is a part of a
// well-known name, or padding: of its bytes, only letters have the bit 0x40.
func letters(w uint64) uint64 { return w & 0x4040404040404040 >> 1 }

// Lookup returns the id of name, whatever its case, or Unknown.
func Lookup(name []byte) ID {
	id, _ := LookupForm(name)
	return id
}

// LookupForm is like Lookup, and also reports whether a known name is in its
// normalised form.
func LookupForm(name []byte) (id ID, normal bool) {
	w := wordsOf(name)
	return LookupWords(w.first, w.last, name)
}

// Usual returns the only id that a name with these ends, as in LookupWords, and this size
// can have, and reports whether the ends equal the ends of its normalised form. Then the
// name is the normalised one if it has at most 16 bytes, or if HasMiddle is true, too.
//
// The sizes need not be compared: names with the same ends, but another size, have another
// slot.
func Usual(first, last uint64, size int) (id ID, ok bool) {
	id = slots[words{first, last}.slot(size)]
	e := &ends[id]
	return id, e.first == first && e.last == last
}

// HasMiddle reports whether the name of id has size bytes, 17 to 32, with second as its
// second eight bytes, and third as the eight bytes before its last eight.
func (id ID) HasMiddle(second, third uint64, size int) bool {
	k := &table[id]
	return k.second == second && k.third == third && k.size == size && size <= 32
}

// LookupWords is LookupForm for a caller that has the first eight bytes of the name and
// its last eight as little-endian words. If the name has fewer than eight bytes, both
// words are the whole name, followed by zeros.
func LookupWords(first, last uint64, name []byte) (id ID, normal bool) {
	id = slots[words{first, last}.slot(len(name))]
	k := &table[id]
	if k.size != len(name) {
		return Unknown, false
	}
	differ := words{first ^ ends[id].first, last ^ ends[id].last}
	if differ.first&^k.fold.first|differ.last&^k.fold.last != 0 {
		return Unknown, false
	}
	normal = differ == words{}
	if len(name) > 16 {
		middle := names[id][8 : len(name)-8]
		if string(name[8:len(name)-8]) != middle {
			return id.ifFolded(name[8:len(name)-8], middle)
		}
	}
	return id, normal
}

// ifFolded returns id if a and b, parts of names, differ in nothing but their case.
func (id ID) ifFolded(a []byte, b string) (_ ID, normal bool) {
	if ascii.EqualFoldString(a, b) {
		return id, false
	}
	return Unknown, false
}

// Normalize converts name to its normalised form, in place: the first letter and every
// letter after a hyphen in upper case, all others in lower case.
func Normalize(name []byte) { ascii.Capitalize(name, '-') }
