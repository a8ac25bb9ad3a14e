package fasthttp

import (
	"github.com/valyala/fasthttp/internal/header"
	"github.com/valyala/fasthttp/internal/http1"
)

// Informational status codes: the final response follows (RFC 9110 section 15.2).
const (
	StatusContinue           = 100 // RFC 9110 section 15.2.1
	StatusSwitchingProtocols = 101 // RFC 9110 section 15.2.2
	StatusProcessing         = 102 // RFC 2518 section 10.1
	StatusEarlyHints         = 103 // RFC 8297 section 2
)

// Successful status codes: the request was received, understood and accepted
// (RFC 9110 section 15.3).
const (
	StatusOK                   = 200 // RFC 9110 section 15.3.1
	StatusCreated              = 201 // RFC 9110 section 15.3.2
	StatusAccepted             = 202 // RFC 9110 section 15.3.3
	StatusNonAuthoritativeInfo = 203 // RFC 9110 section 15.3.4
	StatusNoContent            = 204 // RFC 9110 section 15.3.5
	StatusResetContent         = 205 // RFC 9110 section 15.3.6
	StatusPartialContent       = 206 // RFC 9110 section 15.3.7
	StatusMultiStatus          = 207 // RFC 4918 section 11.1
	StatusAlreadyReported      = 208 // RFC 5842 section 7.1
	StatusIMUsed               = 226 // RFC 3229 section 10.4.1
)

// Redirection status codes: the client has to do something more, mostly to send a request
// to another URI (RFC 9110 section 15.4).
const (
	StatusMultipleChoices   = 300 // RFC 9110 section 15.4.1
	StatusMovedPermanently  = 301 // RFC 9110 section 15.4.2
	StatusFound             = 302 // RFC 9110 section 15.4.3
	StatusSeeOther          = 303 // RFC 9110 section 15.4.4
	StatusNotModified       = 304 // RFC 9110 section 15.4.5
	StatusUseProxy          = 305 // RFC 9110 section 15.4.6, deprecated there
	StatusTemporaryRedirect = 307 // RFC 9110 section 15.4.8
	StatusPermanentRedirect = 308 // RFC 9110 section 15.4.9
)

// Client error status codes: the request is wrong, or the server refuses it to this client
// (RFC 9110 section 15.5).
const (
	StatusBadRequest                   = 400 // RFC 9110 section 15.5.1
	StatusUnauthorized                 = 401 // RFC 9110 section 15.5.2
	StatusPaymentRequired              = 402 // RFC 9110 section 15.5.3
	StatusForbidden                    = 403 // RFC 9110 section 15.5.4
	StatusNotFound                     = 404 // RFC 9110 section 15.5.5
	StatusMethodNotAllowed             = 405 // RFC 9110 section 15.5.6
	StatusNotAcceptable                = 406 // RFC 9110 section 15.5.7
	StatusProxyAuthRequired            = 407 // RFC 9110 section 15.5.8
	StatusRequestTimeout               = 408 // RFC 9110 section 15.5.9
	StatusConflict                     = 409 // RFC 9110 section 15.5.10
	StatusGone                         = 410 // RFC 9110 section 15.5.11
	StatusLengthRequired               = 411 // RFC 9110 section 15.5.12
	StatusPreconditionFailed           = 412 // RFC 9110 section 15.5.13
	StatusRequestEntityTooLarge        = 413 // RFC 9110 section 15.5.14, "Content Too Large"
	StatusRequestURITooLong            = 414 // RFC 9110 section 15.5.15
	StatusUnsupportedMediaType         = 415 // RFC 9110 section 15.5.16
	StatusRequestedRangeNotSatisfiable = 416 // RFC 9110 section 15.5.17
	StatusExpectationFailed            = 417 // RFC 9110 section 15.5.18
	StatusTeapot                       = 418 // RFC 9110 section 15.5.19, RFC 2324 section 2.3.2
	StatusMisdirectedRequest           = 421 // RFC 9110 section 15.5.20
	StatusUnprocessableEntity          = 422 // RFC 9110 section 15.5.21, "Unprocessable Content"
	StatusLocked                       = 423 // RFC 4918 section 11.3
	StatusFailedDependency             = 424 // RFC 4918 section 11.4
	StatusUpgradeRequired              = 426 // RFC 9110 section 15.5.22
	StatusPreconditionRequired         = 428 // RFC 6585 section 3
	StatusTooManyRequests              = 429 // RFC 6585 section 4
	StatusRequestHeaderFieldsTooLarge  = 431 // RFC 6585 section 5
	StatusUnavailableForLegalReasons   = 451 // RFC 7725 section 3
)

