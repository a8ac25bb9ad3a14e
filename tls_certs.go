package fasthttp

import (
	"crypto/tls"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp/internal/certs"
)

// defaultReloadInterval is the default of TLSReloader.Interval.
const defaultReloadInterval = 10 * time.Second

// TLSReloader serves certificates from files, and reads them again when they have
// changed, so that a certificate can be renewed without a restart:
//
//	certs, err := fasthttp.NewTLSReloader("cert.pem", "key.pem")
//	if err != nil {
//		return err
//	}
//	server.TLSConfig = &tls.Config{GetCertificate: certs.GetCertificate}
//	return server.ListenAndServeTLS(":443", "", "")
//
// It has no goroutine of its own: a handshake checks the files if the last check was
// Interval ago or more. Existing connections keep their certificate. If the changed
// files cannot be used, for example while only one of the two was replaced, the old
// certificate stays in use, and the next check tries again.
//
// Its methods may be called from any goroutine. The fields must not be changed once it
// is in use. It must not be copied.
type TLSReloader struct {
	_ noCopy

	// Interval is the least time between two checks of the files; 10 seconds if it is 0.
	Interval time.Duration

	// Logger gets the errors of reading files that have changed. By default
	// they go to the standard error output.
	Logger Logger

	looked atomic.Int64 // the time of the last check, in nanoseconds since begun
	begun  time.Time

	files certs.Files

	mu   sync.Mutex // guards last
	last string     // the last error that was logged
}

// NewTLSReloader returns a TLSReloader with the certificate in the PEM files certFile and
// keyFile. It returns the errors of Add.
func NewTLSReloader(certFile, keyFile string) (*TLSReloader, error) {
	r := &TLSReloader{begun: time.Now()}
	if err := r.Add(certFile, keyFile); err != nil {
		return nil, err
	}
	return r, nil
}

// Add adds the certificate in two more files, for other hosts or with another type of
// key. It may be called while servers use the reloader. If a file cannot be read or the
// two do not match, it returns an error and changes nothing.
func (r *TLSReloader) Add(certFile, keyFile string) error { return r.files.Add(certFile, keyFile) }

// GetCertificate is for tls.Config.GetCertificate. It returns the first certificate
// that is valid for the requested host and that the client supports, or else the first
// of all. The error is always nil.
func (r *TLSReloader) GetCertificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	r.lookNowAndThen()
	return r.files.For(hello), nil
}

// lookNowAndThen checks the files if the last check was Interval ago. Of several concurrent
// handshakes one does so, and the others do not wait for it.
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
	// each check has the same error until the files are right: log it once
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

// Reload checks the files at once and reads the changed ones. It returns the first error,
// but reads the other files in any case.
func (r *TLSReloader) Reload() error { return r.files.Reload() }

// GenerateTestCertificate returns a self-signed certificate and its private key, both
// in PEM form, for ServeTLSEmbed and AppendCertEmbed. It is valid for a year, for host:
// a name such as "localhost" or "*.a.test", or an IP address; a port after it is
// ignored. A client accepts it only with this certificate among its root certificates.
//
// It is meant for tests. It returns an error only if the packages of crypto do, for
// example for a name that a certificate cannot contain.
func GenerateTestCertificate(host string) ([]byte, []byte, error) { return certs.SelfSigned(host) }
