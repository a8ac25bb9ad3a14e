package http1

import "github.com/valyala/fasthttp/internal/bytesconv"

const unknownReason = "Unknown Status Code"

// reasons holds the reason phrases by code, with an empty string for unused codes.
var reasons = [...]string{
	100: "Continue",
	101: "Switching Protocols",
	102: "Processing",
	103: "Early Hints",

	200: "OK",
	201: "Created",
	202: "Accepted",
	203: "Non-Authoritative Information",
	204: "No Content",
	205: "Reset Content",
	206: "Partial Content",
	207: "Multi-Status",
	208: "Already Reported",
	226: "IM Used",

	300: "Multiple Choices",
	301: "Moved Permanently",
	302: "Found",
	303: "See Other",
	304: "Not Modified",
	305: "Use Proxy",
	307: "Temporary Redirect",
	308: "Permanent Redirect",

	400: "Bad Request",
	401: "Unauthorized",
	402: "Payment Required",
	403: "Forbidden",
	404: "Not Found",
	405: "Method Not Allowed",
	406: "Not Acceptable",
	407: "Proxy Authentication Required",
	408: "Request Timeout",
	409: "Conflict",
	410: "Gone",
	411: "Length Required",
	412: "Precondition Failed",
	413: "Request Entity Too Large",
	414: "Request URI Too Long",
	415: "Unsupported Media Type",
	416: "Requested Range Not Satisfiable",
	417: "Expectation Failed",
	418: "I'm a teapot",
	421: "Misdirected Request",
	422: "Unprocessable Entity",
	423: "Locked",
	424: "Failed Dependency",
	426: "Upgrade Required",
	428: "Precondition Required",
	429: "Too Many Requests",
	431: "Request Header Fields Too Large",
	451: "Unavailable For Legal Reasons",

	500: "Internal Server Error",
	501: "Not Implemented",
	502: "Bad Gateway",
	503: "Service Unavailable",
	504: "Gateway Timeout",
	505: "HTTP Version Not Supported",
	506: "Variant Also Negotiates",
	507: "Insufficient Storage",
	508: "Loop Detected",
	510: "Not Extended",
	511: "Network Authentication Required",
}

// Reason returns the reason phrase that belongs to a status code. It is never empty.
func Reason(code int) string {
	if code < 0 || code >= len(reasons) || reasons[code] == "" {
		return unknownReason
	}
	return reasons[code]
}

// The range of status codes that a response may have (RFC 9110 section 15).
const (
	FirstStatus = 100
	LastStatus  = 599
)

// statusLines holds the HTTP/1.1 status lines of all these codes.
var statusLines = buildStatusLines()

var version11 = []byte("HTTP/1.1")

func buildStatusLines() (lines [LastStatus - FirstStatus + 1][]byte) {
	for i := range lines {
		code := i + FirstStatus
		lines[i] = AppendStatusLine(nil, version11, code, bytesconv.Bytes(Reason(code)))
	}
	return lines
}

// AppendUsualStatusLine appends the HTTP/1.1 status line with the usual reason phrase.
func AppendUsualStatusLine(dst []byte, code int) []byte {
	if code >= FirstStatus && code <= LastStatus {
		return append(dst, statusLines[code-FirstStatus]...)
	}
	return AppendStatusLine(dst, version11, code, bytesconv.Bytes(Reason(code)))
}
