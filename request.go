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
	"github.com/valyala/fasthttp/internal/content"
	"github.com/valyala/fasthttp/internal/field"
	"github.com/valyala/fasthttp/internal/header"
	"github.com/valyala/fasthttp/internal/http1"
	"github.com/valyala/fasthttp/internal/recvbuf"
	"github.com/valyala/fasthttp/internal/uri"
	"github.com/valyala/fasthttp/internal/urlencoded"
	"github.com/valyala/fasthttp/internal/userdata"
)

// Request is an HTTP request: its header, its URI and its body.
//
// The zero value is ready for use. Slices that its methods return belong to the
// request: they are valid until that part of it is changed or the request is released.
// A server releases a request when its handler returns.
//
// A Request must not be copied (use CopyTo) nor used by more than one goroutine at
// once.
type Request struct {
	_ noCopy

	// Header is the request line and the fields. It must not be copied.
	Header RequestHeader

	// KeepBodyBuffer makes Reset and ResetBody keep the buffer of the body,
	// however large, for the next use of this Request. ReleaseRequest clears it
	// and releases the buffer. CopyTo does not copy it. A server clears it between
	// two requests.
	KeepBodyBuffer bool

	// UseHostHeader makes a client send the Host that was set with
	// Header.SetHost instead of the host of the URI.
	UseHostHeader bool

	// DisableRedirectPathNormalizing makes DoRedirects use the paths of redirects
	// as they are, without removing dot segments and repeated slashes.
	DisableRedirectPathNormalizing bool

	// GetBody returns a new body stream with the same content, for a redirect that
	// sends the body again, and for a retry by HostClient.MaxRetryAfter. The stream must
	// have the size that was passed to SetBodyStream. The client closes it after its end
	// if it is an io.Closer. If GetBody is nil, such a redirect fails with
	// ErrRedirectBodyStream. Reset clears GetBody.
	GetBody func() (io.Reader, error)

	// OnInform, if it is not nil, gets the head of each informational (1xx) response that a
	// client receives before the response to the request, such as 103 (Early Hints), on the
	// goroutine of the call. An error ends the call. h is valid until OnInform returns. A
	// PipelineClient does not call it. Reset clears OnInform, and CopyTo does not copy it.
	OnInform func(h *ResponseHeader) error

	body    content.Body
	uri     URI
	args    Args
	values  userdata.List
	source  content.Source // of the body that a server reads while it arrives, or nil
	form    *requestForm   // the form, if it was parsed
	timeout time.Duration
	call    callState // the state of the client's call in progress
	// parsedVersion was the version of uri when it was parsed from the target, so that a client
	// need not parse the same target again
	parsedVersion uriVersion

	// uriParsed means that uri is used instead of the target in the header
	uriParsed  bool
	argsParsed bool
	argsErr    error // why there are none although there is a form
	isTLS      bool
	sameTarget bool // the last call of parseTarget found the target known
}

// Reset empties the request. It first closes the values set with SetUserValue that are
// io.Closers, while the request is still unchanged. Then it closes a body stream, and
// removes the files of a multipart form.
func (req *Request) Reset() {
	req.closeValues()
	req.Header.Reset()
	req.resetExceptHeader()
}

// closeValues removes the user values. It is called before the request is changed,
// since values that are closers may read the request.
func (req *Request) closeValues() {
	if len(req.values) > 0 {
		req.values.Reset()
	}
}

func (req *Request) resetExceptHeader() {
	req.closeValues()
	req.bodyChanges()
	if b := &req.body; b.Buf != nil || b.Raw != nil || b.Stream != nil || b.Broken != nil || b.Limit != 0 {
		b.Reset(content.RequestPool, req.KeepBodyBuffer)
	}
	if req.uriParsed {
		req.uri.Reset()
		req.uriParsed = false
	}
	req.parsedVersion = 0
	req.UseHostHeader = false
	req.DisableRedirectPathNormalizing = false
	req.GetBody, req.OnInform = nil, nil
	req.timeout = 0
	req.isTLS = false
}

