package servertls

import (
	"crypto/tls"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// writeFiles writes a certificate for host, and its key, and returns the names of the
// files.
func writeFiles(t *testing.T, dir, host string) (cert, key string) {
	t.Helper()
	certData, keyData, err := SelfSigned(host)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for name, data := range map[string][]byte{cert: certData, key: keyData} {
		if err := errors.Join(os.WriteFile(name+".new", data, 0o600), os.Rename(name+".new", name)); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key
}

func TestFilesAreReadAgainWhenTheyHaveChanged(t *testing.T) {
	var files Files
	dir := t.TempDir()
	cert, key := writeFiles(t, dir, "old.test")
	if err := files.Add(cert, key); err != nil {
		t.Fatal(err)
	}
	before := files.all()[0]
	if err := files.Reload(); err != nil || files.all()[0] != before {
		t.Errorf("files that are the same were read again, %v", err)
	}
	writeFiles(t, dir, "new.test")
	if err := files.Reload(); err != nil || files.For(&tls.ClientHelloInfo{}).Leaf.DNSNames[0] != "new.test" || len(files.all()) != 1 {
		t.Errorf("%d certificates, %v", len(files.all()), err)
	}
	before = files.all()[0]
	if err := os.Remove(key); err != nil {
		t.Fatal(err)
	}
	if err := files.Reload(); !errors.Is(err, os.ErrNotExist) || files.all()[0] != before {
		t.Errorf("without a key: %v", err)
	}
	if err := files.Add("", ""); err != ErrNone || len(files.all()) != 1 {
		t.Errorf("%v, %d certificates", err, len(files.all()))
	}
}

func TestSources(t *testing.T) {
	cert, key, err := SelfSigned("[::1]:443")
	if err != nil {
		t.Fatal(err)
	}
	source := Source{Cert: string(cert), Key: string(key)}
	if got, err := source.Load(); err != nil || got.Leaf.VerifyHostname("::1") != nil {
		t.Errorf("%v, %v", got.Leaf, err)
	}
	source.Key = source.Cert
	if _, err := source.Load(); err == nil {
		t.Error("a certificate was taken for a key")
	}
	source.Key = ""
	if _, err := source.Load(); err != ErrNone || !source.IsEmpty() {
		t.Errorf("%v", err)
	}
}
