package http3

import (
	"errors"
	"os"
	"time"
)

// sendStream is the part of a stream that send needs.
type sendStream interface {
	SetWriteDeadline(t time.Time) error
	Write(p []byte) (int, error)
}

// send sends b within a limit. A machine that stands still may let the deadline pass before QUIC has looked
// at the bytes, so there is a second attempt.
func send(q sendStream, b []byte, limit time.Duration) (err error) {
	for range 2 {
		_ = q.SetWriteDeadline(time.Now().Add(limit))
		n := 0
		n, err = q.Write(b)
		if b = b[n:]; !errors.Is(err, os.ErrDeadlineExceeded) {
			break
		}
	}
	return err
}