// bodyChanges drops the arguments and the form that were parsed from the body.
func (req *Request) bodyChanges() {
	if req.argsParsed || req.form != nil {
		req.resetParsed()
	}
}

func (req *Request) resetParsed() {
	if req.argsParsed {
		req.args.clear()
		req.argsParsed, req.argsErr = false, nil
	}
	if req.form != nil {
		req.resetForm()
	}
}

// poison overwrites all memory that slices of the request can point to, in a program with
// the tag fasthttp_poison: there a slice that is used too late is found. Memory of the
// application, such as the slice of SetBodyRaw, is left.
func (req *Request) poison() {
	req.Header.head.Poison()
	req.body.Poison()
	req.uri.poison()
	req.args.poison()
}

// setSource makes content in transit the body stream.
func (req *Request) setSource(source content.Source, size int) {
	req.source = source
	req.body.SetStream(source, size)
}

// closeSource ends the reading of content in transit.
func (req *Request) closeSource() {
	if req.source != nil {
		_ = req.source.Close()
	}
}

// arrives reports whether the message is still arriving.
func (req *Request) arrives() bool { return req.source != nil && !req.source.Ended() }

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
		dst.argsParsed, dst.argsErr = true, req.argsErr
	}
	dst.UseHostHeader = req.UseHostHeader
	dst.DisableRedirectPathNormalizing = req.DisableRedirectPathNormalizing
	dst.GetBody = req.GetBody
	dst.timeout = req.timeout
	dst.body.Limit = req.body.Limit
	dst.isTLS = req.isTLS
	dst.values = append(dst.values[:0], req.values...)
	if req.onlyForm() {
		_ = req.writeForm((*content.Writer)(&dst.body))
	} else if p := req.body.Bytes(); len(p) > 0 {
		dst.body.Set(p)
	}
}

// Host returns the host that the request is for: the authority of an absolute target,
// otherwise the Host field (RFC 9112 section 3.2.2).
func (req *Request) Host() []byte { return req.URI().Host() }

// SetHost sets the host of the URI.
func (req *Request) SetHost(host string) { req.URI().SetHost(host) }

// SetHostBytes sets the host of the URI.
func (req *Request) SetHostBytes(host []byte) { req.URI().SetHostBytes(host) }

// ConnectionClose reports whether the connection is closed after the response.
func (req *Request) ConnectionClose() bool { return req.Header.ConnectionClose() }

// SetConnectionClose sets "Connection: close".
func (req *Request) SetConnectionClose() { req.Header.SetConnectionClose() }

// SetTimeout limits the time that a client may take for the request, from waiting for a
// connection to the last byte of the response. 0 means no limit.
func (req *Request) SetTimeout(t time.Duration) { req.timeout = t }

// GetTimeOut returns the limit set with SetTimeout.
func (req *Request) GetTimeOut() time.Duration { return req.timeout }

// PostArgs returns the arguments in a body of type application/x-www-form-urlencoded,
// which it parses on first use. If such a body is a stream, PostArgs reads it into
// memory. If the body is empty, the arguments that the caller sets are sent as the
// body.
//
// PostArgs returns no arguments for a body with more than 10,000 of them, including empty
// ones, and for a stream that cannot be read to its end: BodyError returns the error. For
// larger forms, parse the body with Args.ParseBytes, which takes any number.
func (req *Request) PostArgs() *Args {
	if !req.argsParsed {
		req.argsParsed = true
		if contentType := req.Header.ContentType(); len(contentType) >= len(strFormURL) && ascii.EqualFold(contentType[:len(strFormURL)], strFormURL) {
			req.parsePostArgs(req.Body())
		}
	}
	return &req.args
}

// maxFormArgs is how many arguments of a body are parsed: each may be two bytes of the body,
// and is ten times as large in memory.
const maxFormArgs = 10_000

