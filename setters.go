package fasthttp

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"iter"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"strconv"
	"syscall"
	"time"
)

// The methods of this file set fields that v1.77.0 does not have, for frameworks that must also
// compile with that version: see "For maintainers of frameworks" in docs/migrating.md. Their
// parameters have types that such a framework can name, from v1.77.0 and the standard library.
// Signatures never change: a field added to one of these structs gets a method of its
// own. A test in ./api requires that.

// SetAcceptTrailer sets Server.AcceptTrailer.
func (s *Server) SetAcceptTrailer(value func(name []byte) bool) { s.AcceptTrailer = value }

// SetCancelOnDisconnect sets Server.CancelOnDisconnect.
func (s *Server) SetCancelOnDisconnect(value bool) { s.CancelOnDisconnect = value }

// SetMaxQueueTime sets Server.MaxQueueTime.
func (s *Server) SetMaxQueueTime(value time.Duration) { s.MaxQueueTime = value }

// SetMaxRequestBodyMemory sets Server.MaxRequestBodyMemory.
func (s *Server) SetMaxRequestBodyMemory(value int) { s.MaxRequestBodyMemory = value }

// SetMinRequestBodyRate sets Server.MinRequestBodyRate.
func (s *Server) SetMinRequestBodyRate(value int) { s.MinRequestBodyRate = value }

// SetMinRequestBodyRateGrace sets Server.MinRequestBodyRateGrace.
func (s *Server) SetMinRequestBodyRateGrace(value time.Duration) { s.MinRequestBodyRateGrace = value }

// SetReadHeaderTimeout sets Server.ReadHeaderTimeout.
func (s *Server) SetReadHeaderTimeout(value time.Duration) { s.ReadHeaderTimeout = value }

// SetShutdownTimeout sets Server.ShutdownTimeout.
func (s *Server) SetShutdownTimeout(value time.Duration) { s.ShutdownTimeout = value }

// SetEngine sets Server.Engine to the engine with this name: auto, event or portable. It
// returns an error for any other name.
func (s *Server) SetEngine(name string) error {
	switch name {
	case "auto":
		s.Engine = EngineAuto
	case "event":
		s.Engine = EngineEvent
	case "portable":
		s.Engine = EnginePortable
	default:
		return errors.New("fasthttp: no engine has the name " + strconv.Quote(name))
	}
	return nil
}

// SetProtocols sets Server.Protocols to the versions in p. Nil means the zero value.
func (s *Server) SetProtocols(p *http.Protocols) { s.Protocols = netProtocols(p) }

// SetHTTP2 sets the fields of Server.HTTP2 that net/http has, too. The rest of config has no
// effect. Nil means the zero value.
func (s *Server) SetHTTP2(config *http.HTTP2Config) { s.HTTP2.take(config) }

// SetHTTP2ExtendedConnect sets HTTP2Config.ExtendedConnect of Server.HTTP2.
func (s *Server) SetHTTP2ExtendedConnect(value bool) { s.HTTP2.ExtendedConnect = value }

// SetResponseReady sets Server.ResponseReady.
func (s *Server) SetResponseReady(value func(ctx *RequestCtx)) { s.ResponseReady = value }

// SetResponseSent sets Server.ResponseSent. The parameters of value are the fields of SentResponse.
func (s *Server) SetResponseSent(value func(ctx *RequestCtx, statusCode int, bytes int64, refused, err error)) {
	s.ResponseSent = nil
	if value != nil {
		s.ResponseSent = func(ctx *RequestCtx, sent SentResponse) {
			value(ctx, sent.StatusCode, sent.Bytes, sent.Refused, sent.Err)
		}
	}
}

// SetTrustedProxies sets TrustedProxies.Ranges of Server.TrustedProxies.
func (s *Server) SetTrustedProxies(ranges []netip.Prefix) { s.TrustedProxies.Ranges = ranges }

// SetTrustedProxiesUnix sets TrustedProxies.Unix of Server.TrustedProxies.
func (s *Server) SetTrustedProxiesUnix(value bool) { s.TrustedProxies.Unix = value }

// SetTrustedProxiesAddressField sets TrustedProxies.AddressField of Server.TrustedProxies.
func (s *Server) SetTrustedProxiesAddressField(value string) { s.TrustedProxies.AddressField = value }