// Server error status codes: the request may be right, but the server cannot or will not
// fulfill it (RFC 9110 section 15.6).
const (
	StatusInternalServerError           = 500 // RFC 9110 section 15.6.1
	StatusNotImplemented                = 501 // RFC 9110 section 15.6.2
	StatusBadGateway                    = 502 // RFC 9110 section 15.6.3
	StatusServiceUnavailable            = 503 // RFC 9110 section 15.6.4
	StatusGatewayTimeout                = 504 // RFC 9110 section 15.6.5
	StatusHTTPVersionNotSupported       = 505 // RFC 9110 section 15.6.6
	StatusVariantAlsoNegotiates         = 506 // RFC 2295 section 8.1
	StatusInsufficientStorage           = 507 // RFC 4918 section 11.5
	StatusLoopDetected                  = 508 // RFC 5842 section 7.2
	StatusNotExtended                   = 510 // RFC 2774 section 7
	StatusNetworkAuthenticationRequired = 511 // RFC 6585 section 6
)

// StatusMessage returns the reason phrase of statusCode, such as "Not Found" for 404. For
// any code without a Status constant it returns "Unknown Status Code"; the result is never
// empty.
func StatusMessage(statusCode int) string { return http1.Reason(statusCode) }

// StatusCodeIsRedirect reports whether a client that follows redirects follows the Location
// of a response with this code: 301, 302, 303, 307 or 308.
func StatusCodeIsRedirect(statusCode int) bool {
	switch statusCode {
	case StatusMovedPermanently, StatusFound, StatusSeeOther,
		StatusTemporaryRedirect, StatusPermanentRedirect:
		return true
	}
	return false
}

// Request methods. They are case-sensitive. The comments name the specification of each
// method, and whether it is safe (read-only) and idempotent (two requests have the same
// effect as one), as RFC 9110 section 9.2 defines it.
const (
	MethodGet     = "GET"     // RFC 9110 section 9.3.1; safe, idempotent
	MethodHead    = "HEAD"    // RFC 9110 section 9.3.2; safe, idempotent
	MethodPost    = "POST"    // RFC 9110 section 9.3.3
	MethodPut     = "PUT"     // RFC 9110 section 9.3.4; idempotent
	MethodPatch   = "PATCH"   // RFC 5789 section 2
	MethodDelete  = "DELETE"  // RFC 9110 section 9.3.5; idempotent
	MethodConnect = "CONNECT" // RFC 9110 section 9.3.6
	MethodOptions = "OPTIONS" // RFC 9110 section 9.3.7; safe, idempotent
	MethodTrace   = "TRACE"   // RFC 9110 section 9.3.8; safe, idempotent
	MethodQuery   = "QUERY"   // the HTTP QUERY method of the IETF's httpbis group; safe, idempotent
)

// defaultType is the Content-Type of a response if none was set.
const defaultType = header.DefaultType

// Texts of the protocol as bytes. They must not be modified.
var (
	strHTTP3       = []byte("HTTP/3.0")
	strSlash       = []byte("/")
	strCRLF        = []byte("\r\n")
	strCommaSpace  = []byte(", ")
	strTextPlain   = []byte(defaultType)
	strOctetStream = []byte("application/octet-stream")
	strFormURL     = []byte("application/x-www-form-urlencoded")
)

// noCopy makes go vet report copies of the struct that holds it.
type noCopy struct{}

func (*noCopy) Lock()   {}
func (*noCopy) Unlock() {}