func (req *Request) parsePostArgs(body []byte) {
	if urlencoded.Count(body) > maxFormArgs {
		req.argsErr = ErrTooManyFormArgs
		return
	}
	req.args.ParseBytes(body)
}

// MayContinue reports whether the peer waits for a "100 Continue" before it sends the body:
// "Expect: 100-continue" in a request that is not HTTP/1.0 (RFC 9110 section 10.1.1). The
// caller must send a "100 Continue" and call ContinueReadBody, or send a final response, or
// close the connection.
func (req *Request) MayContinue() bool {
	return req.Header.IsHTTP11() && ascii.EqualFoldString(req.Header.peekID(field.Expect), "100-continue")
}

// SetUserValue stores a value in the request under key. Keys are compared as map keys.
// A nil value for a key without a value is not stored.
//
// A server drops the values of a request when the response was sent, or has failed, and
// closes each one that is an io.Closer.
func (req *Request) SetUserValue(key, value any) { req.values.Set(key, value) }

// SetUserValueBytes is SetUserValue with the key as a byte slice, for the key string(key).
func (req *Request) SetUserValueBytes(key []byte, value any) { req.values.Set(string(key), value) }

// UserValue returns the value stored under key, or nil.
func (req *Request) UserValue(key any) any { return req.values.Get(key) }

// UserValueBytes is UserValue for the key string(key).
func (req *Request) UserValueBytes(key []byte) any { return req.values.GetString(key) }

// VisitUserValues calls f for all values whose key is a string. The keys passed to f are
// copies, which f may keep and modify.
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

// ResetUserValues removes all values, and closes each one that is an io.Closer.
func (req *Request) ResetUserValues() { req.values.Reset() }

// RemoveUserValue removes the value stored under key.
func (req *Request) RemoveUserValue(key any) { req.values.Remove(key) }

// RemoveUserValueBytes is RemoveUserValue for the key string(key).
func (req *Request) RemoveUserValueBytes(key []byte) { req.values.Remove(string(key)) }

// Read reads a request with its body from r.
//
// The size of the body is not limited: use ReadLimitBody for peers that are not trusted. If
// MayContinue returns true, the body is not read: see there. Read returns io.EOF if r ends
// before the first byte, and an error that wraps io.ErrUnexpectedEOF if r ends later. See
// RequestHeader.Read for the limits of the head.
func (req *Request) Read(r *bufio.Reader) error { return req.ReadLimitBody(r, 0) }

// ReadLimitBody is Read with a limit for the body in bytes; 0 or less means no limit.
// It returns ErrBodyTooLarge if the body is larger.
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

// ContinueReadBody reads the body of a request whose header was read from r, after the
// caller has sent the "100 Continue" if MayContinue returns true. preParseMultipartForm
// is ignored: MultipartForm parses a form on first use. maxBodySize and the errors are
// the same as for ReadBody. After an error the request is empty.
func (req *Request) ContinueReadBody(r *bufio.Reader, maxBodySize int, preParseMultipartForm ...bool) error {
	req.ResetBody()
	err := content.Read(recvbuf.Buffered{R: r}, req.Header.head.Framing, maxBodySize, &req.body, &req.Header.head)
	return req.bodyRead(err)
}

// bodyRead finalizes the header after the body was read, or empties the request after
// an error.
func (req *Request) bodyRead(err error) error {
	if err != nil {
		req.Reset()
		return err
	}
	req.finalizeEmpty()
	return nil
}

// finalizeEmpty sets the length of a request that was read and has no content to 0,
// unless the method has no content by default.
func (req *Request) finalizeEmpty() {
	h := &req.Header
	switch {
	case h.head.Length == -2 && !h.head.IgnoresBody(),
		h.head.Length == -1 && req.body.Stream == nil && len(req.bodyBytes()) == 0:
		h.SetContentLength(0)
	}
}

