package websocket

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/ws"
)

// dialHTTP2 performs the opening handshake over HTTP/2 (RFC 8441 section 5), or HTTP/3 (RFC 9220), on a
// connection of d.HTTP2Client. The error wraps fasthttp.ErrNoExtendedConnect if the server does not permit that.
func (d *Dialer) dialHTTP2(ctx context.Context, req *http.Request) (*Conn, *http.Response, error) {
	r := fasthttp.AcquireRequest()
	defer fasthttp.ReleaseRequest(r)
	r.SetRequestURI(req.URL.String())
	r.URI().DisablePathNormalizing = true // as over HTTP/1.1
	r.Header.SetConnectProtocol(upgradeName)
	if req.Host != req.URL.Host {
		r.UseHostHeader = true
		r.Header.SetHost(req.Host)
	}
	for name, values := range req.Header {
		switch name {
		case "Upgrade", "Connection", headerKey:
			// they are of HTTP/1.1
			continue
		}
		for _, value := range values {
			r.Header.Add(name, value)
		}
	}
	// it keeps the stream
	resp := &fasthttp.Response{StreamBody: true}
	if err := d.HTTP2Client.DoContext(ctx, r, resp); err != nil {
		return nil, nil, err
	}
	result := responseOf(resp, req)
	if d.Jar != nil {
		if cookies := result.Cookies(); len(cookies) > 0 {
			d.Jar.SetCookies(req.URL, cookies)
		}
	}
	nc, opened := resp.BodyStream().(net.Conn)
	if !opened || result.StatusCode/100 != 2 {
		result.Body = io.NopCloser(bytes.NewReader(beginningOf(resp)))
		return nil, result, refusedWith(result.StatusCode)
	}
	a, err := d.agreedTerms(req, result)
	// the context is for the dial alone
	if failed := nc.SetDeadline(time.Time{}); err == nil {
		err = failed
	}
	if err == nil && ctx.Err() != nil {
		// it may have ended the stream already
		err = context.Cause(ctx)
	}
	if err != nil {
		_ = nc.Close()
		return nil, result, err
	}
	return newConn(nc, ws.Client, a, d.options(), nil), result, nil
}

// beginningOf returns the first bytes of the content of a response, and closes it.
func beginningOf(resp *fasthttp.Response) []byte {
	stream := resp.BodyStream()
	if stream == nil {
		return nil
	}
	p := make([]byte, maxResponseContent)
	n, _ := io.ReadFull(stream, p)
	_ = resp.CloseBodyStream()
	return p[:n]
}

// responseOf returns the head of a response in the form of net/http.
func responseOf(resp *fasthttp.Response, req *http.Request) *http.Response {
	h := make(http.Header)
	for name, value := range resp.Header.All() {
		h.Add(string(name), string(value))
	}
	code := resp.StatusCode()
	proto, major := "HTTP/2.0", 2
	if string(resp.Header.Protocol()) == "HTTP/3.0" {
		proto, major = "HTTP/3.0", 3
	}
	return &http.Response{
		Status: strconv.Itoa(code) + " " + http.StatusText(code), StatusCode: code, Proto: proto, ProtoMajor: major,
		Header: h, ContentLength: -1, Body: http.NoBody, Request: req,
	}
}

// mayFallBack reports whether a dial that has failed over HTTP/2 continues over HTTP/1.1.
func (d *Dialer) mayFallBack(err error) bool {
	return errors.Is(err, fasthttp.ErrNoExtendedConnect) && d.HTTP2Client.Protocols.HTTP1()
}
