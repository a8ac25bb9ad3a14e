package servertest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Certificate is a certificate for 127.0.0.1 and its key, both as PEM.
var Certificate = sync.OnceValues(func() (cert, key []byte) {
	made, err := makeCertificate(nil, net.IPv4(127, 0, 0, 1))
	if err != nil {
		panic(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(made.PrivateKey)
	if err != nil {
		panic(err)
	}
	cert = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: made.Certificate[0]})
	return cert, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
})

// TrustCertificate is the configuration of a client that trusts Certificate. Most of them use a
// group whose arithmetic is in assembly: the default takes several times as long, and most of
// the time of many tests. One of groupTurns has the default, whose first message is longer than
// a segment; with the race detector, which checks each access of the arithmetic, none has.
func TrustCertificate() *tls.Config {
	config := &tls.Config{RootCAs: trusted()}
	if RaceDetector || groups.Add(1)%groupTurns != 0 {
		config.CurvePreferences = []tls.CurveID{tls.CurveP256}
	}
	return config
}

// groups counts the calls of TrustCertificate.
var groups atomic.Uint32

const groupTurns = 8

// trusted has Certificate alone.
var trusted = sync.OnceValue(func() *x509.CertPool {
	cert, _ := Certificate()
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(cert)
	return roots
})

// CertificateFor returns a certificate for names and addresses, and the pool of
// roots that it is verified with.
func CertificateFor(t testing.TB, names []string, ips ...net.IP) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	made, err := makeCertificate(names, ips...)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(made.Leaf)
	return made, pool
}

func makeCertificate(names []string, ips ...net.IP) (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "a test"}, NotAfter: time.Now().Add(time.Hour), DNSNames: names, IPAddresses: ips,
		IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return tls.Certificate{}, err
	}
	leaf, err := x509.ParseCertificate(der)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}, err
}

// SecureServer is an https server of net/http. resumed counts its handshakes
// that resumed a session.
func SecureServer(t testing.TB, cert tls.Certificate) (addr string, resumed *atomic.Int32) {
	resumed = new(atomic.Int32)
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.TLS.DidResume {
			resumed.Add(1)
		}
		if r.URL.Path == "/close" {
			w.Header().Set("Connection", "close")
		}
		_, _ = w.Write([]byte(r.TLS.ServerName))
	}))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.TLS = &tls.Config{Certificates: []tls.Certificate{cert}}
	s.StartTLS()
	t.Cleanup(s.Close)
	return s.Listener.Addr().String(), resumed
}
