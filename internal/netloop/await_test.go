//go:build linux

package netloop

import (
	"errors"
	"net"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/valyala/fasthttp/internal/servertest"
)

func TestAwaitWaitsForInput(t *testing.T) {
	var told []bool
	waits := make(chan bool, 1)
	nc, done := detached(t, func(d *Detached) {
		d.Waiting = func(begins bool) {
			told = append(told, begins)
			if begins {
				waits <- true
			}
		}
		buf := make([]byte, 16)
		for range 2 {
			// Await leaves the bytes in the socket
			if err := d.Await(); err != nil {
				t.Error(err)
			}
		}
		if n, err := d.Read(buf); n != 1 || err != nil {
			t.Errorf("read %d, %v", n, err)
		}
		if len(told) > 0 {
			t.Error("there was a wait")
		}
		if err := d.Await(); err != nil {
			t.Error(err)
		}
		if n, err := d.Read(buf); n != 2 || err != nil {
			t.Errorf("read %d, %v", n, err)
		}
		_ = d.SetReadDeadline(time.Now().Add(-time.Second))
		if err := d.Await(); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("after a deadline: %v", err)
		}
		_ = d.SetReadDeadline(time.Time{})
		// the end is something to be read
		if err := d.Await(); err != nil {
			t.Error(err)
		}
		d.Shutdown()
		if err := d.Await(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("of a closed connection: %v", err)
		}
	})
	servertest.Receive(t, "a wait", waits)
	if _, err := nc.Write([]byte("ab")); err != nil {
		t.Fatal(err)
	}
	servertest.Receive(t, "a wait", waits)
	_ = nc.Close()
	servertest.Receive(t, "the end of the connection", done)
	if want := []bool{true, false, true, false}; !slices.Equal(told, want) {
		t.Errorf("told of waits: %v, want %v", told, want)
	}
}
