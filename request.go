package fasthttp

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"io"
	"sync"
	"time"

	"github.com/valyala/fasthttp/internal/ascii"
	"github.com/valyala/fasthttp/internal/bodyio"
	"github.com/valyala/fasthttp/internal/bufpool"
	"github.com/valyala/fasthttp/internal/bytesconv"
	"github.com/valyala/fasthttp/internal/field"
	"github.com/valyala/fasthttp/internal/http1"
	"github.com/valyala/fasthttp/internal/uri"
	"github.com/valyala/fasthttp/internal/userdata"
)

// Request is an HTTP request: its header, its URI and its body.
//
// The zero value is ready for use. Slices that its methods return belong to
// the request: they are valid until that part of it is changed or the request
// is released, which for a request of a server is when its handler returns.
//
// A Request must not be copied (use CopyTo) nor used by more than one
// goroutine at a time.
type Request struct {
	_ noCopy

	// Header is the request line and the fields. It must not be copied.
	Header RequestHeader

	// KeepBodyBuffer makes Reset and ResetBody keep the buffer of the body,
	// however large, for the next use of this Request. ReleaseRequest clears
	// it and gives the buffer back; CopyTo leaves it alone; the requests of a
	// server have it cleared between two requests.
	KeepBodyBuffer bool

	// UseHostHeader makes a client send the Host that was set with
	// Header.SetHost instead of the host of the URI.
	UseHostHeader bool

	// DisableRedirectPathNormalizing makes DoRedirects take the paths of
	// redirects as they come, without removing "..", double slashes and so on.
	DisableRedirectPathNormalizing bool

	// GetBody returns the body stream anew, from its beginning, for a redirect that
	// sends the same once more. It is of the size that SetBodyStream was given, and
	// closed behind its end if it is an io.Closer. Without it such a redirect is an
	// ErrRedirectBodyStream. Reset clears it.
	GetBody func() (io.Reader, error)

	body    body
	uri     URI
	args    Args
	values  userdata.List
	stream  bodyStream   // the body that StreamRequestBody left on the connection
	form    *requestForm // once it was asked for
	timeout time.Duration
	call    callState // of the client's call that is under way
	// known is the target that uri was parsed from and had knownAs behind that, so
	// that who sends the same again spares the parsing
	known   []byte
	knownAs uriVersion
	// plainHost is the version of uri whose host is found to be sent as it is
	plainHost uriVersion

	// uriParsed says that uri counts, and not the target in the header
	uriParsed  bool
	argsParsed bool
	isTLS      bool
	again      bool // the target was known already when it was parsed last
}

// Reset empties the request. Values set with SetUserValue that are io.Closers
// are closed first, while the request is as it was. Then a body stream is closed, and
// the files of a multipart form are removed.
func (req *Request) Reset() {
	req.closeValues()
	req.Header.Reset()
	req.resetExceptHeader()
}

// closeValues removes the user values. Those that are closers may look at the
// request, so it comes before everything else.
func (req *Request) closeValues() {
	if len(req.values) > 0 {
		req.values.Reset()
	}
}

func (req *Request) resetExceptHeader() {
	req.closeValues()
	req.ResetBody()
	if req.uriParsed {
		req.uri.Reset()
		req.uriParsed = false
	}
	req.known = req.known[:0]
	req.UseHostHeader = false
	req.DisableRedirectPathNormalizing = false
	req.GetBody = nil
	req.timeout = 0
	req.isTLS = false
}

// CopyTo makes dst a copy of the request, without its body stream.
func (req *Request) CopyTo(dst *Request) {
	dst.Reset()
	req.Header.CopyTo(&dst.Header)
	if req.uriParsed {
		req.uri.CopyTo(&dst.uri)
		dst.uriParsed = true
	}
	if req.argsParsed {
		req.args.CopyTo(&dst.args)
		dst.argsParsed = true
	}
	dst.UseHostHeader = req.UseHostHeader
	dst.DisableRedirectPathNormalizing = req.DisableRedirectPathNormalizing
	dst.GetBody = req.GetBody
	dst.timeout = req.timeout
	dst.body.limit = req.body.limit
	dst.isTLS = req.isTLS
	dst.values = append(dst.values[:0], req.values...)
	if req.onlyForm() {
		_ = req.writeForm((*bodyWriter)(&dst.body))
	} else if p := req.body.bytes(); len(p) > 0 {
		dst.body.set(p)
	}
}