// ContinueReadBodyStream is ContinueReadBody that leaves the body on r: the caller
// reads it from BodyStream. maxBodySize and preParseMultipartForm are ignored; the
// reader of the stream has to limit its reading. ContinueReadBodyStream fails only if
// the header does not determine the length of the body. The stream returns later
// errors.
func (req *Request) ContinueReadBodyStream(r *bufio.Reader, maxBodySize int, preParseMultipartForm ...bool) error {
	f := req.Header.head.Framing
	req.ResetBody()
	if f.Kind == http1.NoBody {
		return req.bodyRead(nil)
	}
	req.body.SetStreamFrom(r, f, &req.Header.head)
	return nil
}

// ReadBody reads a body of contentLength bytes from r. A contentLength of -1 means a
// chunked body, a smaller one no body. If maxBodySize is positive and the body is
// larger, the error is ErrBodyTooLarge. ReadBody does not read the trailer section
// after a chunked body: Header.ReadTrailer does.
func (req *Request) ReadBody(r *bufio.Reader, contentLength, maxBodySize int) error {
	req.ResetBody()
	f := http1.Framing{Kind: http1.Length, Length: int64(contentLength)}
	switch {
	case contentLength == -1:
		f = http1.Framing{Kind: http1.Chunks}
	case contentLength < 0:
		return nil
	}
	if err := content.ReadOnly(recvbuf.Buffered{R: r}, f, maxBodySize, &req.body, &req.Header.head); err != nil {
		return req.bodyRead(err)
	}
	if contentLength >= 0 {
		req.Header.SetContentLength(len(req.body.Bytes()))
	}
	return req.bodyRead(nil)
}

// errNoHost is the error of a request that cannot be sent because it has no host.
// Programs know its text from Request.String.
var errNoHost = uri.ErrNoHost

// prepareHead makes the header match the message as it will be written: it sets host
// and target from the URI if that was used, and the length from the body.
func (req *Request) prepareHead() error {
	if len(req.Header.Host()) == 0 || req.uriParsed {
		if err := req.prepareHost(); err != nil {
			return err
		}
		req.prepareTarget()
	}
	return req.prepareContent()
}

// prepareForServer is prepareHead for a client that sends the request to a server. Such
// a request has no absolute target: appendHead writes the target to send.
func (req *Request) prepareForServer() error {
	if !req.uriParsed && !req.recallTarget() && (len(req.Header.Host()) == 0 || !req.Header.head.TargetIsPath()) {
		if err := req.parseNewTarget(); err != nil {
			return err
		}
	}
	return req.prepareParsed()
}

// prepareParsed is the part of prepareHead that does not change the target in the header.
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

// checkLine returns an error if a server would parse the request line in a different
// way from how it was set. A target that was made from a URI needs no check.
func (req *Request) checkLine() error {
	h := &req.Header
	switch {
	case !req.uriParsed:
		return h.head.CheckLine()
	case h.head.HasDefaultLine():
		return nil
	case req.sendsAuthority():
		req.prepareTarget()
		return h.head.CheckLine()
	}
	return h.head.CheckMethod()
}

// prepareContent is the part of prepareHead for the body. It checks the request line
// first, so that it does not change a request that cannot be sent.
func (req *Request) prepareContent() error {
	if err := req.checkLine(); err != nil {
		return err
	}
	if req.form != nil {
		if err := req.streamForm(); err != nil {
			return err
		}
	}
	h := &req.Header
	if h.head.Line[header.LineMethod].Len == uint32(len(MethodTrace)) && h.IsTrace() {
		// RFC 9110 section 9.3.8 forbids content
		_ = req.body.CloseStream()
		return nil
	}
	if req.body.Stream != nil {
		return nil
	}
	return req.body.Broken
}

