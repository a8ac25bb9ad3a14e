package fasthttp

import (
	"crypto/tls"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// defaultReloadInterval is how often a TLSReloader looks at its files where
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
// certificate they began with. Where changed files cannot be used, such as
// while only one of the two was replaced, the certificate from before stays in
// use, and the next look tries again.
//
// Its methods may be called from any goroutine; the fields must not be changed
// once it is in use. It must not be copied.
type TLSReloader struct {
	_ noCopy

	// Interval is how often the files are looked at, at most; 10 seconds where
	// it is 0.
	Interval time.Duration

	// Logger gets the errors of reading files that have changed. By default
	// they go to the standard error output.
	Logger Logger

	looked atomic.Int64 // when, in nanoseconds since begun
	begun  time.Time

	pairs atomic.Pointer[[]*certPair] // replaced, never changed

	mu   sync.Mutex // held by who replaces pairs
	last string     // the last error that was logged
}

// NewTLSReloader returns a TLSReloader with the certificate of the PEM files
// certFile and keyFile. It fails as Add does.
func NewTLSReloader(certFile, keyFile string) (*TLSReloader, error) {
	r := &TLSReloader{begun: time.Now()}
	r.pairs.Store(new([]*certPair))
	if err := r.Add(certFile, keyFile); err != nil {
		return nil, err
	}
	return r, nil
}

// Add adds the certificate of two more files, for other hosts or with another
// kind of key. It may be called while servers use the reloader. It fails, and changes
// nothing, if a file cannot be read or the two do not belong together.
func (r *TLSReloader) Add(certFile, keyFile string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	pair, err := readPair(certFile, keyFile)
	if err != nil {
		return err
	}
	pairs := append(slices.Clone(*r.pairs.Load()), pair)
	r.pairs.Store(&pairs)
	return nil
}

// GetCertificate is for tls.Config.GetCertificate. It returns the first
// certificate that the client can use and that is valid for the host it asks
// for, or else the very first. It returns no error.
func (r *TLSReloader) GetCertificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	r.lookNowAndThen()
	pairs := *r.pairs.Load()
	if len(pairs) > 1 {
		for _, pair := range pairs {
			if hello.SupportsCertificate(&pair.cert) == nil {
				return &pair.cert, nil
			}
		}
	}
	return &pairs[0].cert, nil
}

// lookNowAndThen looks at the files where the time has come. Of the handshakes
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
func (r *TLSReloader) Reload() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	pairs := slices.Clone(*r.pairs.Load())
	var failed error
	for i, pair := range pairs {
		if pair.unchanged() {
			continue
		}
		fresh, err := readPair(pair.certFile, pair.keyFile)
		if err != nil {
			if failed == nil {
				failed = err
			}
			continue
		}
		pairs[i] = fresh
	}
	r.pairs.Store(&pairs)
	return failed
}

// certPair is a certificate as two files had it. It is never changed.
type certPair struct {
	certFile, keyFile string
	certInfo, keyInfo os.FileInfo // from before the files were read
	cert              tls.Certificate
}

func readPair(certFile, keyFile string) (*certPair, error) {
	pair := &certPair{certFile: certFile, keyFile: keyFile}
	// a file that is missing is an error of reading it
	pair.certInfo, _ = os.Stat(certFile)
	pair.keyInfo, _ = os.Stat(keyFile)
	var err error
	pair.cert, err = certificateSource{file: true, cert: certFile, key: keyFile}.load()
	if err != nil {
		return nil, err
	}
	return pair, nil
}

// unchanged reports whether the files are those that were read. A file that is
// replaced by renaming, or by moving a symbolic link, is another one even where
// size and time are the same.
func (c *certPair) unchanged() bool {
	return sameFile(c.certFile, c.certInfo) && sameFile(c.keyFile, c.keyInfo)
}

func sameFile(name string, was os.FileInfo) bool {
	is, err := os.Stat(name)
	return err == nil && was != nil && os.SameFile(is, was) && is.Size() == was.Size() && is.ModTime().Equal(was.ModTime())
}