// SetTrustedProxiesSchemeField sets TrustedProxies.SchemeField of Server.TrustedProxies.
func (s *Server) SetTrustedProxiesSchemeField(value string) { s.TrustedProxies.SchemeField = value }

// SetTrustedProxiesHostField sets TrustedProxies.HostField of Server.TrustedProxies.
func (s *Server) SetTrustedProxiesHostField(value string) { s.TrustedProxies.HostField = value }

// SetProxyProtocol makes the server read the PROXY protocol, and sets ProxyProtocol.From.
func (s *Server) SetProxyProtocol(from []netip.Prefix) { s.changeProxyProtocol().From = from }

// SetProxyProtocolFromUnix makes the server read the PROXY protocol, and sets ProxyProtocol.FromUnix.
func (s *Server) SetProxyProtocolFromUnix(value bool) { s.changeProxyProtocol().FromUnix = value }

// SetProxyProtocolServeOthers makes the server read the PROXY protocol, and sets ProxyProtocol.ServeOthers.
func (s *Server) SetProxyProtocolServeOthers(value bool) { s.changeProxyProtocol().ServeOthers = value }

// SetProxyProtocolTimeout makes the server read the PROXY protocol, and sets ProxyProtocol.Timeout.
func (s *Server) SetProxyProtocolTimeout(value time.Duration) {
	s.changeProxyProtocol().Timeout = value
}

// changeProxyProtocol gives s a ProxyProtocol that no other server has.
func (s *Server) changeProxyProtocol() *ProxyProtocol {
	var p ProxyProtocol
	if s.ProxyProtocol != nil {
		p = *s.ProxyProtocol
	}
	s.ProxyProtocol = &p
	return &p
}

// SetTraceConnAccepted sets ServerTrace.ConnAccepted of Server.Trace.
func (s *Server) SetTraceConnAccepted(value func(id uint64, conn net.Conn)) {
	s.changeTrace().ConnAccepted = value
}

// SetTraceTLSHandshakeDone sets ServerTrace.TLSHandshakeDone of Server.Trace.
func (s *Server) SetTraceTLSHandshakeDone(value func(id uint64, conn net.Conn, state tls.ConnectionState, err error)) {
	s.changeTrace().TLSHandshakeDone = value
}

// SetTraceHeadReceived sets ServerTrace.HeadReceived of Server.Trace.
func (s *Server) SetTraceHeadReceived(value func(ctx *RequestCtx)) {
	s.changeTrace().HeadReceived = value
}

// SetTraceBodyReceived sets ServerTrace.BodyReceived of Server.Trace.
func (s *Server) SetTraceBodyReceived(value func(ctx *RequestCtx)) {
	s.changeTrace().BodyReceived = value
}

// SetTraceHandlerBegins sets ServerTrace.HandlerBegins of Server.Trace.
func (s *Server) SetTraceHandlerBegins(value func(ctx *RequestCtx)) {
	s.changeTrace().HandlerBegins = value
}

// SetTraceHandlerEnds sets ServerTrace.HandlerEnds of Server.Trace.
func (s *Server) SetTraceHandlerEnds(value func(ctx *RequestCtx)) {
	s.changeTrace().HandlerEnds = value
}

// SetTraceResponseSent sets ServerTrace.ResponseSent of Server.Trace. The parameters of value
// are the fields of TracedResponse.
func (s *Server) SetTraceResponseSent(value func(ctx *RequestCtx, statusCode int, bytes int64, refused, err error, protocol string, receiving, handling, sending time.Duration)) {
	t := s.changeTrace()
	t.ResponseSent = nil
	if value != nil {
		t.ResponseSent = func(ctx *RequestCtx, sent TracedResponse) {
			value(ctx, sent.StatusCode, sent.Bytes, sent.Refused, sent.Err, sent.Protocol, sent.Receiving, sent.Handling, sent.Sending)
		}
	}
}

// SetTraceConnEnded sets ServerTrace.ConnEnded of Server.Trace; why is the text of the ConnEnd.
func (s *Server) SetTraceConnEnded(value func(id uint64, conn net.Conn, why string)) {
	t := s.changeTrace()
	t.ConnEnded = nil
	if value != nil {
		t.ConnEnded = func(id uint64, conn net.Conn, why ConnEnd) { value(id, conn, why.String()) }
	}
}

