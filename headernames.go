package fasthttp

// Names of header fields, in their normalized spelling or as their specification spells
// them. The case of field names does not matter (RFC 9110 section 5.1).
const (
	// Authentication (RFC 9110 section 11).

	HeaderWWWAuthenticate    = "WWW-Authenticate"
	HeaderAuthorization      = "Authorization"
	HeaderProxyAuthenticate  = "Proxy-Authenticate"
	HeaderProxyAuthorization = "Proxy-Authorization"

	// Caching (RFC 9111 section 5). Pragma and Warning are deprecated there.
	// Clear-Site-Data is W3C's.

	HeaderAge           = "Age"
	HeaderCacheControl  = "Cache-Control"
	HeaderClearSiteData = "Clear-Site-Data"
	HeaderExpires       = "Expires"
	HeaderPragma        = "Pragma"
	HeaderWarning       = "Warning"

	// Client hints (RFC 8942, and older drafts of it); Early-Data is RFC 8470's.

	HeaderAcceptCH         = "Accept-CH"
	HeaderAcceptCHLifetime = "Accept-CH-Lifetime"
	HeaderContentDPR       = "Content-DPR"
	HeaderDPR              = "DPR"
	HeaderEarlyData        = "Early-Data"
	HeaderSaveData         = "Save-Data"
	HeaderViewportWidth    = "Viewport-Width"
	HeaderWidth            = "Width"

	// Validators and conditional requests (RFC 9110 sections 8.8 and 13.1; Vary is
	// in section 12.5.5).

	HeaderETag              = "ETag"
	HeaderLastModified      = "Last-Modified"
	HeaderIfMatch           = "If-Match"
	HeaderIfNoneMatch       = "If-None-Match"
	HeaderIfModifiedSince   = "If-Modified-Since"
	HeaderIfUnmodifiedSince = "If-Unmodified-Since"
	HeaderVary              = "Vary"

	// The connection itself (RFC 9110 section 7.6, RFC 9112 section 9). They concern
	// one hop and are not passed on.

	HeaderConnection      = "Connection"
	HeaderKeepAlive       = "Keep-Alive"
	HeaderProxyConnection = "Proxy-Connection"

	// Content negotiation (RFC 9110 section 12.5).

	HeaderAccept         = "Accept"
	HeaderAcceptCharset  = "Accept-Charset"
	HeaderAcceptEncoding = "Accept-Encoding"
	HeaderAcceptLanguage = "Accept-Language"

	// Cookies (RFC 6265 section 4; Cookie2 belongs to the obsolete RFC 2965).

	HeaderCookie    = "Cookie"
	HeaderSetCookie = "Set-Cookie"
	HeaderCookie2   = "Cookie2"

	// Cross-origin requests (the Fetch standard of the WHATWG; Timing-Allow-Origin is
	// W3C's, X-Permitted-Cross-Domain-Policies is Adobe's).

	HeaderAccessControlAllowCredentials = "Access-Control-Allow-Credentials"
	HeaderAccessControlAllowHeaders     = "Access-Control-Allow-Headers"
	HeaderAccessControlAllowMethods     = "Access-Control-Allow-Methods"
	HeaderAccessControlAllowOrigin      = "Access-Control-Allow-Origin"
	HeaderAccessControlExposeHeaders    = "Access-Control-Expose-Headers"
	HeaderAccessControlMaxAge           = "Access-Control-Max-Age"
	HeaderAccessControlRequestHeaders   = "Access-Control-Request-Headers"
	HeaderAccessControlRequestMethod    = "Access-Control-Request-Method"
	HeaderOrigin                        = "Origin"
	HeaderTimingAllowOrigin             = "Timing-Allow-Origin"
	HeaderXPermittedCrossDomainPolicies = "X-Permitted-Cross-Domain-Policies"

	// Tracking preference (W3C).

	HeaderDNT = "DNT"
	HeaderTk  = "Tk"

	// Downloads (RFC 6266).

	HeaderContentDisposition = "Content-Disposition"

	// The content of a message (RFC 9110 sections 8.3 to 8.7).

	HeaderContentEncoding = "Content-Encoding"
	HeaderContentLanguage = "Content-Language"
	HeaderContentLength   = "Content-Length"
	HeaderContentLocation = "Content-Location"
	HeaderContentType     = "Content-Type"

	// Proxies (RFC 7239, RFC 9110 section 7.6.3, and older names without a standard).

	HeaderForwarded       = "Forwarded"
	HeaderVia             = "Via"
	HeaderXForwardedFor   = "X-Forwarded-For"
	HeaderXForwardedHost  = "X-Forwarded-Host"
	HeaderXForwardedProto = "X-Forwarded-Proto"

	// The target of a redirect or the address of a resource (RFC 9110 section 10.2.2).

	HeaderLocation = "Location"

	// The context of a request (RFC 9110 sections 7.2, 10.1 and 7.6.2; Referrer-Policy
	// is W3C's).

	HeaderExpect         = "Expect"
	HeaderFrom           = "From"
	HeaderHost           = "Host"
	HeaderMaxForwards    = "Max-Forwards"
	HeaderReferer        = "Referer"
	HeaderReferrerPolicy = "Referrer-Policy"
	HeaderUserAgent      = "User-Agent"

	// The context of a response (RFC 9110 section 10.2).

	HeaderAllow  = "Allow"
	HeaderServer = "Server"

	// Ranges (RFC 9110 section 14; If-Range is in section 13.1.5).

	HeaderAcceptRanges = "Accept-Ranges"
	HeaderContentRange = "Content-Range"
	HeaderIfRange      = "If-Range"
	HeaderRange        = "Range"

	// Security (RFC 6797, RFC 7034, RFC 7469, RFC 9163, and W3C and WHATWG
	// standards).

	HeaderContentSecurityPolicy           = "Content-Security-Policy"
	HeaderContentSecurityPolicyReportOnly = "Content-Security-Policy-Report-Only"
	HeaderCrossOriginResourcePolicy       = "Cross-Origin-Resource-Policy"
	HeaderExpectCT                        = "Expect-CT"
	HeaderFeaturePolicy                   = "Feature-Policy"
	HeaderPublicKeyPins                   = "Public-Key-Pins"
	HeaderPublicKeyPinsReportOnly         = "Public-Key-Pins-Report-Only"
	HeaderStrictTransportSecurity         = "Strict-Transport-Security"
	HeaderUpgradeInsecureRequests         = "Upgrade-Insecure-Requests"
	HeaderXContentTypeOptions             = "X-Content-Type-Options"
	HeaderXDownloadOptions                = "X-Download-Options"
	HeaderXFrameOptions                   = "X-Frame-Options"
	HeaderXPoweredBy                      = "X-Powered-By"
	HeaderXXSSProtection                  = "X-XSS-Protection"

	// Server-sent events and reporting (WHATWG and W3C).

	HeaderLastEventID = "Last-Event-ID"
	HeaderNEL         = "NEL"
	HeaderPingFrom    = "Ping-From"
	HeaderPingTo      = "Ping-To"
	HeaderReportTo    = "Report-To"

	// Framing and transfer (RFC 9110 sections 6.6.2 and 10.1.4, RFC 9112 section 6.1).

	HeaderTE               = "TE"
	HeaderTrailer          = "Trailer"
	HeaderTransferEncoding = "Transfer-Encoding"

	// WebSocket (RFC 6455 section 11.3).

	HeaderSecWebSocketAccept     = "Sec-WebSocket-Accept"
	HeaderSecWebSocketExtensions = "Sec-WebSocket-Extensions"
	HeaderSecWebSocketKey        = "Sec-WebSocket-Key"
	HeaderSecWebSocketProtocol   = "Sec-WebSocket-Protocol"
	HeaderSecWebSocketVersion    = "Sec-WebSocket-Version"

	// Others: RFC 5789 (Accept-Patch), the QUERY method (Accept-Query), RFC 7838
	// (Alt-Svc), RFC 9110 (Date, Retry-After, Upgrade), RFC 8288 (Link), and names
	// that are in use without a standard.

	HeaderAcceptPatch         = "Accept-Patch"
	HeaderAcceptPushPolicy    = "Accept-Push-Policy"
	HeaderAcceptQuery         = "Accept-Query"
	HeaderAcceptSignature     = "Accept-Signature"
	HeaderAltSvc              = "Alt-Svc"
	HeaderDate                = "Date"
	HeaderIndex               = "Index"
	HeaderLargeAllocation     = "Large-Allocation"
	HeaderLink                = "Link"
	HeaderPushPolicy          = "Push-Policy"
	HeaderRetryAfter          = "Retry-After"
	HeaderServerTiming        = "Server-Timing"
	HeaderSignature           = "Signature"
	HeaderSignedHeaders       = "Signed-Headers"
	HeaderSourceMap           = "SourceMap"
	HeaderUpgrade             = "Upgrade"
	HeaderXDNSPrefetchControl = "X-DNS-Prefetch-Control"
	HeaderXPingback           = "X-Pingback"
	HeaderXRequestedWith      = "X-Requested-With"
	HeaderXRobotsTag          = "X-Robots-Tag"
	HeaderXUACompatible       = "X-UA-Compatible"
)
