//go:build unix

package fasthttp

import (
	"errors"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/valyala/fasthttp/internal/files"
)

// To open a pipe would otherwise wait for a process that writes to it.
func TestResponseSendFileDoesNotWaitForAPipe(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	var resp Response
	resp.SetBodyString("kept")
	if err := resp.SendFile(pipe); !errors.Is(err, files.ErrNotRegular) || string(resp.Body()) != "kept" {
		t.Errorf("%v, and the body is %q", err, resp.Body())
	}
}
