package fasthttpadaptor

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/bridge"
	"github.com/valyala/fasthttp/internal/http1"
)

// NewHTTPHandler returns an http.Handler that calls h, so that an http.Server can serve h,
// including over HTTP/2, and a mux of net/http can route to h.
//
// The body of the request is a stream for h, which ctx.PostBody reads to its end. After
// the end its trailers are in ctx.Request.Header, except for fields that must not be
// trailers (see RequestHeader.SetTrailer). If an http.Handler around this one has copied
// the request, as Request.WithContext does, net/http provides only the trailers that a
// Trailer field announces.
//
// The response has the fields that an http.Handler around this one has set, too. Fields that may
// occur only once, such as Content-Type, are those of h if h has set them.
//
// Each piece of a body stream of the response is sent at once, and the header before the
// first one if ImmediateHeaderFlush is set. Such a response may be made while the body of
// the request arrives. If the stream fails, the connection is aborted. A panic of h is a
// panic of the http.Handler. Hijack works if
// the http.Server allows it. Deadlines, TLS state and addresses are those of its
// connection. The channel of ctx.Done is never closed: use the context of
// NetHTTPRequest, which ends when the client closes the connection. EarlyHints and
// Inform send nothing. The logger of ctx is the ErrorLog of the http.Server, if that is
// set. The response to a request whose host and target do not form a URI is 400. A response
// whose status is below 200, except for 101, or has more than three digits becomes a 500, and is
// logged.
func NewHTTPHandler(h fasthttp.RequestHandler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx := new(fasthttp.RequestCtx)
		ctx.Init2(newNetConn(w, r), errorLog(r), false)
		ConvertNetHTTPRequestToFastHTTPRequest(r, &ctx.Request)
		if !hasURI(&ctx.Request.Header) {
			http.Error(w, http.StatusText(http.StatusBadRequest), http.StatusBadRequest)
			return
		}
		if r.ProtoMajor > 1 && ctx.Request.IsBodyStream() {
			ctx.EnableFullDuplex()
		}
		body, _ := ctx.Request.BodyStream().(*netBody)
		ctx.SetUserValue(requestKey{}, r)
		defer release(ctx)
		h(ctx)
		if late := ctx.TakeTimeoutResponse(); late != nil {
			writeResponse(w, r, nil, late, nil)
			return
		}
		if takeOver, noResponse := ctx.HijackHandler(); takeOver != nil {
			conn, rw, err := http.NewResponseController(w).Hijack()
			if err != nil {
				http.Error(w, http.StatusText(http.StatusNotImplemented), http.StatusNotImplemented)
				return
			}
			serveHijacked(conn, rw, &ctx.Response, takeOver, noResponse)
			return
		}
		writeResponse(w, r, body, &ctx.Response, ctx)
		if takeOver, noResponse := ctx.HijackHandler(); takeOver != nil {
			conn, rw, err := http.NewResponseController(w).Hijack()
			if err != nil {
				// the client must not take the part that it got for the whole
				panic(http.ErrAbortHandler)
			}
			serveHijacked(conn, rw, &ctx.Response, takeOver, noResponse)
		}
	})
}

// release closes what a handler, which may have panicked, has left in its context, unless a
// TimeoutError method has left the context to other goroutines.
func release(ctx *fasthttp.RequestCtx) {
	if late := ctx.LastTimeoutErrorResponse(); late != nil && late != &ctx.Response {
		return
	}
	defer ctx.ResetUserValues()
	defer ctx.Request.RemoveMultipartFormFiles()
	_ = ctx.Response.CloseBodyStream()
}

// canHijack reports whether w, or what it wraps, is an http.Hijacker.
func canHijack(w http.ResponseWriter) bool {
	for {
		if _, ok := w.(http.Hijacker); ok {
			return true
		}
		wrapper, ok := w.(interface{ Unwrap() http.ResponseWriter })
		if !ok {
			return false
		}
		w = wrapper.Unwrap()
	}
}

// errorLog returns the log of the server that has received r, or nil for the default.
func errorLog(r *http.Request) fasthttp.Logger {
	if s, _ := r.Context().Value(http.ServerContextKey).(*http.Server); s != nil && s.ErrorLog != nil {
		return s.ErrorLog
	}
	return nil
}

// logf logs to the log of the server that has received r.
func logf(r *http.Request, format string, args ...any) {
	if logger := errorLog(r); logger != nil {
		logger.Printf(format, args...)
		return
	}
	log.Printf(format, args...)
}

// hasURI reports whether target and host form a URI, as a fasthttp.Server requires. net/http
// accepts hosts such as "h:99999". With such a host the path of the URI would differ from the
// path of the target.
func hasURI(h *fasthttp.RequestHeader) bool {
	if host := h.Host(); len(host) > 0 && !http1.ValidHost(host) {
		return false
	}
	if h.IsConnect() {
		return true
	}
	var u fasthttp.URI
	return u.Parse(h.Host(), h.RequestURI()) == nil
}

// requestKey is the key of the user value that holds the *http.Request.
type requestKey struct{}