// changeTrace gives s a Trace that no other server has.
func (s *Server) changeTrace() *ServerTrace {
	var t ServerTrace
	if s.Trace != nil {
		t = *s.Trace
	}
	s.Trace = &t
	return &t
}

// SetCheckRedirect sets Client.CheckRedirect.
func (c *Client) SetCheckRedirect(value func(next *Request, resp *Response, count int) error) {
	c.CheckRedirect = value
}

// SetDialContext sets Client.DialContext.
func (c *Client) SetDialContext(value func(ctx context.Context, network, addr string) (net.Conn, error)) {
	c.DialContext = value
}

// SetExpectContinueTimeout sets Client.ExpectContinueTimeout.
func (c *Client) SetExpectContinueTimeout(value time.Duration) { c.ExpectContinueTimeout = value }

// SetJar sets Client.Jar.
func (c *Client) SetJar(value interface {
	Cookies(uri *URI) iter.Seq2[string, string]
	SetCookies(uri *URI, values []string)
}) {
	c.Jar = value
}

// SetMaxRetryAfter sets Client.MaxRetryAfter.
func (c *Client) SetMaxRetryAfter(value time.Duration) { c.MaxRetryAfter = value }

// SetResponseHeaderTimeout sets Client.ResponseHeaderTimeout.
func (c *Client) SetResponseHeaderTimeout(value time.Duration) { c.ResponseHeaderTimeout = value }

// SetTLSHandshakeTimeout sets Client.TLSHandshakeTimeout.
func (c *Client) SetTLSHandshakeTimeout(value time.Duration) { c.TLSHandshakeTimeout = value }

// SetTimeout sets Client.Timeout.
func (c *Client) SetTimeout(value time.Duration) { c.Timeout = value }

// SetTrace sets Client.Trace.
func (c *Client) SetTrace(value *httptrace.ClientTrace) { c.Trace = value }

// SetProtocols sets Client.Protocols to the versions in p. Nil means the zero value.
func (c *Client) SetProtocols(p *http.Protocols) { c.Protocols = netProtocols(p) }

// SetHTTP2 sets the fields of Client.HTTP2 that net/http has, too. The rest of config has no
// effect. Nil means the zero value.
func (c *Client) SetHTTP2(config *http.HTTP2Config) { c.HTTP2.take(config) }

// SetCheckRedirect sets HostClient.CheckRedirect.
func (c *HostClient) SetCheckRedirect(value func(next *Request, resp *Response, count int) error) {
	c.CheckRedirect = value
}

// SetDialContext sets HostClient.DialContext.
func (c *HostClient) SetDialContext(value func(ctx context.Context, network, addr string) (net.Conn, error)) {
	c.DialContext = value
}

// SetExpectContinueTimeout sets HostClient.ExpectContinueTimeout.
func (c *HostClient) SetExpectContinueTimeout(value time.Duration) { c.ExpectContinueTimeout = value }

// SetJar sets HostClient.Jar.
func (c *HostClient) SetJar(value interface {
	Cookies(uri *URI) iter.Seq2[string, string]
	SetCookies(uri *URI, values []string)
}) {
	c.Jar = value
}

// SetMaxRetryAfter sets HostClient.MaxRetryAfter.
func (c *HostClient) SetMaxRetryAfter(value time.Duration) { c.MaxRetryAfter = value }

// SetResponseHeaderTimeout sets HostClient.ResponseHeaderTimeout.
func (c *HostClient) SetResponseHeaderTimeout(value time.Duration) { c.ResponseHeaderTimeout = value }

// SetTLSHandshakeTimeout sets HostClient.TLSHandshakeTimeout.
func (c *HostClient) SetTLSHandshakeTimeout(value time.Duration) { c.TLSHandshakeTimeout = value }

// SetTimeout sets HostClient.Timeout.
func (c *HostClient) SetTimeout(value time.Duration) { c.Timeout = value }

// SetTrace sets HostClient.Trace.
func (c *HostClient) SetTrace(value *httptrace.ClientTrace) { c.Trace = value }

// SetAbsoluteForm sets HostClient.AbsoluteForm.
func (c *HostClient) SetAbsoluteForm(value bool) { c.AbsoluteForm = value }

