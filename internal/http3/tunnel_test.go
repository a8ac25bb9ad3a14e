package http3

import (
	"errors"
	"os"
	"testing"
)

// lost is the error of a connection whose peer was silent for too long.
type lost struct{}

func (lost) Error() string   { return "no recent network activity" }
func (lost) Timeout() bool   { return true }
func (lost) Temporary() bool { return false }

// lostStream is a stream whose connection is lost.
type lostStream struct{ TunnelStream }

func (lostStream) Next(int) ([]byte, error)  { return nil, lost{} }
func (lostStream) Write([]byte) (int, error) { return 0, lost{} }

// A lost connection is no expired deadline, after which a program may try again.
func TestTunnelOfLostConnection(t *testing.T) {
	var tunnel Tunnel
	tunnel.Init(lostStream{}, func() {})
	b := make([]byte, 1)
	if _, err := tunnel.Read(b); errors.Is(err, os.ErrDeadlineExceeded) || !errors.Is(err, lost{}) {
		t.Errorf("Read: %v", err)
	}
	if _, err := tunnel.Write(b); errors.Is(err, os.ErrDeadlineExceeded) || !errors.Is(err, lost{}) {
		t.Errorf("Write: %v", err)
	}
}