// NetHTTPRequest returns the request with which a handler from NewHTTPHandler was called, or
// nil if ctx has none. The request and ctx share one body.
func NetHTTPRequest(ctx *fasthttp.RequestCtx) *http.Request {
	r, _ := ctx.UserValue(requestKey{}).(*http.Request)
	return r
}

// writeResponse sends resp. body is the body of r if its handler has ended, and nil otherwise. The body
// stream of resp may end in the middle with a call of Hijack of ctx, which may be nil.
func writeResponse(w http.ResponseWriter, r *http.Request, body *netBody, resp *fasthttp.Response, ctx *fasthttp.RequestCtx) {
	defer resp.CloseBodyStream()
	header := w.Header()
	status := resp.StatusCode()
	if status < 200 && status != http.StatusSwitchingProtocols || status > 999 {
		logf(r, "fasthttpadaptor: the status %d of a response is none of a final one", status)
		http.Error(w, http.StatusText(http.StatusInternalServerError), http.StatusInternalServerError)
		return
	}
	stream := resp.BodyStream()
	if stream == nil && len(resp.Body()) == 0 {
		// a fasthttp.Server does not guess the type of empty content
		resp.Header.SetNoDefaultContentType(true)
	}
	sized := copyFields(header, &resp.Header)
	size := resp.Header.ContentLength()
	switch {
	case stream == nil && !resp.SkipBody && r.Method != http.MethodHead && bodyAllowed(status):
		size = len(resp.Body())
	case stream == nil && len(resp.Body()) > 0:
		size = len(resp.Body())
	}
	if bodyAllowed(status) && size >= 0 && len(resp.Header.PeekTrailerKeys()) == 0 && (r.Method != http.MethodHead || size > 0 || sized) {
		header.Set("Content-Length", strconv.Itoa(size))
	}
	control := http.NewResponseController(w)
	skips := r.Method == http.MethodHead || resp.SkipBody || !bodyAllowed(status)
	if stream != nil && !skips && r.Body != nil && r.Body != http.NoBody {
		// the stream may read the request; over HTTP/2 it may in any case
		_ = control.EnableFullDuplex()
	}
	w.WriteHeader(status)
	if stream != nil && resp.ImmediateHeaderFlush {
		// if this fails, so does the first piece
		_ = control.Flush()
	}
	if skips {
		return
	}
	taker, _ := stream.(bridge.ConnHijacker)
	if taker != nil && ctx != nil && r.ProtoMajor == 1 && canHijack(w) {
		taker.OfferConn()
	}
	var err error
	if stream == nil {
		_, _ = w.Write(resp.Body())
	} else {
		if len(resp.Header.PeekTrailerKeys()) == 0 {
			// net/http has the Content-Length, and checks it
			size = -1
		}
		err = copyPieces(w, control, stream, size)
	}
	switch {
	case taker != nil && err == bridge.ErrConnHijacked:
		taker.HijackConn(ctx)
		return
	case err != nil:
		// the client must not take the part that it got for the whole
		panic(http.ErrAbortHandler)
	}
	addTrailers(w, &resp.Header)
	if stream != nil && body != nil {
		body.closeAnswered()
	}
}

// copyFields copies the fields of the header section, but for the ones that frame the
// message, and announces trailers. It reports whether there is a Content-Length. In dst are fields
// of the handlers around.
func copyFields(dst http.Header, h *fasthttp.ResponseHeader) (sized bool) {
	_, typed := dst["Content-Type"]
	if typed {
		h.SetNoDefaultContentType(true)
	}
	for name, value := range h.All() {
		switch key := http.CanonicalHeaderKey(string(name)); key {
		case "Content-Length":
			sized = true
		case "Transfer-Encoding", "Trailer", "Date":
		case "Content-Type", "Content-Range", "Etag", "Last-Modified", "Location", "Server":
			// one of each is allowed
			dst.Set(key, string(value))
		default:
			dst.Add(key, string(value))
		}
	}
	if names := h.Peek("Trailer"); len(names) > 0 {
		dst.Set("Trailer", string(names))
	}
	if len(h.ContentType()) == 0 && !typed {
		// net/http must not add one, either
		dst["Content-Type"] = nil
	}
	if bridge.OmitsDate(h) {
		dst["Date"] = nil
		if date := h.Peek("Date"); len(date) > 0 {
			dst.Set("Date", string(date))
		}
	}
	return sized
}

// addTrailers makes the fields of the trailer section follow the body, which must have
// been written.
func addTrailers(w http.ResponseWriter, h *fasthttp.ResponseHeader) {
	header := w.Header()
	announced := announcedTrailers(header)
	for name := range announced {
		// the values from the header section were sent, and would be sent again
		header.Del(name)
	}
	flushed := false
	for name, value := range h.TrailerFields() {
		key := http.CanonicalHeaderKey(string(name))
		if !announced[key] {
			key = http.TrailerPrefix + key
			if !flushed {
				// otherwise net/http sends the body without trailers
				_ = http.NewResponseController(w).Flush()
				flushed = true
			}
		}
		header.Add(key, string(value))
	}
}

