package field

import (
	"encoding/binary"

	"github.com/valyala/fasthttp/internal/ascii"
	"github.com/valyala/fasthttp/internal/bytesconv"
)

// ID identifies a well-known field name by a small number. Entries have it, so that
// a field that every message has is found without comparing names.
type ID uint8

// The well-known names. Unknown stands for all others.
const (
	Unknown ID = iota
	Accept
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
	Age
	Allow
	AltSvc
	Authorization
	CacheControl
	Connection
	ContentDisposition
	ContentEncoding
	ContentLanguage
	ContentLength
	ContentLocation
	ContentRange
	ContentSecurityPolicy
	ContentType
	Cookie
	Date
	Dnt
	Etag
	Expect
	Expires
	Forwarded
	From
	Host
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
	Origin
	Pragma
	Priority
	ProxyAuthenticate
	ProxyAuthorization
	ProxyConnection
	Range
	Referer
	RetryAfter
	SecFetchDest
	SecFetchMode
	SecFetchSite
	SecFetchUser
	SecWebsocketAccept
	SecWebsocketExtensions
	SecWebsocketKey
	SecWebsocketProtocol
	SecWebsocketVersion
	Server
	SetCookie
	StrictTransportSecurity
	Te
	Trailer
	TransferEncoding
	Upgrade
	UpgradeInsecureRequests
	UserAgent
	Vary
	Via
	WwwAuthenticate
	XContentTypeOptions
	XForwardedFor
	XForwardedHost
	XForwardedProto
	XFrameOptions
	XPoweredBy
	XRealIp
	XRequestId
	XRequestedWith
	numIDs
)

// names holds the well-known names in their normalised form.
var names = [numIDs]string{
	Accept:                        "Accept",
	AcceptCharset:                 "Accept-Charset",
	AcceptEncoding:                "Accept-Encoding",
	AcceptLanguage:                "Accept-Language",
	AcceptRanges:                  "Accept-Ranges",
	AccessControlAllowCredentials: "Access-Control-Allow-Credentials",
	AccessControlAllowHeaders:     "Access-Control-Allow-Headers",
	AccessControlAllowMethods:     "Access-Control-Allow-Methods",
	AccessControlAllowOrigin:      "Access-Control-Allow-Origin",
	AccessControlExposeHeaders:    "Access-Control-Expose-Headers",
	AccessControlMaxAge:           "Access-Control-Max-Age",
	AccessControlRequestHeaders:   "Access-Control-Request-Headers",
	AccessControlRequestMethod:    "Access-Control-Request-Method",
	Age:                           "Age",
	Allow:                         "Allow",
	AltSvc:                        "Alt-Svc",
	Authorization:                 "Authorization",
	CacheControl:                  "Cache-Control",
	Connection:                    "Connection",
	ContentDisposition:            "Content-Disposition",
	ContentEncoding:               "Content-Encoding",
	ContentLanguage:               "Content-Language",
	ContentLength:                 "Content-Length",
	ContentLocation:               "Content-Location",
	ContentRange:                  "Content-Range",
	ContentSecurityPolicy:         "Content-Security-Policy",
	ContentType:                   "Content-Type",
	Cookie:                        "Cookie",
	Date:                          "Date",
	Dnt:                           "Dnt",
	Etag:                          "Etag",
	Expect:                        "Expect",
	Expires:                       "Expires",
	Forwarded:                     "Forwarded",
	From:                          "From",
	Host:                          "Host",
	IfMatch:                       "If-Match",
	IfModifiedSince:               "If-Modified-Since",
	IfNoneMatch:                   "If-None-Match",
	IfRange:                       "If-Range",
	IfUnmodifiedSince:             "If-Unmodified-Since",
	KeepAlive:                     "Keep-Alive",
	LastModified:                  "Last-Modified",
	Link:                          "Link",
	Location:                      "Location",
	MaxForwards:                   "Max-Forwards",
	Origin:                        "Origin",
	Pragma:                        "Pragma",
	Priority:                      "Priority",
	ProxyAuthenticate:             "Proxy-Authenticate",
	ProxyAuthorization:            "Proxy-Authorization",
	ProxyConnection:               "Proxy-Connection",
	Range:                         "Range",
	Referer:                       "Referer",
	RetryAfter:                    "Retry-After",
	SecFetchDest:                  "Sec-Fetch-Dest",
	SecFetchMode:                  "Sec-Fetch-Mode",
	SecFetchSite:                  "Sec-Fetch-Site",
	SecFetchUser:                  "Sec-Fetch-User",
	SecWebsocketAccept:            "Sec-Websocket-Accept",
	SecWebsocketExtensions:        "Sec-Websocket-Extensions",
	SecWebsocketKey:               "Sec-Websocket-Key",
	SecWebsocketProtocol:          "Sec-Websocket-Protocol",
	SecWebsocketVersion:           "Sec-Websocket-Version",
	Server:                        "Server",
	SetCookie:                     "Set-Cookie",
	StrictTransportSecurity:       "Strict-Transport-Security",
	Te:                            "Te",
	Trailer:                       "Trailer",
	TransferEncoding:              "Transfer-Encoding",
	Upgrade:                       "Upgrade",
	UpgradeInsecureRequests:       "Upgrade-Insecure-Requests",
	UserAgent:                     "User-Agent",
	Vary:                          "Vary",
	Via:                           "Via",
	WwwAuthenticate:               "Www-Authenticate",
	XContentTypeOptions:           "X-Content-Type-Options",
	XForwardedFor:                 "X-Forwarded-For",
	XForwardedHost:                "X-Forwarded-Host",
	XForwardedProto:               "X-Forwarded-Proto",
	XFrameOptions:                 "X-Frame-Options",
	XPoweredBy:                    "X-Powered-By",
	XRealIp:                       "X-Real-Ip",
	XRequestId:                    "X-Request-Id",
	XRequestedWith:                "X-Requested-With",
}

