package fasthttp

import (
	"crypto/tls"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/valyala/fasthttp/internal/servertest"
)

// certFiles are the two files of a certificate.
type certFiles struct{ cert, key string }

func newCertFiles(t testing.TB, host string) certFiles {
	t.Helper()
	dir := t.TempDir()
	f := certFiles{filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")}
	f.renew(t, host)
	return f
}

// renew replaces both files.
func (f certFiles) renew(t testing.TB, host string) {
	t.Helper()
	cert, key, err := GenerateTestCertificate(host)
	if err != nil {
		t.Fatal(err)
	}
	f.write(t, cert, key)
}

// write replaces the files for which it has content. nil leaves a file as it is.
func (f certFiles) write(t testing.TB, cert, key []byte) {
	t.Helper()
	for name, data := range map[string][]byte{f.cert: cert, f.key: key} {
		if data == nil {
			continue
		}
		fresh := name + ".new"
		if err := os.WriteFile(fresh, data, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(fresh, name); err != nil {
			t.Fatal(err)
		}
	}
}

func newTestReloader(t testing.TB, f certFiles) (*TLSReloader, *servertest.Log) {
	t.Helper()
	r, err := NewTLSReloader(f.cert, f.key)
	if err != nil {
		t.Fatal(err)
	}
	log := &servertest.Log{}
	r.Logger = log
	r.Interval = 1 // every handshake checks the files
	return r, log
}

// checkHost checks the host of the reloader's certificate.
func checkHost(t testing.TB, r *TLSReloader, want string) {
	t.Helper()
	cert, err := r.GetCertificate(&tls.ClientHelloInfo{})
	if err != nil {
		t.Fatal(err)
	}
	if got := cert.Leaf.DNSNames[0]; got != want {
		t.Errorf("the certificate is for %q, want %q", got, want)
	}
}

func TestTLSReloaderFindsRenewedCertificates(t *testing.T) {
	f := newCertFiles(t, "old.test")
	r, log := newTestReloader(t, f)
	checkHost(t, r, "old.test")
	f.renew(t, "new.test")
	checkHost(t, r, "new.test")
	log.CheckEmpty(t)
}

func TestTLSReloaderKeepsWhatWorked(t *testing.T) {
	f := newCertFiles(t, "old.test")
	r, log := newTestReloader(t, f)
	cert, key, err := GenerateTestCertificate("new.test")
	if err != nil {
		t.Fatal(err)
	}
	// the first half of the next pair
	f.write(t, cert, nil)
	for range 5 {
		checkHost(t, r, "old.test")
	}
	if lines := log.All(); len(lines) != 1 {
		t.Errorf("logged %q, want one line", lines)
	}
	log.WaitFor(t, f.cert, "from before stays in use")
	if r.Reload() == nil {
		t.Error("Reload has no error")
	}
	// the second half
	f.write(t, nil, key)
	checkHost(t, r, "new.test")

	if err := os.Remove(f.key); err != nil {
		t.Fatal(err)
	}
	checkHost(t, r, "new.test")
	if lines := log.All(); len(lines) != 2 {
		t.Errorf("logged %q, want two lines", lines)
	}
}

func TestTLSReloaderLooksAtFilesNowAndThen(t *testing.T) {
	servertest.Bubble(t, func(t *testing.T) {
		f := newCertFiles(t, "old.test")
		r, _ := newTestReloader(t, f)
		for _, interval := range []time.Duration{0, time.Hour} {
			r.Interval = interval
			f.renew(t, "new.test")
			checkHost(t, r, "old.test")
		}
		if err := r.Reload(); err != nil {
			t.Fatal(err)
		}
		checkHost(t, r, "new.test")
	})
}

func TestTLSReloaderChoosesByHost(t *testing.T) {
	t.Parallel()
	a, b := newCertFiles(t, "a.test"), newCertFiles(t, "b.test")
	r, _ := newTestReloader(t, a)
	if err := r.Add(b.cert, b.key); err != nil {
		t.Fatal(err)
	}
	config := &tls.Config{GetCertificate: r.GetCertificate}
	for host, want := range map[string]string{"a.test": "a.test", "b.test": "b.test", "c.test": "a.test", "": "a.test"} {
		if got := certificateHost(t, config, host); got != want {
			t.Errorf("%q gets the certificate of %q, want %q", host, got, want)
		}
	}
	b.renew(t, "c.test")
	if got := certificateHost(t, config, "c.test"); got != "c.test" {
		t.Errorf("got the certificate of %q", got)
	}
}

// certificateHost returns the host of the certificate that a server with config
// sends to a client that asks for host.
func certificateHost(t testing.TB, config *tls.Config, host string) string {
	t.Helper()
	near, far := net.Pipe()
	defer near.Close()
	server := tls.Server(far, config)
	done := make(chan error, 1)
	go func() {
		done <- server.Handshake()
		_ = far.Close()
	}()
	client := tls.Client(near, &tls.Config{ServerName: host, InsecureSkipVerify: true})
	if err := client.Handshake(); err != nil {
		t.Fatal(err)
	}
	return client.ConnectionState().PeerCertificates[0].DNSNames[0]
}

func TestTLSReloaderErrors(t *testing.T) {
	f := newCertFiles(t, "a.test")
	if _, err := NewTLSReloader(f.cert, f.cert); err == nil {
		t.Error("a certificate was taken for a key")
	}
	if _, err := NewTLSReloader(f.key+".missing", f.key); err == nil {
		t.Error("no error for a missing file")
	}
	r, _ := newTestReloader(t, f)
	if err := r.Add("", ""); err == nil {
		t.Error("names that are empty were taken")
	}
}

// A TLSReloader that NewTLSReloader has not made has its certificates from Add.
func TestTLSReloaderMayBeginEmpty(t *testing.T) {
	f := newCertFiles(t, "first.test")
	r := &TLSReloader{Interval: 1}
	if err := r.Add(f.cert, f.key); err != nil {
		t.Fatal(err)
	}
	checkHost(t, r, "first.test")
	for _, host := range []string{"second.test", "third.test"} {
		f.renew(t, host)
		checkHost(t, r, host)
	}
}

func TestTLSReloaderWithoutCertificates(t *testing.T) {
	var r TLSReloader
	if cert, err := r.GetCertificate(&tls.ClientHelloInfo{}); cert != nil || err == nil {
		t.Errorf("got %v, %v", cert, err)
	}
	if err := r.Reload(); err != nil {
		t.Error(err)
	}
}

func TestTLSReloaderUnderLoad(t *testing.T) {
	f := newCertFiles(t, "a.test")
	r, _ := newTestReloader(t, f)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 50 {
				if cert, err := r.GetCertificate(&tls.ClientHelloInfo{}); err != nil || cert.Leaf == nil {
					t.Errorf("got %v, %v", cert, err)
				}
			}
		})
	}
	for range 5 {
		f.renew(t, "a.test")
	}
	all.Wait()
}

func TestServerUsesRenewedCertificates(t *testing.T) {
	servertest.ForEachTLSEngine(t, testServerUsesRenewedCertificates)
}

func testServerUsesRenewedCertificates(t *testing.T, e servertest.Engine) {
	f := newCertFiles(t, "old.test")
	r, _ := newTestReloader(t, f)
	ts := startServer(t, e, &Server{Handler: echo, TLSConfig: &tls.Config{GetCertificate: r.GetCertificate}})
	check := func(host string) *tls.Conn {
		t.Helper()
		c, err := tls.Dial("tcp4", ts.Listener.Addr().String(), &tls.Config{InsecureSkipVerify: true, ServerName: host})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		if got := c.ConnectionState().PeerCertificates[0].DNSNames[0]; got != host {
			t.Errorf("the certificate is for %q, want %q", got, host)
		}
		return c
	}
	old := ts.Wrap(check("old.test"))
	f.renew(t, "new.test")
	check("new.test")
	// open connections stay
	old.Get("/still")
	old.Expect(200, servertest.Echoed("GET", "/still", ""))
}