// Host returns the host that the request is for: the authority of an absolute
// target, else the Host field (RFC 9112 section 3.2.2).
func (req *Request) Host() []byte { return req.URI().Host() }

// SetHost sets the host of the URI.
func (req *Request) SetHost(host string) { req.URI().SetHost(host) }

// SetHostBytes sets the host of the URI.
func (req *Request) SetHostBytes(host []byte) { req.URI().SetHostBytes(host) }

// ConnectionClose reports whether the connection is to be closed after the
// response.
func (req *Request) ConnectionClose() bool { return req.Header.ConnectionClose() }

// SetConnectionClose sets "Connection: close".
func (req *Request) SetConnectionClose() { req.Header.SetConnectionClose() }

// SetTimeout limits how long a client may take for the request, from waiting
// for a connection to the last byte of the response. 0 stands for no limit.
func (req *Request) SetTimeout(t time.Duration) { req.timeout = t }

// GetTimeOut returns what SetTimeout has set.
func (req *Request) GetTimeOut() time.Duration { return req.timeout }

// PostArgs returns the arguments in a body of type
// application/x-www-form-urlencoded; they are parsed on first use. Such a body
// that is a stream is read into memory for that. Arguments set there are sent as
// the body where it is empty otherwise.
func (req *Request) PostArgs() *Args {
	if !req.argsParsed {
		req.argsParsed = true
		if contentType := req.Header.ContentType(); len(contentType) >= len(strFormURL) && ascii.EqualFold(contentType[:len(strFormURL)], strFormURL) {
			req.args.ParseBytes(req.Body())
		}
	}
	return &req.args
}

// MayContinue reports whether the peer waits for a "100 Continue" before it
// sends the body: "Expect: 100-continue" in a request that is not HTTP/1.0
// (RFC 9110 section 10.1.1). Answer with it and call ContinueReadBody, or
// answer with a final status, or close the connection.
func (req *Request) MayContinue() bool {
	return req.Header.IsHTTP11() && ascii.EqualFoldString(req.Header.peekID(field.Expect), "100-continue")
}

// SetUserValue keeps a value with the request under key, which is compared as
// a map would. A nil value for a key that is not there is not kept.
//
// The values of a server's request are dropped when its handler returns;
// those that are io.Closers are closed then.
func (req *Request) SetUserValue(key, value any) { req.values.Set(key, value) }

// SetUserValueBytes is SetUserValue for the string that key holds.
func (req *Request) SetUserValueBytes(key []byte, value any) { req.values.Set(string(key), value) }

// UserValue returns the value kept under key, or nil.
func (req *Request) UserValue(key any) any { return req.values.Get(key) }

// UserValueBytes is UserValue for the string that key holds.
func (req *Request) UserValueBytes(key []byte) any { return req.values.GetString(key) }

// VisitUserValues calls f for all values whose key is a string. The keys that f
// gets are copies, which it may keep and change.
func (req *Request) VisitUserValues(f func([]byte, any)) {
	var keys []byte
	for _, v := range req.values {
		if k, ok := v.Key.(string); ok {
			from := len(keys)
			keys = append(keys, k...)
			f(keys[from:len(keys):len(keys)], v.Value)
		}
	}
}

// VisitUserValuesAll calls f for all values.
func (req *Request) VisitUserValuesAll(f func(any, any)) {
	for _, v := range req.values {
		f(v.Key, v.Value)
	}
}

// ResetUserValues removes all values, and closes those that are io.Closers.
func (req *Request) ResetUserValues() { req.values.Reset() }

