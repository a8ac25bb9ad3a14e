//go:build linux

package netloop

import (
	"encoding/binary"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// line is where the poller that has the seat waits until it is its turn.
//
// Go's scheduler asks the system what has become ready only if no goroutine can
// run. A poller that fetched events for as long as there are some would begin
// request after request, while those that were begun wait to be answered: their
// goroutines would be many, and what they wait for would not be asked for. So
// it goes the way of everybody who waits for a descriptor: it makes one ready,
// and is called when those have run that could, and those that were ready
// before it.
type line struct{ watched }

func newLine() (line, error) {
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return line{}, os.NewSyscallError("eventfd", err)
	}
	w, err := newWatched(fd, "eventfd")
	return line{w}, err
}

// step is what is added to the descriptor's count.
var step = binary.NativeEndian.AppendUint64(nil, 1)

// join makes the descriptor ready. Nobody needs to read what it writes: Go's
// poller is told of each write.
func (q line) join() { _, _ = syscall.Write(q.fd, step) }