// encode decides how the request is sent, and sets its header accordingly. HTTP/1.1 has all the
// terms of the header, and other protocols are without some of them.
func (req *Request) encode(without http1.Terms) (e http1.Encoding) {
	h := &req.Header
	if req.body.Stream != nil || len(h.head.Trailers.Entries) > 0 || h.head.State&(header.Closing|header.OldProtocol|header.PeerVersion|header.NoSpecial) != 0 {
		return req.encodeUnusual(without)
	}
	if size := len(req.content()); size > 0 || !h.head.IgnoresBody() {
		e = http1.Sized(size)
	}
	h.head.Record(e)
	return e
}

// encodeUnusual is encode for any request.
func (req *Request) encodeUnusual(without http1.Terms) http1.Encoding {
	h := &req.Header
	o := http1.Outgoing{Role: http1.Request, Terms: h.head.Terms() &^ without}
	switch {
	case req.body.Stream != nil:
		// a trailer that only a peer has announced may never arrive
		if h.head.Trailers.HasOwn() {
			o.Terms |= http1.HasTrailers
		}
		o.Content, o.Size = http1.SizedContent, req.body.Size
		if o.Size < 0 {
			o.Content = http1.UnsizedContent
		}
	default:
		o.Size = len(req.content())
		if o.Size > 0 || !h.head.IgnoresBody() {
			o.Content = http1.SizedContent
		}
		if h.head.Trailers.Len() > 0 && !h.IsTrace() {
			o.Terms |= http1.HasTrailers
		}
	}
	e := o.Encode()
	if e.Kind == http1.Chunks && req.body.Stream == nil && o.Size > 0 && h.ContentType() == nil && !h.head.Is(header.NoDefaultType) {
		h.SetContentTypeBytes(strOctetStream)
	}
	h.head.RecordRequest(e)
	return e
}

// content returns the bytes that are sent as the body if it is not a stream.
func (req *Request) content() []byte {
	content := req.body.Bytes()
	if len(content) == 0 && req.argsParsed && req.args.Len() > 0 {
		content = req.args.QueryString()
	}
	if len(content) > 0 && req.Header.IsTrace() {
		return nil
	}
	return content
}

