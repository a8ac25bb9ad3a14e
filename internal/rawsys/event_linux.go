package rawsys

import (
	"encoding/binary"
	"os"

	"golang.org/x/sys/unix"
)

// Event is an eventfd that only Signal writes to: what it counts can be as much
// as no program lives to see, so no write ever waits.
type Event struct{ fd int }

// NewEvent opens an eventfd.
func NewEvent() (Event, error) {
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return Event{}, os.NewSyscallError("eventfd", err)
	}
	return Event{fd}, nil
}

// FD returns the descriptor, which the caller closes. It may be watched and read.
func (e Event) FD() int { return e.fd }

// one is what Signal adds.
var one = binary.NativeEndian.AppendUint64(nil, 1)
