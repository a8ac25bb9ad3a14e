package fasthttp

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/valyala/fasthttp/internal/clock"
	"github.com/valyala/fasthttp/internal/failures"
	"github.com/valyala/fasthttp/internal/http2"
	"github.com/valyala/fasthttp/internal/http2client"
)

// http2Client is HTTP/2 on a connection of a client, which many calls share. Each is an h2Call.
type http2Client struct {
	hc   *HostClient
	cc   *clientConn
	conn *http2client.Conn
}

var (
	_ clientProtocol    = (*http2Client)(nil)
	_ http2client.Owner = (*http2Client)(nil)
)

// The windows of a client, unless HTTP2Config sets others. The window of the connection is
// so large that an unread response does not block other responses.
const (
	h2ClientWindow     = 1 << 20
	h2ClientConnWindow = 1 << 30
)

// usesHTTP2 reports whether connections may speak HTTP/2.
func (c *HostClient) usesHTTP2() bool {
	if c.IsTLS {
		return c.Protocols.HTTP2()
	}
	// there is no negotiation
	return c.Protocols.UnencryptedHTTP2() && !c.Protocols.HTTP1() && c.proxy == nil
}

// prepareHTTP2 puts the settings of HTTP/2 into c.h2.
func (c *HostClient) prepareHTTP2() {
	if !c.usesHTTP2() {
		return
	}
	s := &c.HTTP2
	c.h2 = &http2client.Config{
		Limits: http2.Limits{
			HeaderList:   max(c.ReadBufferSize, 0),
			Frame:        max(s.MaxReadFrameSize, 0),
			ConnWindow:   positive(s.MaxReceiveBufferPerConnection, h2ClientConnWindow),
			Window:       positive(s.MaxReceiveBufferPerStream, h2ClientWindow),
			DecoderTable: max(s.MaxDecoderHeaderTableSize, 0),
			EncoderTable: max(s.MaxEncoderHeaderTableSize, 0),
			// an aborted stream costs the server a request
			Wasted:    -1,
			KeepNames: c.DisableHeaderNamesNormalizing,
		},
		Ping:  max(s.SendPingTimeout, 0),
		Pong:  positive(s.PingTimeout, h2WriteTime),
		Write: positive(s.WriteByteTimeout, h2WriteTime),
	}
	if c.ReadBufferSize > 0 {
		c.h2.Limits.Fields = c.ReadBufferSize
	}
	c.h2.Limits.Fill()
	if count := s.CountError; count != nil {
		c.h2.Count = func(code http2.Code) { count(strings.ToLower(code.String())) }
	}
	c.pool.OpenInTurn(true)
}

// errHTTP1Only reports that a server offers a version that the client must not use.
var errHTTP1Only = errors.New("fasthttp: the server does not speak HTTP/2, and the client nothing else")

// agree reports whether TLS has negotiated HTTP/2. The name is empty for a server that does
// not negotiate.
func (c *HostClient) agree(negotiated string) (http2 bool, err error) {
	if negotiated == "h2" && c.h2 != nil {
		c.pool.OpenInTurn(true)
		return true, nil
	}
	if err := agreeOnHTTP1(negotiated); err != nil {
		return false, err
	}
	if !c.Protocols.HTTP1() {
		return false, errHTTP1Only
	}
	if c.h2 != nil {
		c.pool.OpenInTurn(false)
	}
	return false, nil
}

// beginHTTP2 makes cc speak HTTP/2, as was negotiated, or is known.
func (c *HostClient) beginHTTP2(cc *clientConn) {
	p := &http2Client{hc: c, cc: cc}
	cc.protocol = p
	p.conn = http2client.Begin(&cc.line, c.h2, p)
}

// protocolNames returns the names of base for the handshake, with the names of the versions
// that the client speaks.
func (c *HostClient) protocolNames(base []string) []string {
	if c.h2 == nil {
		return base
	}
	names := []string{"h2"}
	if c.Protocols.HTTP1() {
		names = append(names, "http/1.1")
	}
	for _, name := range base {
		if name != "http/1.1" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// shared implements clientProtocol.
func (*http2Client) shared() bool { return true }

// pooled implements clientProtocol. It calls HasRoom again, because the pool did not know the
// connection when Settled called it.
func (p *http2Client) pooled() {
	settled, ended := p.conn.State()
	if settled {
		p.Settled()
	}
	if ended {
		p.Ended()
	}
}

// reserve implements clientProtocol.
func (p *http2Client) reserve() bool { return p.conn.Reserve() }

// Close implements clientProtocol.
func (p *http2Client) Close() error { return p.conn.Close() }

// Settled implements http2client.Owner.
func (p *http2Client) Settled() { p.hc.pool.HasRoom(p.cc) }

// Ended implements http2client.Owner.
func (p *http2Client) Ended() { p.hc.pool.Retire(p.cc) }

// giveBack returns the reservation of a call. If retire is set, no other call uses the
// connection.
func (p *http2Client) giveBack(retire bool) {
	hc, cc := p.hc, p.cc
	if hc.MaxConnDuration > 0 && time.Since(cc.past.created) >= hc.MaxConnDuration {
		retire = true
	}
	p.conn.GiveBack()
	if retire {
		p.conn.Retire()
		hc.pool.Discard(cc)
	} else {
		hc.pool.Put(cc, clock.Elapsed())
	}
}

// roundTrip implements clientProtocol.
func (p *http2Client) roundTrip(hc *HostClient, req *Request, resp *Response, since time.Duration) (untouched bool, err error) {
	x := h2Calls.Get().(*h2Call)
	x.p, x.hc, x.req, x.resp, x.call = p, hc, req, resp, &req.call
	return x.run(since)
}

// h2CallReset reports that a stream was reset: by the server or, if fault is not nil,
// because of this fault of the server.
type h2CallReset struct {
	code  http2.Code
	fault *http2.Error
}

func (e h2CallReset) Error() string {
	if e.fault != nil {
		return e.fault.Error()
	}
	return fmt.Sprintf("fasthttp: the server has reset the stream: %v", e.code)
}

// isRefusal reports whether err means that the server has not processed the request.
func isRefusal(err error) bool {
	reset, ok := errors.AsType[h2CallReset](err)
	return ok && reset.code == http2.RefusedStream && reset.fault == nil
}

// awaitsRefused waits before a request is sent again that servers have refused the given
// number of times, and reports whether it is sent: at once the first time, since the end of
// the connection may have been the reason.
func (c *callState) awaitsRefused(times, most int) bool {
	if times >= most {
		return false
	}
	wait := time.Duration(0)
	if times > 1 {
		wait = failures.Backoff(refusedWait, refusedWaitMost, times-1)
	}
	if !c.deadline.IsZero() && time.Until(c.deadline) <= wait {
		return false
	}
	return wait == 0 || c.sleep(wait)
}

const (
	refusedWait     = 10 * time.Millisecond
	refusedWaitMost = time.Second
)

// errH2NoStream reports that the connection accepts no more streams. Callers never see it: the
// request goes through another connection.
var errH2NoStream = errors.New("fasthttp: the connection takes no more requests")
