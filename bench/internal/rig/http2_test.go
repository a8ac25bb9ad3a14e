package rig

import (
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"net/http"
	"testing"

	"github.com/valyala/fasthttp/bench/internal/serving"
)

// TestServersOfHTTP2 sends requests to the installed servers, with TLS and without.
func TestServersOfHTTP2(t *testing.T) {
	temp := t.TempDir()
	root, err := PlantHello(temp)
	if err != nil {
		t.Fatal(err)
	}
	id, err := NewIdentity(temp)
	if err != nil {
		t.Fatal(err)
	}
	for name, find := range map[string]func(context.Context) (*Server, error){
		Nghttpd: func(ctx context.Context) (*Server, error) { return NewNghttpd(ctx, root) },
		H2O:     func(ctx context.Context) (*Server, error) { return NewH2O(ctx, temp, root) },
		Nginx:   func(ctx context.Context) (*Server, error) { return NewNginx(ctx, temp, HelloSite()) },
	} {
		t.Run(name, func(t *testing.T) {
			server, err := find(t.Context())
			if err != nil {
				t.Skip(err)
			}
			if server.Version == "" {
				t.Error("no version")
			}
			askHTTP2(t, server, "http://", nil)
			askHTTP2(t, server, "https://", id)
		})
	}
}

func askHTTP2(t *testing.T, server *Server, scheme string, id *Identity) {
	t.Helper()
	p, err := server.Start(t.Context(), Settings{Place: Anywhere, Identity: id, HTTP2: true})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Stop()
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, Protocols: new(http.Protocols)}
	transport.Protocols.SetHTTP2(true)
	transport.Protocols.SetUnencryptedHTTP2(true)
	defer transport.CloseIdleConnections()
	resp, err := (&http.Client{Transport: transport}).Get(scheme + p.Addr + "/")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.ProtoMajor != 2 || !bytes.Equal(body, []byte(serving.Body)) {
		t.Errorf("%s%s: %s %s, %q, %v", scheme, server.Name, resp.Proto, resp.Status, body, err)
	}
}
