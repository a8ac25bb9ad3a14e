package integrationtests

import (
	"crypto/tls"
	"net"
	"net/http/httptrace"
	"net/textproto"
	"slices"
	"testing"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
)

// tracing returns a trace that records its calls.
func tracing(events *[]string) *httptrace.ClientTrace {
	add := func(event string) { *events = append(*events, event) }
	return &httptrace.ClientTrace{
		GetConn: func(string) { add("get conn") },
		GotConn: func(info httptrace.GotConnInfo) {
			if info.Reused {
				add("got old conn")
			} else {
				add("got new conn")
			}
		},
		PutIdleConn:          func(err error) { add("put conn") },
		GotFirstResponseByte: func() { add("first byte") },
		Got100Continue:       func() { add("100") },
		Got1xxResponse:       func(code int, h textproto.MIMEHeader) error { add("1xx " + h.Get("X")); return nil },
		ConnectStart:         func(string, string) { add("connect") },
		ConnectDone:          func(string, string, error) { add("connected") },
		TLSHandshakeStart:    func() { add("TLS") },
		TLSHandshakeDone:     func(tls.ConnectionState, error) { add("TLS done") },
		WroteHeaders:         func() { add("wrote headers") },
		WroteRequest:         func(httptrace.WroteRequestInfo) { add("wrote request") },
	}
}

func TestClientTrace(t *testing.T) {
	p := servertest.Answering(t, "HTTP/1.1 100 Continue\r\nX: one\r\n\r\nHTTP/1.1 103 Early Hints\r\nX: two\r\n\r\n"+servertest.OK)
	exchange := []string{"wrote headers", "wrote request", "first byte", "100", "1xx one", "1xx two", "put conn"}
	first := append([]string{"get conn", "connect", "connected", "got new conn"}, exchange...)
	second := append([]string{"get conn", "got old conn"}, exchange...)

	var events []string
	hc := hostFor(p)
	hc.Trace = tracing(&events)
	ctx := httptrace.WithClientTrace(t.Context(), tracing(&events))
	req := requestTo(t, fasthttp.MethodGet, p.URL("/"))
	servertest.Must(t, hc.DoContext(ctx, req, responseFor(t)))
	if !slices.Equal(events, first) {
		t.Errorf("first call: %q, want %q", events, first)
	}
	events = nil
	servertest.Must(t, hc.Do(req, responseFor(t)))
	if !slices.Equal(events, second) {
		t.Errorf("second call: %q, want %q", events, second)
	}
	// the dialer calls the hooks of the client's trace as well
	hc.CloseIdleConnections()
	events = nil
	servertest.Must(t, hc.Do(req, responseFor(t)))
	if !slices.Equal(events, first) {
		t.Errorf("third call: %q, want %q", events, first)
	}
}

func TestClientTraceOfTLS(t *testing.T) {
	cert, _ := servertest.CertificateFor(t, []string{"example.test"})
	addr, _ := servertest.SecureServer(t, cert)
	var events []string
	hc := &fasthttp.HostClient{
		Addr: "example.test", IsTLS: true, TLSConfig: &tls.Config{InsecureSkipVerify: true}, Trace: tracing(&events),
		Dial: func(string) (net.Conn, error) { return net.Dial("tcp4", addr) },
	}
	defer hc.CloseIdleConnections()
	servertest.Must(t, hc.Do(requestTo(t, fasthttp.MethodGet, "https://example.test/"), nil))
	if len(events) < 4 || events[1] != "TLS" || events[2] != "TLS done" || events[3] != "got new conn" {
		t.Errorf("got %q", events)
	}
}
