package bench

import (
	"bytes"
	"crypto/tls"
	"errors"
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
func benchTLS(b *testing.B, serve func(ln net.Listener, cert tls.Certificate) (stop func() error), texts [][]byte) {
	b.Helper()
	certPEM, keyPEM, err := fasthttp.GenerateTestCertificate("localhost")
	if err != nil {
		b.Fatal(err)
	}
	cert, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		b.Fatal(err)
	}
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	stop := serve(ln, cert)
	conns := make([]net.Conn, tlsConns)
	defer func() {
		for _, c := range conns {
			if c != nil {
				_ = c.Close()
			}
		}
		if err := stop(); err != nil {
			b.Error(err)
		}
	}()
	buf := make([]byte, 4096)
	for i := range conns {
		c, err := tls.Dial("tcp4", ln.Addr().String(), &tls.Config{InsecureSkipVerify: true})
		if err != nil {
			b.Fatal(err)
		}
		conns[i] = c
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

func serveTLS(ln net.Listener, cert tls.Certificate) (stop func() error) {
	s := &fasthttp.Server{Handler: answerGet, TLSConfig: &tls.Config{Certificates: []tls.Certificate{cert}}}
	served := make(chan error, 1)
	go func() { served <- s.ServeTLS(ln, "", "") }()
	return func() error { return errors.Join(s.Shutdown(), <-served) }
}

func serveNetHTTPTLS(ln net.Listener, cert tls.Certificate) (stop func() error) {
	s := &http.Server{
		Handler:   http.HandlerFunc(answerNetHTTPGet),
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{cert}},
		Protocols: new(http.Protocols),
	}
	s.Protocols.SetHTTP1(true)
	served := make(chan error, 1)
	go func() { served <- s.ServeTLS(ln, "", "") }()
	return func() error {
		err := s.Close()
		if ended := <-served; !errors.Is(ended, http.ErrServerClosed) {
			err = errors.Join(err, ended)
		}
		return err
	}
}