// String returns the normalised name, or "" for Unknown.
func (id ID) String() string { return names[id] }

// Bytes returns the normalised name, which must not be written to.
func (id ID) Bytes() []byte { return bytesconv.Bytes(names[id]) }

const (
	slotBits = 9
	// found by trying random odd numbers until no two names shared a slot; a test
	// fails if an added name makes another number necessary
	slotFactor = 0x345b062254eeca2b
	sizeFactor = 0x9e3779b97f4a7c15
)

var slots = buildSlots()

func buildSlots() (t [1 << slotBits]ID) {
	for id := Unknown + 1; id < numIDs; id++ {
		t[slot(id.Bytes())] = id
	}
	return t
}

// slot computes a slot from the length and the ends of a name.
func slot(name []byte) uint64 {
	return (ends(name) + uint64(len(name))*sizeFactor) * slotFactor >> (64 - slotBits)
}

// ends returns the first and the last four bytes of a name, without regard to
// case.
func ends(name []byte) uint64 {
	var lo, hi uint32
	if n := len(name); n >= 4 {
		lo = binary.LittleEndian.Uint32(name)
		hi = binary.LittleEndian.Uint32(name[n-4:])
	} else {
		lo = uint32(name[0]) | uint32(name[n-1])<<8
		hi = uint32(name[n/2])
	}
	return (uint64(lo) | uint64(hi)<<32) | 0x2020202020202020
}

// Lookup returns the id of name, whatever its case, or Unknown.
func Lookup(name []byte) ID {
	id, _ := LookupForm(name)
	return id
}

// LookupForm is like Lookup, and also reports whether a known name is in its
// normalised form.
func LookupForm(name []byte) (id ID, normal bool) {
	if len(name) == 0 {
		return Unknown, false
	}
	id = slots[slot(name)]
	if known := id.Bytes(); len(name) == len(known) {
		if same, normal := compare(name, known); same {
			return id, normal
		}
	}
	return Unknown, false
}

// compare reports whether name equals known without regard to the case of letters,
// and whether it equals known byte for byte. Both have the same length, which is not
// 0. known consists of letters and hyphens; only letters have the bit 0x40, and the
// bit 0x20 is their case.
func compare(name, known []byte) (same, equal bool) {
	const letters = 0x4040404040404040
	var differ, wrong uint64
	if len(known) < 8 {
		n, k := shortWord(name), shortWord(known)
		differ = n ^ k
		wrong = differ &^ (k & letters >> 1)
		return wrong == 0, differ == 0
	}
	last := len(known) - 8
	for i := 0; ; i = min(i+8, last) {
		k := binary.LittleEndian.Uint64(known[i : i+8])
		d := binary.LittleEndian.Uint64(name[i:i+8]) ^ k
		differ |= d
		wrong |= d &^ (k & letters >> 1)
		if i == last {
			return wrong == 0, differ == 0
		}
	}
}

// shortWord packs a name of 1 to 7 bytes into a word. Bytes in the middle of the name
// may be in it twice.
func shortWord(name []byte) uint64 {
	if n := len(name); n >= 4 {
		return uint64(binary.LittleEndian.Uint32(name)) | uint64(binary.LittleEndian.Uint32(name[n-4:]))<<32
	}
	return uint64(name[0]) | uint64(name[len(name)/2])<<8 | uint64(name[len(name)-1])<<16
}

// Normalize converts name to its normalised form, in place: the first letter and
// those after a hyphen in upper case, all others in lower case.
func Normalize(name []byte) {
	up := true
	for i, c := range name {
		if up {
			name[i] = ascii.Upper(c)
		} else {
			name[i] = ascii.Lower(c)
		}
		up = c == '-'
	}
}