// RemoveUserValue removes the value kept under key.
func (req *Request) RemoveUserValue(key any) { req.values.Remove(key) }

// RemoveUserValueBytes is RemoveUserValue for the string that key holds.
func (req *Request) RemoveUserValueBytes(key []byte) { req.values.Remove(string(key)) }

// Read reads a request with its body from r.
//
// A body of any length is read: use ReadLimitBody for peers that are not
// trusted. Where MayContinue tells so, the body is not read: see there.
// It returns io.EOF where r ends before the first byte, and an error that
// wraps io.ErrUnexpectedEOF where it ends later. See RequestHeader.Read for
// the limits of the head.
func (req *Request) Read(r *bufio.Reader) error { return req.ReadLimitBody(r, 0) }

// ReadLimitBody is Read with a limit for the body in bytes, 0 or less for
// none. It returns ErrBodyTooLarge where the body is larger.
func (req *Request) ReadLimitBody(r *bufio.Reader, maxBodySize int) error {
	req.resetExceptHeader()
	if err := req.Header.Read(r); err != nil {
		return err
	}
	if req.MayContinue() {
		return nil
	}
	return req.ContinueReadBody(r, maxBodySize)
}

// ContinueReadBody reads the body of a request whose header was read from r
// and for which MayContinue was answered. preParseMultipartForm is ignored:
// forms are parsed when they are asked for. maxBodySize and the errors are those of
// ReadBody; after one the request is empty.
func (req *Request) ContinueReadBody(r *bufio.Reader, maxBodySize int, preParseMultipartForm ...bool) error {
	f, err := req.Header.head.Frame(http1.Request, http1.Exchange{})
	if err != nil {
		return err
	}
	req.ResetBody()
	err = readBody(bufferedSource{r}, f, maxBodySize, &req.body, &req.Header.header)
	return req.bodyRead(err)
}

// bodyRead finalizes the header after the body was read.
func (req *Request) bodyRead(err error) error {
	if err != nil {
		req.Reset()
		return err
	}
	req.finalizeEmpty()
	return nil
}

// finalizeEmpty gives a request that was read and turned out to have no content
// the length 0, unless its method goes without saying so.
func (req *Request) finalizeEmpty() {
	h := &req.Header
	switch {
	case h.contentLength == -2 && !h.ignoresBody(),
		h.contentLength == -1 && req.body.stream == nil && len(req.bodyBytes()) == 0:
		h.SetContentLength(0)
	}
}

// ContinueReadBodyStream is ContinueReadBody that leaves the body on r, to be
// read through BodyStream. maxBodySize is ignored, as preParseMultipartForm
// is: who reads the stream says how much that is. It fails only if the header does
// not say how long the body is; what goes wrong later is an error of the stream.
func (req *Request) ContinueReadBodyStream(r *bufio.Reader, maxBodySize int, preParseMultipartForm ...bool) error {
	f, err := req.Header.head.Frame(http1.Request, http1.Exchange{})
	if err != nil {
		return err
	}
	req.ResetBody()
	if f.Kind == http1.NoBody {
		return req.bodyRead(nil)
	}
	req.stream.start(bufferedSource{r}, f, &req.Header.header)
	req.body.setStream(&req.stream, req.Header.contentLength)
	return nil
}

// ReadBody reads a body of contentLength bytes from r: -1 stands for a chunked
// one, less for none. maxBodySize limits it where it is positive: the error is
// ErrBodyTooLarge then. The trailer section behind a chunked body is left on
// r: Header.ReadTrailer reads it.
func (req *Request) ReadBody(r *bufio.Reader, contentLength, maxBodySize int) error {
	req.ResetBody()
	f := http1.Framing{Kind: http1.Length, Length: int64(contentLength)}
	switch {
	case contentLength == -1:
		f = http1.Framing{Kind: http1.Chunks}
	case contentLength < 0:
		return nil
	}
	if err := readBodyOnly(bufferedSource{r}, f, maxBodySize, &req.body, &req.Header.header); err != nil {
		return req.bodyRead(err)
	}
	if contentLength >= 0 {
		req.Header.SetContentLength(len(req.body.bytes()))
	}
	return req.bodyRead(nil)
}

