package rawsys

import (
	"encoding/binary"
	"os"

	"golang.org/x/sys/unix"
)

// Event is an eventfd to which only Signal writes. Its counter has 64 bits and
// cannot overflow in the lifetime of a process, so no write waits.
type Event struct{ fd int }

// NewEvent opens an eventfd.
func NewEvent() (Event, error) {
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return Event{}, os.NewSyscallError("eventfd", err)
	}
	return Event{fd}, nil
}

// FD returns the descriptor. The caller may poll and read it, and must close it.
func (e Event) FD() int { return e.fd }

// one is the number that Signal adds to the counter.
var one = binary.NativeEndian.AppendUint64(nil, 1)
