package tlswire

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"io"
	"math/big"
	"net"
	"strings"
	"testing"

	"github.com/valyala/fasthttp/internal/servertest"
)

// serverConfig returns the configuration of a server with a certificate that the
// tests do not verify.
func serverConfig(t *testing.T) *tls.Config {
	t.Helper()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1)}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, public, private)
	if err != nil {
		t.Fatal(err)
	}
	return &tls.Config{
		Certificates:           []tls.Certificate{{Certificate: [][]byte{cert}, PrivateKey: private}},
		SessionTicketsDisabled: true,
	}
}

// ViewOf and Transport return the same connections that Server received and returned.
func TestServerConnectionsKnowTheirViewAndTransport(t *testing.T) {
	nc := &servertest.FakeConn{}
	c := Server(nc, nc, new(tls.Config))
	v, _ := ViewOf(c)
	if again, ok := ViewOf(c); !ok || v.Conn != net.Conn(c) || again != v {
		t.Error("the view is another one each time, or of another connection")
	}
	if _, ok := ViewOf(nc); ok {
		t.Error("there is a view of a connection without TLS")
	}
	if under, ok := Transport(c.NetConn()); under != net.Conn(nc) || !ok {
		t.Errorf("the transport is %v, %v", under, ok)
	}
	if under, ok := Transport(nc); under != net.Conn(nc) || ok {
		t.Errorf("what is under another connection is %v, %v", under, ok)
	}
}

// A TLS connection not made by Server may hold received data.
func TestTLSConnectionsOfOthersLoseNothing(t *testing.T) {
	near, far := net.Pipe()
	v, _ := ViewOf(tls.Server(far, serverConfig(t)))
	client := tls.Client(near, &tls.Config{InsecureSkipVerify: true})
	text := strings.Repeat("0123456789", 10)
	go func() {
		_, _ = io.WriteString(client, text)
		_ = client.Close()
	}()
	var got []byte
	b := make([]byte, 7)
	for {
		if err := v.Await(); err != nil {
			break
		}
		n, err := v.Read(b)
		got = append(got, b[:n]...)
		if err != nil {
			break
		}
	}
	if string(got) != text {
		t.Errorf("got %q", got)
	}
}
