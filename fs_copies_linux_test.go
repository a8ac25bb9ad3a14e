package fasthttp

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// Known failure 47: a link in the place of a copy is none, even where it has the
// time that a copy would have.
func TestLinksWithTheTimeOfACopyAreNoCopies(t *testing.T) {
	root := plant(t, map[string]string{"a.txt": long, "other": "not what was asked for", "a.txt.fasthttp.gz@": "other"})
	name := filepath.Join(root, "a.txt.fasthttp.gz")
	at := unix.NsecToTimeval(modelTime.UnixNano())
	if err := unix.Lutimes(name, []unix.Timeval{at, at}); err != nil {
		t.Skipf("links have no times here: %v", err)
	}
	askFor(t, (&FS{Root: root, Compress: true}).NewRequestHandler(), "GET", "/a.txt", "Accept-Encoding", "gzip").checkCoding(t, "link", "gzip", long)
	if info, err := os.Lstat(name); err != nil || !info.Mode().IsRegular() {
		t.Errorf("the link is still there: %v", err)
	}
}
