package http2

import "strconv"

// Code is the reason why a stream or a connection has ended (RFC 9113 section 7).
type Code uint32

// The codes of RFC 9113.
const (
	NoError            Code = 0x0
	ProtocolError      Code = 0x1
	InternalError      Code = 0x2
	FlowControlError   Code = 0x3
	SettingsTimeout    Code = 0x4
	StreamClosed       Code = 0x5
	FrameSizeError     Code = 0x6
	RefusedStream      Code = 0x7
	Cancel             Code = 0x8
	CompressionError   Code = 0x9
	ConnectError       Code = 0xa
	EnhanceYourCalm    Code = 0xb
	InadequateSecurity Code = 0xc
	HTTP11Required     Code = 0xd
)

var codeNames = [...]string{
	NoError:            "NO_ERROR",
	ProtocolError:      "PROTOCOL_ERROR",
	InternalError:      "INTERNAL_ERROR",
	FlowControlError:   "FLOW_CONTROL_ERROR",
	SettingsTimeout:    "SETTINGS_TIMEOUT",
	StreamClosed:       "STREAM_CLOSED",
	FrameSizeError:     "FRAME_SIZE_ERROR",
	RefusedStream:      "REFUSED_STREAM",
	Cancel:             "CANCEL",
	CompressionError:   "COMPRESSION_ERROR",
	ConnectError:       "CONNECT_ERROR",
	EnhanceYourCalm:    "ENHANCE_YOUR_CALM",
	InadequateSecurity: "INADEQUATE_SECURITY",
	HTTP11Required:     "HTTP_1_1_REQUIRED",
}

// String returns the name of the code in RFC 9113.
func (c Code) String() string {
	if int(c) < len(codeNames) {
		return codeNames[c]
	}
	return "unknown code " + strconv.FormatUint(uint64(c), 10)
}

// Error is the reason why a connection or a stream had to end. All errors of this package
// are variables, so that none is allocated for a peer's fault.
type Error struct {
	Code Code // sent to the peer
	text string
}

// Error returns the text, which never contains bytes from the peer.
func (e *Error) Error() string { return e.text }

func fault(code Code, text string) *Error {
	return &Error{code, "fasthttp: HTTP/2: " + text}
}

// The faults that end a connection.
var (
	ErrPreface         = fault(ProtocolError, "the connection does not begin with the preface")
	ErrFirstFrame      = fault(ProtocolError, "the first frame is not SETTINGS")
	ErrHTTP1           = fault(ProtocolError, "the server speaks HTTP/1 on this connection")
	ErrFrameSize       = fault(FrameSizeError, "a frame has a wrong size")
	ErrLargeFrame      = fault(FrameSizeError, "a frame is larger than SETTINGS_MAX_FRAME_SIZE")
	ErrStreamID        = fault(ProtocolError, "a frame is for a wrong stream")
	ErrIdleStream      = fault(ProtocolError, "a frame is for a stream that has not begun")
	ErrClosedStream    = fault(StreamClosed, "a frame is for a stream that has ended")
	ErrPadding         = fault(ProtocolError, "a frame has more padding than content")
	ErrContinuation    = fault(ProtocolError, "a header block is not continued, or none is to be")
	ErrContinuations   = fault(EnhanceYourCalm, "a header block has too many CONTINUATION frames, or an empty one")
	ErrPush            = fault(ProtocolError, "a push, which nobody has asked for")
	ErrPriorityUpdate  = fault(ProtocolError, "a malformed PRIORITY_UPDATE frame")
	ErrSelfDependency  = fault(ProtocolError, "a stream depends on itself")
	ErrIncrement       = fault(ProtocolError, "a window is to grow by 0")
	ErrWindow          = fault(FlowControlError, "a window grows beyond 2^31-1")
	ErrFlow            = fault(FlowControlError, "more content than the window permits")
	ErrSetting         = fault(ProtocolError, "a setting has a value that it must not have")
	ErrManySettings    = fault(EnhanceYourCalm, "too many settings in a frame")
	ErrCompression     = fault(CompressionError, "a header block cannot be decoded")
	ErrHugeHead        = fault(EnhanceYourCalm, "a header section has more than twice the size that is permitted")
	ErrManyStreams     = fault(EnhanceYourCalm, "too many streams were reset while their requests are served")
	ErrWasted          = fault(EnhanceYourCalm, "too many streams come to nothing")
	ErrGlitches        = fault(EnhanceYourCalm, "too many frames that bring nothing")
	ErrLastStream      = fault(ProtocolError, "a second GOAWAY permits more streams than the first")
	ErrGreetingTimeout = fault(SettingsTimeout, "no preface, or no acknowledgement of the settings, in time")
	ErrNoPong          = fault(NoError, "the peer does not answer a PING")
	ErrStalled         = fault(EnhanceYourCalm, "the peer does not let the connection make progress")
)

// The faults that end a stream.
var (
	errHalfClosed    = fault(StreamClosed, "a frame is for a stream that the peer has ended")
	errStreamFlow    = fault(FlowControlError, "more content than the window of the stream permits")
	errStreamWindow  = fault(FlowControlError, "the window of a stream grows beyond 2^31-1")
	errStreamStep    = fault(ProtocolError, "the window of a stream is to grow by 0")
	errDependency    = fault(ProtocolError, "a stream that depends on itself")
	errPrioritySize  = fault(FrameSizeError, "a PRIORITY frame of a wrong size")
	errDataFirst     = fault(ProtocolError, "content before the head of the message")
	errLengthDiffers = fault(ProtocolError, "content-length is not the length of the content")
	errTooMany       = fault(RefusedStream, "more streams at a time than permitted")
	errManyHeads     = fault(RefusedStream, "the header sections of a connection need too much memory")
	errStreamStalled = fault(EnhanceYourCalm, "the peer does not take the content of a stream")
	ErrLargeSection  = fault(EnhanceYourCalm, "a header section other than a request's head is too large")
)

// The faults of a malformed request that still gets a response.
var (
	ErrTarget = fault(ProtocolError, "a :path or :authority that the :method does not permit")
	ErrHost   = fault(ProtocolError, "missing or malformed :authority")
)

// The faults of a malformed message (RFC 9113 section 8.1.1), which end its stream.
var (
	errFieldName      = fault(ProtocolError, "malformed field name")
	errFieldValue     = fault(ProtocolError, "malformed field value")
	errConnectionName = fault(ProtocolError, "a field of HTTP/1 connections")
	errPseudo         = fault(ProtocolError, "an unknown, repeated or misplaced pseudo-field")
	errPseudoMissing  = fault(ProtocolError, "a pseudo-field is missing")
	errMethod         = fault(ProtocolError, "malformed :method")
	errScheme         = fault(ProtocolError, "malformed :scheme")
	errPath           = fault(ProtocolError, "malformed :path")
	errAuthority      = fault(ProtocolError, "malformed or contradictory :authority")
	errProtocol       = fault(ProtocolError, "malformed :protocol")
	errStatus         = fault(ProtocolError, "malformed :status")
	errLength         = fault(ProtocolError, "malformed or repeated content-length")
	errTunnel         = fault(ProtocolError, "a header section within a tunnel")
	errTrailersEnd    = fault(ProtocolError, "a second header section that does not end the stream")
	errInterimEnds    = fault(ProtocolError, "an interim response that ends the stream")
)
