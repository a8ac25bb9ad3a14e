package servertls

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/netip"
	"strings"
	"time"
)

const (
	// testCertLife is how long a test certificate is valid.
	testCertLife = 365 * 24 * time.Hour
	// testCertSkew is the allowed difference between the clocks of two machines.
	testCertSkew = time.Hour
)

// SelfSigned returns a certificate that signs itself, and its private key, both in
// PEM form. It is valid for a year, for host: a name or an IP address. A port after
// it is ignored.
func SelfSigned(host string) ([]byte, []byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, fmt.Errorf("fasthttp: cannot make a key: %w", err)
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber:          randomSerial(),
		Subject:               pkix.Name{Organization: []string{"fasthttp test"}},
		NotBefore:             now.Add(-testCertSkew),
		NotAfter:              now.Add(testCertLife),
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		BasicConstraintsValid: true,
		IsCA:                  true,
	}
	nameCertificate(template, host)
	cert, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, nil, fmt.Errorf("fasthttp: cannot make a certificate for %q: %w", host, err)
	}
	keyData, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, nil, fmt.Errorf("fasthttp: cannot make a key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyData}), nil
}

// nameCertificate makes cert valid for host.
func nameCertificate(cert *x509.Certificate, host string) {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	if ip, err := netip.ParseAddr(host); err == nil {
		cert.IPAddresses = []net.IP{ip.WithZone("").AsSlice()}
	} else if host != "" {
		cert.DNSNames = []string{host}
	}
}

// randomSerial returns a serial number that no other certificate has.
func randomSerial() *big.Int {
	b := make([]byte, 16)
	_, _ = rand.Read(b) // it never fails
	// RFC 5280 section 4.1.2.2 requires a positive number
	b[0] &= 0x7f
	b[15] |= 1
	return new(big.Int).SetBytes(b)
}
