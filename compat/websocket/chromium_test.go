package websocket

import (
	"context"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/valyala/fasthttp/compat/internal/process"
)

// page is what a server with a page for browsers has, beside its WebSockets: the files in
// testdata, and a place for the result.
type page struct{ results chan string }

// browserResult is the result of a page whose checks have all passed.
const browserResult = nodeChecks + " checks"

func TestChromium(t *testing.T) {
	path := process.Find(t, "chromium", "a peer")
	for _, s := range ours {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			p := page{make(chan string, 1)}
			tp := newTap(t, s.start(t, options{compress: true, page: &p}))
			browse(t, path, "http://"+tp.addr()+"/page.html")
			select {
			case got := <-p.results:
				if got != browserResult {
					t.Errorf("the page has reported %q, want %q", got, browserResult)
				}
			case <-time.After(2 * patience):
				t.Fatal("the page has reported nothing")
			}
			checkTraffic(t, tp, true)
		})
	}
}

// browse shows a page in a browser without a window, until the end of the test.
func browse(t *testing.T, path, url string) {
	t.Helper()
	profile, err := os.MkdirTemp("", "profile")
	if err != nil {
		t.Fatal(err)
	}
	// its last process may still write after the first has ended
	t.Cleanup(func() {
		process.Await(t, "the end of the browser's profile", func() error { return os.RemoveAll(profile) })
	})
	ctx, cancel := context.WithTimeout(context.Background(), 3*patience)
	// the sandbox does not work for root, and containers have little shared memory
	cmd := exec.CommandContext(ctx, path, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-proxy-server",
		"--user-data-dir="+profile, "--remote-debugging-port=0", url)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		_ = cmd.Wait()
	})
}
