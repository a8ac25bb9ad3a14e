package files

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/valyala/fasthttp/bench/internal/probe"
	"github.com/valyala/fasthttp/bench/internal/wrk"
)

// load is one row: the request that wrk sends.
type load struct {
	name   string
	path   string
	field  string // a field of the request, "" for none
	conns  int
	status int
	coding string
	size   int // of the content when it is decoded; -1 for any
	// nginxGoal is the most that the event engine's processor time for a request
	// may be, as a share of nginx's.
	nginxGoal float64
	// bothGoal, if not 0, replaces the other goals: the most processor time of server and
	// client together, as a share of their time with upstream.
	bothGoal float64
}

const (
	small = 1.3
	large = 1.1
)

var loads = []load{
	{name: "1 KiB, cached", path: "/1k.txt", conns: 64, status: 200, size: 1 << 10, nginxGoal: small},
	{name: "64 KiB", path: "/64k.txt", conns: 16, status: 200, size: 64 << 10, nginxGoal: small},
	{name: "1 MiB", path: "/1m.txt", conns: 8, status: 200, size: 1 << 20, nginxGoal: large},
	{name: "100 MiB", path: "/100m.txt", conns: 4, status: 200, size: 100 << 20, nginxGoal: large},
	{name: "gzip of 64 KiB", path: "/64k.txt", field: "Accept-Encoding: gzip", conns: 64, status: 200, coding: "gzip", size: 64 << 10, nginxGoal: small},
	{name: "304", path: "/1k.txt", field: "If-Modified-Since: " + changed.Format(http.TimeFormat), conns: 64, status: 304, nginxGoal: small},
	{name: "404", path: "/nothing", conns: 64, status: 404, size: -1, nginxGoal: small},
}

// rows returns the loads to measure. Over TLS these are the loads for which the server
// encrypts much.
func (s *session) rows() []load {
	if s.identity == nil {
		return loads
	}
	var large []load
	for _, l := range loads {
		if l.coding == "" && l.size >= 1<<20 {
			l.bothGoal = tlsMost
			large = append(large, l)
		}
	}
	return large
}

// tlsMost is the bothGoal of loads over TLS.
const tlsMost = 1.05

// changed is the modification time of the files.
var changed = time.Date(2024, 5, 6, 7, 8, 9, 0, time.UTC)

// text is the content of a file of n bytes.
func text(n int) []byte {
	const line = "all work and no play makes a dull text. "
	return bytes.Repeat([]byte(line), n/len(line)+1)[:n]
}

// plant creates the files in a folder of temp, one of them also in compressed form: servers
// that do not compress themselves send that.
func plant(temp string) (root string, err error) {
	root = filepath.Join(temp, "files")
	// nginx runs as another user
	if err := errors.Join(os.Chmod(temp, 0o755), os.Mkdir(root, 0o755)); err != nil {
		return "", err
	}
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write(text(64 << 10)); err != nil {
		return "", err
	}
	if err := w.Close(); err != nil {
		return "", err
	}
	for name, content := range map[string][]byte{
		"1k.txt": text(1 << 10), "64k.txt": text(64 << 10), "64k.txt.gz": packed.Bytes(), "1m.txt": text(1 << 20), "100m.txt": text(100 << 20),
	} {
		name = filepath.Join(root, name)
		if err := errors.Join(os.WriteFile(name, content, 0o644), os.Chtimes(name, changed, changed)); err != nil {
			return "", err
		}
	}
	return root, nil
}

// url returns the beginning of the URLs of all files of a server.
func (s *session) url(addr string) string {
	if s.identity != nil {
		return "https://" + addr
	}
	return "http://" + addr
}

// ask sends the request of a row to a server, and returns an error if the response is wrong.
func (l *load) ask(ctx context.Context, client *http.Client, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url+l.path, http.NoBody)
	if err != nil {
		return err
	}
	if name, value, ok := strings.Cut(l.field, ": "); ok {
		req.Header.Set(name, value)
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if coding := resp.Header.Get("Content-Encoding"); resp.StatusCode != l.status || coding != l.coding {
		return fmt.Errorf("the answer is %s, coding %q", resp.Status, coding)
	}
	body := io.Reader(resp.Body)
	if l.coding != "" {
		if body, err = gzip.NewReader(resp.Body); err != nil {
			return err
		}
	}
	got := sha256.New()
	if _, err := io.Copy(got, body); err != nil || l.size < 0 {
		return err
	}
	if want := sha256.Sum256(text(l.size)); !bytes.Equal(got.Sum(nil), want[:]) {
		return errors.New("the answer has another content")
	}
	return nil
}

// warmUp checks the responses of a server, and takes it past its first requests, which are
// slow.
func (l *load) warmUp(ctx context.Context, url string) error {
	transport := &http.Transport{DisableCompression: true, TLSClientConfig: probe.TLSConfig()}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport, Timeout: time.Minute}
	const most, enough = 200, 32 << 20
	for range max(1, min(most, enough/max(l.size, 1))) {
		if err := l.ask(ctx, client, url); err != nil {
			return err
		}
	}
	return nil
}

// spareTime is how much longer than requested wrk may take before it is killed.
const spareTime = time.Minute

// run puts the load on a server. used is the processor time of wrk.
func (s *session) run(ctx context.Context, l load, url string) (r wrk.Result, used time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(s.seconds)*time.Second+spareTime)
	defer cancel()
	line := s.command(l, url)
	cmd := exec.CommandContext(ctx, line[0], line[1:]...)
	said, err := cmd.CombinedOutput()
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return r, 0, fmt.Errorf("wrk: %w: %s", err, strings.TrimSpace(string(said)))
	}
	if r, err = wrk.Parse(string(said)); err != nil {
		return r, 0, fmt.Errorf("%w: %s", err, strings.TrimSpace(string(said)))
	}
	return r, cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), l.accept(r)
}

// accept returns an error for a result that does not measure the server's speed.
func (l *load) accept(r wrk.Result) error {
	refused := 0
	if l.status >= 400 {
		refused = r.Requests
	}
	switch {
	case r.Requests == 0:
		return errors.New("no request was answered")
	case r.Refused != refused:
		return fmt.Errorf("%d of %d requests were refused", r.Refused, r.Requests)
	case r.Errors > r.Requests/100:
		return fmt.Errorf("%d socket errors at %d requests", r.Errors, r.Requests)
	}
	return nil
}

// command returns the command line of wrk.
func (s *session) command(l load, url string) []string {
	args := []string{"-t1", fmt.Sprintf("-c%d", l.conns), fmt.Sprintf("-d%ds", s.seconds), "--latency", "--timeout", "10s"}
	if l.field != "" {
		args = append(args, "-H", l.field)
	}
	return s.clientPlace.Command(s.wrk, append(args, url+l.path)...)
}
