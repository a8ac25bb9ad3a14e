package http1

import "errors"

// Error is a fault of a message. It carries the status of the server's response.
type Error struct {
	Status int // of the response
	text   string
}

// Error returns the text, which never contains a part of the message.
func (e *Error) Error() string { return e.text }

func fault(status int, text string) *Error {
	return &Error{Status: status, text: "fasthttp: " + text}
}

// StatusOf returns the status of the server's response to err: the status of the Error in
// its chain, or 400.
func StatusOf(err error) int {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Status
	}
	return 400
}

// The errors of messages. The root package exports the first group.
var (
	ErrMissingMethod          = fault(400, "cannot find http request method")
	ErrUnsupportedMethod      = fault(400, "unsupported http request method")
	ErrExtraWhitespace        = fault(400, "extra whitespace in request line")
	ErrEmptyTarget            = fault(400, "requesturi cannot be empty")
	ErrDuplicateContentLength = fault(400, "duplicate content-length header")
	ErrUnsupportedCoding      = fault(501, "unsupported transfer-encoding")
	ErrNonNumeric             = fault(400, "non-numeric chars found")
	ErrBadTrailer             = fault(400, "contain forbidden trailer")
	ErrStatusLineSpace        = fault(502, "cannot find whitespace in the first line of response")
	ErrStatusCode             = fault(502, "unexpected char at the end of status code")
	ErrBodyTooLarge           = fault(413, "body size exceeds the given limit")
	ErrQueueTime              = fault(503, "the request has waited too long for its turn")
	ErrBodyMemory             = fault(503, "the request bodies in memory have reached their limit")

	ErrRequestLine       = fault(400, "malformed request line")
	ErrTarget            = fault(400, "malformed request target")
	ErrVersion           = fault(400, "malformed protocol version")
	ErrMajorVersion      = fault(505, "protocol version is not HTTP/1.x")
	ErrStatusLine        = fault(502, "malformed status line")
	ErrLongRequestLine   = fault(414, "request line is too long")
	ErrLongHead          = fault(431, "header section is too large")
	ErrManyFields        = fault(431, "too many header fields")
	ErrFieldName         = fault(400, "malformed field name")
	ErrFieldValue        = fault(400, "control character in a field value")
	ErrLineEnd           = fault(400, "line does not end in CRLF")
	ErrFold              = fault(400, "folded field line")
	ErrContentLength     = fault(400, "malformed content-length header")
	ErrTransferEncoding  = fault(400, "malformed transfer-encoding header")
	ErrCodingInHTTP10    = fault(400, "transfer-encoding in an HTTP/1.0 request")
	ErrHost              = fault(400, "missing, duplicate or malformed host")
	ErrChunkSize         = fault(400, "malformed chunk size")
	ErrChunkExtension    = fault(400, "malformed chunk extension")
	ErrLongChunkLine     = fault(400, "chunk line is too long")
	ErrManyExtensions    = fault(400, "chunk extensions are too large in total")
	ErrChunkEnd          = fault(400, "chunk data does not end in CRLF")
	ErrLongTrailers      = fault(400, "trailer section is too large")
	ErrManyTrailers      = fault(400, "too many trailer fields")
	ErrConflictingLength = fault(400, "both content-length and transfer-encoding")
)
