package fasthttp

import (
	"crypto/tls"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp/internal/certs"
)

// defaultReloadInterval is how often a TLSReloader looks at its files if
// TLSReloader.Interval is not set.
const defaultReloadInterval = 10 * time.Second

// TLSReloader has certificates in files, and reads them again when they have
// changed, so that a certificate is renewed without a restart:
//
//	certs, err := fasthttp.NewTLSReloader("cert.pem", "key.pem")
//	if err != nil {
//		return err
//	}
//	server.TLSConfig = &tls.Config{GetCertificate: certs.GetCertificate}
//	return server.ListenAndServeTLS(":443", "", "")
//
// It has no goroutine of its own: a handshake that finds that the last look at
// the files is Interval ago looks again. Connections that exist keep the
// certificate they began with. If changed files cannot be used, such as
// while only one of the two was replaced, the certificate from before stays in
// use, and the next look tries again.
//
// Its methods may be called from any goroutine; the fields must not be changed
// once it is in use. It must not be copied.
type TLSReloader struct {
	_ noCopy

	// Interval is how often the files are looked at, at most; 10 seconds if
	// it is 0.
	Interval time.Duration

	// Logger gets the errors of reading files that have changed. By default
	// they go to the standard error output.
	Logger Logger

	looked atomic.Int64 // when, in nanoseconds since begun
	begun  time.Time

	files certs.Files

	mu   sync.Mutex // guards last
	last string     // the last error that was logged
}

// NewTLSReloader returns a TLSReloader with the certificate of the PEM files
// certFile and keyFile. It fails as Add does.
func NewTLSReloader(certFile, keyFile string) (*TLSReloader, error) {
	r := &TLSReloader{begun: time.Now()}
	if err := r.Add(certFile, keyFile); err != nil {
		return nil, err
	}
	return r, nil
}

// Add adds the certificate of two more files, for other hosts or with another
// kind of key. It may be called while servers use the reloader. It fails, and changes
// nothing, if a file cannot be read or the two do not belong together.
func (r *TLSReloader) Add(certFile, keyFile string) error { return r.files.Add(certFile, keyFile) }

// GetCertificate is for tls.Config.GetCertificate. It returns the first
// certificate that the client can use and that is valid for the host it asks
// for, or else the very first. It returns no error.
func (r *TLSReloader) GetCertificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	r.lookNowAndThen()
	return r.files.For(hello), nil
}

// lookNowAndThen looks at the files if the time has come. Of the handshakes
// of that moment one does so, and the others do not wait for it.
func (r *TLSReloader) lookNowAndThen() {
	interval := r.Interval
	if interval <= 0 {
		interval = defaultReloadInterval
	}
	now, looked := time.Since(r.begun), r.looked.Load()
	if now-time.Duration(looked) < interval || !r.looked.CompareAndSwap(looked, int64(now)) {
		return
	}
	err := r.Reload()
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil {
		r.last = ""
		return
	}
	// the same error comes with each look until somebody mends it
	if text := err.Error(); text != r.last {
		r.last = text
		r.logger().Printf("%s; the certificate from before stays in use", text)
	}
}

func (r *TLSReloader) logger() Logger {
	if r.Logger != nil {
		return r.Logger
	}
	return defaultLogger
}

// Reload looks at the files at once and reads those that have changed. It
// returns the first error there was; the other files were read in any case.
func (r *TLSReloader) Reload() error { return r.files.Reload() }

// GenerateTestCertificate returns a certificate that signs itself, and its
// private key, both in PEM form, fit for ServeTLSEmbed and AppendCertEmbed. It
// is valid for a year, for host: a name such as "localhost" or "*.a.test", or an
// IP address; a port behind it is left out. A client that is to accept it must
// have it among its root certificates.
//
// It is meant for tests: the world has no reason to trust it. It fails only if the
// packages of crypto do, as for a name that cannot stand in a certificate.
func GenerateTestCertificate(host string) ([]byte, []byte, error) { return certs.SelfSigned(host) }