// errNoHost says that a request cannot be sent, since it is not known where to.
// String returns its text, which is an old one.
var errNoHost = uri.ErrNoHost

// prepareHead makes the header that of the message as it will be written: host and
// target from the URI where that was used, the length from the body.
func (req *Request) prepareHead() error {
	if len(req.Header.Host()) == 0 || req.uriParsed {
		if err := req.prepareHost(); err != nil {
			return err
		}
		req.prepareTarget()
	}
	return req.prepareContent()
}

// prepareForServer is prepareHead for a client that sends the request to a server, whose
// requests have no absolute targets: appendHead writes what is sent.
func (req *Request) prepareForServer() error {
	if !req.uriParsed && !req.recallTarget() && (len(req.Header.Host()) == 0 || !req.Header.targetIsPath()) {
		if err := req.parseNewTarget(); err != nil {
			return err
		}
	}
	return req.prepareParsed()
}

// prepareParsed is what is left of prepareHead if the target in the header stays what
// it is.
func (req *Request) prepareParsed() error {
	if req.uriParsed {
		if err := req.prepareHost(); err == errNoHost {
			return req.noHost()
		} else if err != nil {
			return err
		}
	}
	return req.prepareContent()
}

// checkLine returns an error where the request line that will be written would be
// read as another one. What a URI is written as holds nothing of that kind.
func (req *Request) checkLine() error {
	h := &req.Header
	switch {
	case !req.uriParsed:
		return h.checkLine()
	case h.hasDefaultLine():
		return nil
	case req.sendsAuthority():
		req.prepareTarget()
		return h.checkLine()
	}
	return h.checkMethod()
}

// prepareContent is the part of prepareHead that is about the body. It looks at the
// request line first: nothing is done to a request that cannot be sent.
func (req *Request) prepareContent() error {
	if err := req.checkLine(); err != nil {
		return err
	}
	if err := req.streamForm(); err != nil {
		return err
	}
	h := &req.Header
	if h.line[lineMethod].Len == uint32(len(MethodTrace)) && h.IsTrace() {
		// RFC 9110 section 9.3.8 forbids content
		_ = req.body.closeStream()
		h.SetContentLength(0)
		h.frameOwnFields()
		return nil
	}
	if req.body.stream != nil {
		if h.announces() {
			req.body.unsize()
		}
		h.SetContentLength(max(req.body.size, -1))
		h.frameOwnFields()
		return nil
	}
	if req.body.broken != nil {
		return req.body.broken
	}
	switch size := len(req.content()); {
	case size == 0 && h.ignoresBody():
		h.contentLength = 0
		h.state &^= hasLength
		h.setCoding(false)
	case h.sendsTrailers():
		h.SetContentLength(-1)
		if size > 0 && h.ContentType() == nil && !h.is(noDefaultType) {
			h.SetContentTypeBytes(strOctetStream)
		}
	default:
		h.SetContentLength(size)
	}
	h.frameOwnFields()
	return nil
}

// content returns what is sent as the body where it is no stream.
func (req *Request) content() []byte {
	content := req.bodyBytes()
	if len(content) == 0 && req.argsParsed && req.args.Len() > 0 {
		content = req.args.QueryString()
	}
	if len(content) > 0 && req.Header.IsTrace() {
		return nil
	}
	return content
}

// prepareHost is the part of prepareHead that is about where the request goes, and as
// whom.
func (req *Request) prepareHost() error {
	if !req.uriParsed || req.uri.text.BadHost() {
		if err := req.parseURI(); err != nil {
			return err
		}
	}
	host := req.uri.Host()
	if v := req.uri.version(); v == 0 || v != req.plainHost {
		field, err := hostField(host)
		if err != nil {
			return err
		}
		if len(field) == 0 {
			return errNoHost
		}
		if len(field) == len(host) && &field[0] == &host[0] {
			req.plainHost = v
		}
		host = field
	}
	if had := req.Header.Host(); len(had) == 0 || !req.UseHostHeader && !bytes.Equal(had, host) {
		req.Header.SetHostBytes(host)
	}
	return nil
}

