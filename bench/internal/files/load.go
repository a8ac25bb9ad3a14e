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
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/valyala/fasthttp/bench/internal/probe"
	"github.com/valyala/fasthttp/bench/internal/study"
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
}

const (
	smallMost = 1.3
	largeMost = 1.1
)

var loads = []load{
	{name: "1 KiB, cached", path: "/1k.txt", conns: 64, status: 200, size: 1 << 10, nginxGoal: smallMost},
	{name: "64 KiB", path: "/64k.txt", conns: 16, status: 200, size: 64 << 10, nginxGoal: smallMost},
	{name: "1 MiB", path: "/1m.txt", conns: 8, status: 200, size: 1 << 20, nginxGoal: largeMost},
	{name: "100 MiB", path: "/100m.txt", conns: 4, status: 200, size: 100 << 20, nginxGoal: largeMost},
	{name: "gzip of 64 KiB", path: "/64k.txt", field: "Accept-Encoding: gzip", conns: 64, status: 200, coding: "gzip", size: 64 << 10, nginxGoal: smallMost},
	{name: "304", path: "/1k.txt", field: "If-Modified-Since: " + changed.Format(http.TimeFormat), conns: 64, status: 304, nginxGoal: smallMost},
	{name: "404", path: "/nothing", conns: 64, status: 404, size: -1, nginxGoal: smallMost},
}

func (l load) Row() study.Row { return study.Row{Name: l.name, Conns: l.conns} }

// large returns the loads for which a server encrypts much.
func large() []load {
	return slices.DeleteFunc(slices.Clone(loads), func(l load) bool { return l.coding != "" || l.size < 1<<20 })
}

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