// copyPieces sends the bytes of each Read of a stream at once. A stream that writes itself
// learns why writing fails. It is an error if there are not as many bytes as size, unless size is
// negative.
func copyPieces(w http.ResponseWriter, rc *http.ResponseController, stream io.Reader, size int) error {
	pieces := &pieceWriter{w: w, control: rc, left: size}
	err := copyStream(pieces, stream)
	if err == nil && pieces.left > 0 {
		return io.ErrUnexpectedEOF
	}
	return err
}

func copyStream(pieces *pieceWriter, stream io.Reader) error {
	if own, ok := stream.(fasthttp.BodyWriterTo); ok && own.SupportsBodyWriteTo() {
		_, err := own.WriteTo(pieces)
		return err
	}
	buf := make([]byte, 32<<10)
	for {
		n, err := stream.Read(buf)
		if n > 0 {
			if _, err := pieces.Write(buf[:n]); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// pieceWriter sends written bytes at once.
type pieceWriter struct {
	w       io.Writer
	control *http.ResponseController
	left    int // how many bytes must follow; negative if unknown
}

func (p *pieceWriter) Write(b []byte) (int, error) {
	if p.left >= 0 {
		if len(b) > p.left {
			return 0, http.ErrContentLength
		}
		p.left -= len(b)
	}
	n, err := p.w.Write(b)
	if err != nil {
		return n, err
	}
	if err := p.control.Flush(); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return n, err
	}
	return n, nil
}

// serveHijacked hands the connection over to the HijackHandler, after the response
// unless that is suppressed.
func serveHijacked(conn net.Conn, rw *bufio.ReadWriter, resp *fasthttp.Response, takeOver fasthttp.HijackHandler, noResponse bool) {
	defer conn.Close()
	_ = conn.SetDeadline(time.Time{})
	if !noResponse {
		if err := resp.Write(rw.Writer); err != nil || rw.Flush() != nil {
			return
		}
	}
	c := &aheadConn{Conn: conn}
	if n := rw.Reader.Buffered(); n > 0 {
		ahead, _ := rw.Peek(n)
		c.ahead = *bytes.NewReader(bytes.Clone(ahead))
	}
	takeOver(c)
}

// aheadConn is a connection that first returns bytes which were read ahead.
type aheadConn struct {
	net.Conn
	ahead bytes.Reader
}

// Read implements net.Conn.
func (c *aheadConn) Read(p []byte) (int, error) {
	if c.ahead.Len() > 0 {
		return c.ahead.Read(p)
	}
	return c.Conn.Read(p)
}

// netConn gives a RequestCtx the addresses and deadlines of a connection that belongs
// to net/http.
type netConn struct {
	control       *http.ResponseController
	local, remote net.Addr
}

// newNetConn returns a connection for r: a TLS connection if r was received over TLS.
func newNetConn(w http.ResponseWriter, r *http.Request) net.Conn {
	c := &netConn{control: http.NewResponseController(w)}
	c.local, _ = r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if addr, err := netip.ParseAddrPort(r.RemoteAddr); err == nil {
		c.remote = net.TCPAddrFromAddrPort(addr)
	} else if ip, err := netip.ParseAddr(r.RemoteAddr); err == nil {
		// a handler around this one has set the address that a proxy has sent
		c.remote = net.TCPAddrFromAddrPort(netip.AddrPortFrom(ip, 0))
	}
	if r.TLS != nil {
		return &netTLSConn{netConn: c, state: r.TLS}
	}
	return c
}

var errNoNetConn = errors.New("fasthttpadaptor: the connection belongs to net/http: use Hijack")

// Read implements net.Conn.
func (c *netConn) Read([]byte) (int, error) { return 0, errNoNetConn }

// Write implements net.Conn.
func (c *netConn) Write([]byte) (int, error) { return 0, errNoNetConn }

// Close implements net.Conn.
func (c *netConn) Close() error { return errNoNetConn }

// LocalAddr implements net.Conn.
func (c *netConn) LocalAddr() net.Addr { return c.local }

// RemoteAddr implements net.Conn.
func (c *netConn) RemoteAddr() net.Addr { return c.remote }

// SetDeadline implements net.Conn.
func (c *netConn) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

// SetReadDeadline implements net.Conn.
func (c *netConn) SetReadDeadline(t time.Time) error { return c.control.SetReadDeadline(t) }

// SetWriteDeadline implements net.Conn.
func (c *netConn) SetWriteDeadline(t time.Time) error { return c.control.SetWriteDeadline(t) }

// netTLSConn is a netConn with the state of a TLS connection.
type netTLSConn struct {
	*netConn
	state *tls.ConnectionState
}

// Handshake returns nil: the handshake has succeeded before.
func (c *netTLSConn) Handshake() error { return nil }

// ConnectionState returns the state of the TLS connection.
func (c *netTLSConn) ConnectionState() tls.ConnectionState { return *c.state }
