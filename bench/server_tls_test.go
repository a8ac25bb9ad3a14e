package bench

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"testing"

	"github.com/valyala/fasthttp"
)

// tlsConns is the number of connections in TLS rows. A client sends a request on each before
// it reads the responses, so that a loop finds several of them.
const tlsConns = 8

// benchTLS measures a server together with a crypto/tls client, which takes about as much time
// as the server.
func benchTLS(b *testing.B, serverWith func(tls.Certificate) serve, texts [][]byte) {
	b.Helper()
	certPEM, keyPEM, err := fasthttp.GenerateTestCertificate("localhost")
	if err != nil {
		b.Fatal(err)
	}
	cert, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		b.Fatal(err)
	}
	dial := serving(b, overTCP, serverWith(cert))
	conns := make([]net.Conn, tlsConns)
	buf := make([]byte, 4096)
	for i := range conns {
		c, err := dial("")
		if err != nil {
			b.Fatal(err)
		}
		defer c.Close()
		conns[i] = tls.Client(c, &tls.Config{InsecureSkipVerify: true})
		if err := exchangeTLS(conns[i:i+1], texts, 0, buf); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	b.ResetTimer()
	for n := 0; n < b.N; n += tlsConns {
		if err := exchangeTLS(conns[:min(tlsConns, b.N-n)], texts, n, buf); err != nil {
			b.Fatal(err)
		}
	}
	b.StopTimer()
}

// exchangeTLS sends a request on each connection, and reads the responses. They are short
// enough for one record.
func exchangeTLS(conns []net.Conn, texts [][]byte, n int, buf []byte) error {
	for i, c := range conns {
		if _, err := c.Write(texts[(n+i)%len(texts)]); err != nil {
			return err
		}
	}
	for _, c := range conns {
		got, err := c.Read(buf)
		if err != nil {
			return err
		}
		if text := buf[:got]; !bytes.HasPrefix(text, []byte("HTTP/1.1 200 OK\r\n")) || !bytes.HasSuffix(text, answerBytes) {
			return fmt.Errorf("the response is %q", text)
		}
	}
	return nil
}

func serveTLS(cert tls.Certificate) serve {
	s := &fasthttp.Server{Handler: answerGet, TLSConfig: &tls.Config{Certificates: []tls.Certificate{cert}}}
	return func(ln net.Listener) error { return s.ServeTLS(ln, "", "") }
}

func serveNetHTTPTLS(cert tls.Certificate) serve {
	s := &http.Server{
		Handler:   http.HandlerFunc(answerNetHTTPGet),
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{cert}},
		Protocols: new(http.Protocols),
	}
	s.Protocols.SetHTTP1(true)
	return func(ln net.Listener) error { return s.ServeTLS(ln, "", "") }
}