// prepareHost is the part of prepareHead for the host: it parses the URI if necessary,
// and sets the Host field.
func (req *Request) prepareHost() error {
	if !req.uriParsed || req.uri.text.BadHost() {
		if err := req.parseURI(); err != nil {
			return err
		}
	}
	host := req.uri.text.Bytes(uri.Host)
	if !req.uri.text.HasPlainHost() {
		var err error
		if host, err = hostField(host); err != nil {
			return err
		}
		if len(host) == 0 {
			return errNoHost
		}
		// in an absolute target nothing else tells where a host that was set ends
		if req.call.proxy != nil {
			if i := bytes.IndexAny(host, `/?#@\`); i >= 0 {
				return InvalidHostError(host[i : i+1])
			}
		}
	}
	if had := req.Header.head.Host(); len(had) == 0 || !req.UseHostHeader && !bytes.Equal(had, host) {
		req.Header.SetHostBytes(host)
	}
	return nil
}

// sentHeader returns the header to send. It has user name and password of the URI as a
// basic Authorization (RFC 7617) unless one was set, as net/http and curl do, and the
// Proxy-Authorization for a proxy. They are not stored in the request itself, which may
// get another URI. The caller releases the header with sent.
func (req *Request) sentHeader() *RequestHeader {
	user := req.authorizesByURI()
	proxy := req.call.proxy
	if !user && proxy == nil {
		return &req.Header
	}
	h := sentHeaders.Get().(*RequestHeader)
	req.Header.CopyTo(h)
	if user {
		req.authorize(h)
	}
	if proxy != nil && proxy.authorization != "" && h.peekID(field.ProxyAuthorization) == nil {
		h.setID(field.ProxyAuthorization, bytesconv.Bytes(proxy.authorization))
	}
	return h
}

// authorizesByURI reports whether the URI decides about the Authorization.
func (req *Request) authorizesByURI() bool {
	return req.uriParsed && req.uri.text.HasUser() && req.Header.peekID(field.Authorization) == nil
}

// authorize sets the Authorization of the URI in h.
func (req *Request) authorize(h *RequestHeader) {
	text := bufpool.Get(basicRoom)
	text.B = req.uri.text.AppendUser(text.B)
	n := len(text.B)
	text.B = base64.StdEncoding.AppendEncode(append(text.B, "Basic "...), text.B[:n])
	h.setID(field.Authorization, text.B[n:])
	bufpool.Put(text)
}

// sentHeaders are headers for sentHeader.
var sentHeaders = sync.Pool{New: func() any { return new(RequestHeader) }}

// basicRoom is the initial size of a buffer for user name and password, plain and as
// base64.
const basicRoom = 256

// sent releases a header from sentHeader.
func (req *Request) sent(h *RequestHeader) {
	if h != &req.Header {
		releaseSent(h)
	}
}

func releaseSent(h *RequestHeader) {
	h.Reset()
	h.head.Shrink()
	sentHeaders.Put(h)
}

// Write writes the request to w, without flushing w at the end. It reads a body stream
// to its end and closes it. If the size of the stream is unknown, it flushes each
// piece.
//
// Host and target are taken from the URI, unless they were only set through Header.
// User name and password of the URI are sent as a basic Authorization unless one is
// set.
//
// If the request cannot be sent, Write returns ErrorInvalidURI or another error before
// it writes anything. Later errors are errors of w or of the stream, or
// ErrBodyStreamWritePanic if the stream panics.
func (req *Request) Write(w *bufio.Writer) error {
	if err := req.prepareHead(); err != nil {
		_ = req.body.CloseStream()
		return err
	}
	e := req.encode(http1.LineIsReceived)
	h := req.sentHeader()
	err := h.head.WriteRequest(w, e)
	req.sent(h)
	if err != nil {
		_ = req.body.CloseStream()
		return err
	}
	return req.writeContent(w, e)
}

// writeContent writes the content of the request, whose head was written before.
func (req *Request) writeContent(w flushWriter, e http1.Encoding) error {
	if req.body.Stream != nil {
		return writeStream(w, &req.body, e, &req.Header.head)
	}
	return writeContent(w, req.content(), e, &req.Header.head)
}

// writeContent writes content as e specifies, and the trailers of h if they follow.
func writeContent(w flushWriter, content []byte, e http1.Encoding, h *header.Header) error {
	if e.Kind != http1.Chunks {
		_, err := w.Write(content)
		return err
	}
	// in one chunk, since trailers follow
	if err := bodyio.WriteChunk(w, content); err != nil {
		return err
	}
	return writeLastChunk(w, h)
}

// writeStream is writeContent for the stream of b. If content of a known size is sent in
// chunks, the stream checks that size itself.
func writeStream(w flushWriter, b *content.Body, e http1.Encoding, h *header.Header) error {
	switch e.Kind {
	case http1.Length:
		return b.WriteFixed(w)
	case http1.UntilClose:
		return b.WritePlain(w)
	}
	b.Unsize()
	if err := b.WriteChunked(w); err != nil {
		return err
	}
	return writeLastChunk(w, h)
}

// writeBody is writeContent for b, which may be a stream. If no content follows the
// head according to e, it closes the stream.
func writeBody(w flushWriter, b *content.Body, e http1.Encoding, h *header.Header) error {
	switch {
	case e.Kind == http1.NoBody:
		return b.CloseStream()
	case b.Stream != nil:
		return writeStream(w, b, e, h)
	}
	return writeContent(w, b.Bytes(), e, h)
}

// WriteTo writes the request to w, with the errors of Write. It implements
// io.WriterTo.
func (req *Request) WriteTo(w io.Writer) (int64, error) { return bodyio.WriteMessage(w, req) }

// String returns the request as Write writes it, or the text of the error of Write.
func (req *Request) String() string { return messageText(req) }