// SetProxyAuthorization sets HostClient.ProxyAuthorization.
func (c *HostClient) SetProxyAuthorization(value string) { c.ProxyAuthorization = value }

// SetProtocols sets HostClient.Protocols to the versions in p. Nil means the zero value.
func (c *HostClient) SetProtocols(p *http.Protocols) { c.Protocols = netProtocols(p) }

// SetHTTP2 sets the fields of HostClient.HTTP2 that net/http has, too. The rest of config has no
// effect. Nil means the zero value.
func (c *HostClient) SetHTTP2(config *http.HTTP2Config) { c.HTTP2.take(config) }

// SetTimeout sets PipelineClient.Timeout.
func (c *PipelineClient) SetTimeout(value time.Duration) { c.Timeout = value }

// SetAllowHiddenFiles sets FS.AllowHiddenFiles.
func (fs *FS) SetAllowHiddenFiles(value bool) { fs.AllowHiddenFiles = value }

// SetCacheControl sets FS.CacheControl.
func (fs *FS) SetCacheControl(value string) { fs.CacheControl = value }

// SetCompressTypes sets FS.CompressTypes.
func (fs *FS) SetCompressTypes(value []string) { fs.CompressTypes = value }

// SetContentTypes sets FS.ContentTypes.
func (fs *FS) SetContentTypes(value map[string]string) { fs.ContentTypes = value }

// SetNoSniff sets FS.NoSniff.
func (fs *FS) SetNoSniff(value bool) { fs.NoSniff = value }

// SetPrecompressed sets FS.Precompressed.
func (fs *FS) SetPrecompressed(value bool) { fs.Precompressed = value }

// SetStrongETag sets FS.StrongETag.
func (fs *FS) SetStrongETag(value bool) { fs.StrongETag = value }

// SetGetBody sets Request.GetBody.
func (req *Request) SetGetBody(value func() (io.Reader, error)) { req.GetBody = value }

// SetOnInform sets Request.OnInform.
func (req *Request) SetOnInform(value func(h *ResponseHeader) error) { req.OnInform = value }

// SetPieceTimeout sets Response.PieceTimeout.
func (resp *Response) SetPieceTimeout(value time.Duration) { resp.PieceTimeout = value }

// SetMaxQueueTime sets RequestConfig.MaxQueueTime.
func (c *RequestConfig) SetMaxQueueTime(value time.Duration) { c.MaxQueueTime = value }

// SetRefuseStatus sets RequestConfig.RefuseStatus.
func (c *RequestConfig) SetRefuseStatus(value int) { c.RefuseStatus = value }

// SetBodyMode sets RequestConfig.BodyMode: to BodyModeStream if stream is set, and else to
// BodyModeBuffer.
func (c *RequestConfig) SetBodyMode(stream bool) {
	c.BodyMode = BodyModeBuffer
	if stream {
		c.BodyMode = BodyModeStream
	}
}

// SetControl sets TCPDialer.Control.
func (d *TCPDialer) SetControl(value func(network, address string, c syscall.RawConn) error) {
	d.Control = value
}

// netProtocols returns the versions in a set of net/http.
func netProtocols(p *http.Protocols) (set Protocols) {
	if p != nil {
		set.SetHTTP1(p.HTTP1())
		set.SetHTTP2(p.HTTP2())
		set.SetUnencryptedHTTP2(p.UnencryptedHTTP2())
	}
	return set
}

// take sets the fields that net/http has, too.
func (c *HTTP2Config) take(config *http.HTTP2Config) {
	if config == nil {
		config = new(http.HTTP2Config)
	}
	c.MaxConcurrentStreams = config.MaxConcurrentStreams
	c.MaxDecoderHeaderTableSize = config.MaxDecoderHeaderTableSize
	c.MaxEncoderHeaderTableSize = config.MaxEncoderHeaderTableSize
	c.MaxReadFrameSize = config.MaxReadFrameSize
	c.MaxReceiveBufferPerConnection = config.MaxReceiveBufferPerConnection
	c.MaxReceiveBufferPerStream = config.MaxReceiveBufferPerStream
	c.SendPingTimeout = config.SendPingTimeout
	c.PingTimeout = config.PingTimeout
	c.WriteByteTimeout = config.WriteByteTimeout
	c.CountError = config.CountError
}
