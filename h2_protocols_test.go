package fasthttp

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/valyala/fasthttp/internal/servertest"
)

// protocolsOf returns a set of versions: "1" for HTTP/1, "2" for HTTP/2 over TLS, "c" for
// HTTP/2 without TLS.
func protocolsOf(names string) (p Protocols) {
	p.SetHTTP1(strings.Contains(names, "1"))
	p.SetHTTP2(strings.Contains(names, "2"))
	p.SetUnencryptedHTTP2(strings.Contains(names, "c"))
	return p
}

func TestVersionsThatAServerOffers(t *testing.T) {
	serve := func(net.Conn) error { return nil }
	for _, tc := range []struct {
		versions, configured, handled, want string
	}{
		{"12", "", "", "h2 http/1.1"},
		{"2", "", "", "h2"},
		{"1c", "", "", "http/1.1"},
		{"c", "", "", ""},
		{"12", "acme-tls/1", "", "h2 acme-tls/1 http/1.1"},
		{"12", "http/1.1 h2", "", "http/1.1 h2"},
		{"1", "h2 http/1.1", "", "http/1.1"},
		{"12", "", "h2", "h2 http/1.1"},
		{"12", "", "lines", "h2 lines http/1.1"},
		{"2", "http/1.1", "", "h2 http/1.1"},
	} {
		s := &Server{Handler: echo, Protocols: protocolsOf(tc.versions), TLSConfig: &tls.Config{NextProtos: strings.Fields(tc.configured)}}
		for proto := range strings.FieldsSeq(tc.handled) {
			s.NextProto(proto, serve)
		}
		if got := s.offeredProtos(s.TLSConfig.NextProtos); !slices.Equal(got, strings.Fields(tc.want)) {
			t.Errorf("%v with %q and handlers for %q: offered %q, want %q", s.Protocols, tc.configured, tc.handled, got, tc.want)
		}
	}
}

// The version between clients and servers, for each set of versions, with and without TLS.
func TestBothVersionsShareAServer(t *testing.T) {
	t.Parallel()
	forEachEngine(t, func(t *testing.T, start starter) {
		for _, tc := range []struct{ versions, client, secure, plain string }{
			{"", "1", "HTTP/1.1", "HTTP/1.1"},
			{"", "2c", "", ""},
			{"", "12", "HTTP/1.1", "HTTP/1.1"},
			{"12", "1", "HTTP/1.1", "HTTP/1.1"},
			{"12", "2c", "HTTP/2.0", ""},
			{"12", "12", "HTTP/2.0", "HTTP/1.1"},
			{"1c", "1", "HTTP/1.1", "HTTP/1.1"},
			{"1c", "2c", "", "HTTP/2.0"},
			{"12c", "1", "HTTP/1.1", "HTTP/1.1"},
			{"12c", "2c", "HTTP/2.0", "HTTP/2.0"},
			{"2", "1", "", ""},
			{"2", "2c", "HTTP/2.0", "HTTP/2.0"},
			{"c", "1", "", ""},
			{"c", "12", "", ""},
			{"c", "2c", "", "HTTP/2.0"},
		} {
			r := start(&Server{Protocols: protocolsOf(tc.versions), Handler: func(ctx *RequestCtx) { ctx.SetBody(ctx.Request.Header.Protocol()) }})
			want, scheme := tc.plain, "http"
			if r.Engine.TLS {
				want, scheme = tc.secure, "https"
			}
			if got := spoken(t, r, scheme, tc.client); got != want {
				t.Errorf("server %v, client %s: spoken is %q, want %q", r.S.Protocols, tc.client, got, want)
			}
		}
	})
}

// spoken returns the version of the response that a client has received, or "" for none.
func spoken(t *testing.T, r *testServer, scheme, versions string) string {
	transport := &http.Transport{Protocols: new(http.Protocols), TLSClientConfig: servertest.TrustCertificate()}
	defer transport.CloseIdleConnections()
	transport.Protocols.SetHTTP1(strings.Contains(versions, "1"))
	transport.Protocols.SetHTTP2(strings.Contains(versions, "2"))
	transport.Protocols.SetUnencryptedHTTP2(strings.Contains(versions, "c"))
	transport.DialContext = func(context.Context, string, string) (net.Conn, error) {
		if r.Engine.TLS {
			return net.Dial("tcp4", r.Listener.Addr().String())
		}
		return r.Dialer()
	}
	req, err := http.NewRequestWithContext(t.Context(), "GET", scheme+"://127.0.0.1/", nil)
	servertest.Must(t, err)
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return ""
	}
	defer resp.Body.Close()
	if resp.StatusCode != StatusOK {
		t.Errorf("the status is %d", resp.StatusCode)
	}
	return resp.Proto
}
