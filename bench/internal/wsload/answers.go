package wsload

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
)

// answers checks the frames that a socket receives, in pieces of any size. It keeps nothing of
// the payloads.
type answers struct {
	head   [10]byte
	have   int    // bytes of head
	rest   uint64 // bytes of the payload that are missing
	inside bool   // a frame, after its header
	// at is how much of the message has arrived, and more whether it has more frames.
	at      int
	more    bool
	control []byte // the payload of a control frame so far
}

// event is a completed part.
type event int

const (
	nothing event = iota
	message
	pong
	ping // its payload is in control
)

var errClosed = errors.New("the server closes the socket")

// next reads p up to the end of a message or control frame, and returns how many bytes these
// are. The next message must have the payload want, and the next pong wantPong.
func (a *answers) next(p, want, wantPong []byte) (n int, done event, err error) {
	for {
		if !a.inside {
			read, whole, err := a.header(p[n:], len(want))
			n += read
			if err != nil || !whole {
				return n, nothing, err
			}
		}
		part := p[n:]
		if uint64(len(part)) > a.rest {
			part = part[:a.rest]
		}
		control := a.head[0]&0x08 != 0
		if control {
			a.control = append(a.control, part...)
		} else {
			if !bytes.Equal(part, want[a.at:a.at+len(part)]) {
				return n, nothing, fmt.Errorf("a message is wrong between its bytes %d and %d", a.at, a.at+len(part))
			}
			a.at += len(part)
		}
		n += len(part)
		a.rest -= uint64(len(part))
		if a.rest > 0 {
			return n, nothing, nil
		}
		a.inside, a.have = false, 0
		if control {
			done, err = a.controlEvent(wantPong)
			return n, done, err
		}
		if a.more {
			continue
		}
		if a.at != len(want) {
			return n, nothing, fmt.Errorf("a message has %d bytes instead of %d", a.at, len(want))
		}
		a.at = 0
		return n, message, nil
	}
}

// header reads a header, or a part of it.
func (a *answers) header(p []byte, size int) (n int, whole bool, err error) {
	for {
		need := 2
		if a.have >= need {
			need = headerSize(a.head[1])
		}
		if a.have == need {
			break
		}
		if n == len(p) {
			return n, false, nil
		}
		read := copy(a.head[a.have:need], p[n:])
		a.have += read
		n += read
	}
	a.inside = true
	return n, true, a.check(size)
}

func headerSize(second byte) int {
	switch second &^ maskBit {
	case 126:
		return 4
	case 127:
		return 10
	}
	return 2
}

// check checks a whole header, and prepares for the payload.
func (a *answers) check(size int) error {
	first, second := a.head[0], a.head[1]
	a.rest = uint64(second &^ maskBit)
	shortest := uint64(0)
	switch a.rest {
	case 126:
		a.rest, shortest = uint64(binary.BigEndian.Uint16(a.head[2:])), 126
	case 127:
		a.rest, shortest = binary.BigEndian.Uint64(a.head[2:]), 1<<16
	}
	opcode := first & 0x0f
	switch {
	case first&0x70 != 0 || second&maskBit != 0 || a.rest < shortest:
		return fmt.Errorf("the header % x is not one of a server", a.head[:a.have])
	case opcode == opPing, opcode == opPong, opcode == opClose:
		if first&finBit == 0 || a.rest > 125 {
			return fmt.Errorf("the header % x is not one of a control frame", a.head[:a.have])
		}
		a.control = a.control[:0]
		return nil
	case opcode == opBinary && !a.more, opcode == opContinuation && a.more:
	default:
		return fmt.Errorf("the header % x is unexpected", a.head[:a.have])
	}
	if a.rest > uint64(size-a.at) {
		return fmt.Errorf("a message has more than %d bytes", size)
	}
	a.more = first&finBit == 0
	return nil
}

func (a *answers) controlEvent(wantPong []byte) (event, error) {
	switch a.head[0] & 0x0f {
	case opClose:
		if len(a.control) >= 2 {
			return nothing, fmt.Errorf("%w: %d %q", errClosed, binary.BigEndian.Uint16(a.control), a.control[2:])
		}
		return nothing, errClosed
	case opPing:
		return ping, nil
	}
	if !bytes.Equal(a.control, wantPong) {
		return nothing, fmt.Errorf("a pong has %q instead of %q", a.control, wantPong)
	}
	return pong, nil
}