// sentHeader returns the header that is sent: with user name and password of the
// URI as a basic Authorization (RFC 7617), which goes before one that was set, and
// with what a proxy wants. They stay out of the request itself, that may have
// another URI next. The caller gives the header back by sent.
func (req *Request) sentHeader() *RequestHeader {
	user := req.uriParsed && req.uri.text.HasUser()
	proxy := req.call.proxy
	if !user && proxy == nil {
		return &req.Header
	}
	h := sentHeaders.Get().(*RequestHeader)
	req.Header.CopyTo(h)
	if user {
		h.removeID(field.Authorization)
		text := bufpool.Get(basicRoom)
		text.B = req.uri.text.AppendUser(text.B)
		n := len(text.B)
		text.B = base64.StdEncoding.AppendEncode(append(text.B, "Basic "...), text.B[:n])
		h.setID(field.Authorization, text.B[n:])
		bufpool.Put(text)
	}
	if proxy != nil && proxy.authorization != "" && h.peekID(field.ProxyAuthorization) == nil {
		h.setID(field.ProxyAuthorization, bytesconv.Bytes(proxy.authorization))
	}
	return h
}

// sentHeaders are headers that were sent in the place of those of requests.
var sentHeaders = sync.Pool{New: func() any { return new(RequestHeader) }}

// basicRoom is room for user name and password, plain and as base64.
const basicRoom = 256

// sent takes a header from sentHeader back.
func (req *Request) sent(h *RequestHeader) {
	if h != &req.Header {
		releaseSent(h)
	}
}

func releaseSent(h *RequestHeader) {
	h.Reset()
	h.shrink()
	sentHeaders.Put(h)
}

// Write writes the request to w, without flushing it. A body stream is read to
// its end and closed; each piece of one whose size is not known is flushed.
//
// Host and target are taken from the URI unless only Header was used to set
// them; user name and password of the URI are sent as a basic Authorization.
//
// It returns ErrorInvalidURI, or another error, before anything is written if the
// request cannot be sent as it is; later that of w or of the stream, or
// ErrBodyStreamWritePanic if the stream panics.
func (req *Request) Write(w *bufio.Writer) error {
	if err := req.prepareHead(); err != nil {
		_ = req.body.closeStream()
		return err
	}
	h := req.sentHeader()
	err := h.Write(w)
	req.sent(h)
	if err != nil {
		_ = req.body.closeStream()
		return err
	}
	if req.body.stream != nil {
		return writeStream(w, &req.body, &req.Header.header)
	}
	return writeContent(w, req.content(), &req.Header.header)
}

// writeContent writes content as h, which was written before, says.
func writeContent(w flushWriter, content []byte, h *header) error {
	if h.contentLength >= 0 {
		_, err := w.Write(content)
		return err
	}
	// in one chunk, since trailers follow
	if err := bodyio.WriteChunk(w, content); err != nil {
		return err
	}
	return writeLastChunk(w, h)
}

// writeStream is writeContent for the stream of b.
func writeStream(w flushWriter, b *body, h *header) error {
	if b.size >= 0 {
		return b.writeFixed(w)
	}
	if err := b.writeChunked(w); err != nil {
		return err
	}
	return writeLastChunk(w, h)
}

// writeBody writes the content of b as h, which was written before, says.
func writeBody(w flushWriter, b *body, h *header) error {
	if b.stream != nil {
		return writeStream(w, b, h)
	}
	return writeContent(w, b.bytes(), h)
}

// WriteTo writes the request to w, with the errors of Write. It implements
// io.WriterTo.
func (req *Request) WriteTo(w io.Writer) (int64, error) { return bodyio.WriteMessage(w, req) }

// String returns the request as it goes on the wire, or the text of the error
// that keeps it from being written.
func (req *Request) String() string { return messageText(req) }
