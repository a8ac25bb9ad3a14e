// Package servertls has the state of a server's TLS that outlives connections: certificates,
// which it loads and reloads if their files have changed (Files), and session ticket keys
// that several configurations share, in one server with several listeners or in the processes
// of a server, so that a client can resume its session with any of them (Keys).
//
// The keys are derived from a secret and the day. Processes that have the secret need not
// communicate to change them. inherit.go passes the secret to a child process, and
// selfsigned.go makes certificates for tests.
package servertls

import (
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
)

// ErrNone means that there is no certificate to serve with, or no key for it. The
// text is an old one: programs compare it.
var ErrNone = errors.New("cert or key has not provided")

// Source is a certificate and its key in PEM form, or the names of the files with
// them.
type Source struct {
	InFiles   bool   // Cert and Key are file names
	Cert, Key string // in PEM form, or the names of PEM files
}

// IsEmpty reports whether the certificate or its key is missing.
func (s Source) IsEmpty() bool { return s.Cert == "" || s.Key == "" }

// Load returns the certificate. It fails with ErrNone if the source is empty.
func (s Source) Load() (tls.Certificate, error) {
	if s.IsEmpty() {
		return tls.Certificate{}, ErrNone
	}
	if s.InFiles {
		cert, err := tls.LoadX509KeyPair(s.Cert, s.Key)
		if err != nil {
			return cert, fmt.Errorf("fasthttp: cannot load the certificate %q with the key %q: %w", s.Cert, s.Key, err)
		}
		return cert, nil
	}
	cert, err := tls.X509KeyPair([]byte(s.Cert), []byte(s.Key))
	if err != nil {
		return cert, fmt.Errorf("fasthttp: cannot use the certificate: %w", err)
	}
	return cert, nil
}

// Files is a set of certificates in files. The zero value is empty. Its methods may
// be called from any goroutine.
type Files struct {
	pairs atomic.Pointer[[]*pair] // replaced, never changed

	mu sync.Mutex // held while pairs is replaced
}

func (f *Files) all() []*pair {
	if pairs := f.pairs.Load(); pairs != nil {
		return *pairs
	}
	return nil
}

// Add adds the certificate in two more files. If it fails it changes nothing.
func (f *Files) Add(certFile, keyFile string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	added, err := readPair(certFile, keyFile)
	if err != nil {
		return err
	}
	pairs := append(slices.Clone(f.all()), added)
	f.pairs.Store(&pairs)
	return nil
}

// For returns the first certificate that the client can use and that is valid for
// the host it asks for, or else the very first, or nil if there is none.
func (f *Files) For(hello *tls.ClientHelloInfo) *tls.Certificate {
	pairs := f.all()
	if len(pairs) == 0 {
		return nil
	}
	if len(pairs) > 1 {
		for _, p := range pairs {
			if hello.SupportsCertificate(&p.cert) == nil {
				return &p.cert
			}
		}
	}
	return &pairs[0].cert
}

// Reload reads the files that have changed. It returns the first error, but reads the
// other files in any case. A certificate whose files cannot be used stays unchanged.
func (f *Files) Reload() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	pairs := slices.Clone(f.all())
	var failed error
	for i, p := range pairs {
		if p.unchanged() {
			continue
		}
		fresh, err := readPair(p.certFile, p.keyFile)
		if err != nil {
			if failed == nil {
				failed = err
			}
			continue
		}
		pairs[i] = fresh
	}
	f.pairs.Store(&pairs)
	return failed
}

// pair is a certificate as it was read from two files. It is never changed.
type pair struct {
	certFile, keyFile string
	certInfo, keyInfo os.FileInfo // from before the files were read
	cert              tls.Certificate
}

func readPair(certFile, keyFile string) (*pair, error) {
	p := &pair{certFile: certFile, keyFile: keyFile}
	// reading a missing file returns the error
	p.certInfo, _ = os.Stat(certFile)
	p.keyInfo, _ = os.Stat(keyFile)
	var err error
	p.cert, err = Source{InFiles: true, Cert: certFile, Key: keyFile}.Load()
	if err != nil {
		return nil, err
	}
	return p, nil
}

// unchanged reports whether the files are the ones that were read. A file
// replaced by renaming, or by moving a symbolic link, is a different file even if
// size and time are the same.
func (p *pair) unchanged() bool {
	return sameFile(p.certFile, p.certInfo) && sameFile(p.keyFile, p.keyInfo)
}

func sameFile(name string, was os.FileInfo) bool {
	is, err := os.Stat(name)
	return err == nil && was != nil && os.SameFile(is, was) && is.Size() == was.Size() && is.ModTime().Equal(was.ModTime())
}
