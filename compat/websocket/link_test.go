package websocket

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/valyala/fasthttp/compat/internal/process"
)

// The kinds of messages, as on the wire.
const opText, opBinary = 1, 2

// largest is the size of the largest message here. The limits of all peers are
// above it.
const largest = 1 << 20

// link is a connection of any library, after its opening handshake. A goroutine reads from it
// at all times, so that pings are answered and pongs seen.
type link interface {
	// write sends a message: in one frame for each part, as far as the library can.
	write(kind int, parts ...[]byte) error
	// read returns the next message. The error is a *closedError after a Close frame.
	read() (kind int, p []byte, err error)
	// ping sends a ping, and returns when its pong has arrived. Not every library lets its
	// caller choose the payload.
	ping(payload string) error
	// close performs the closing handshake.
	close(code int, reason string) error
	subprotocol() string
}

// closedError is the Close frame with which the peer has ended a connection.
type closedError struct {
	code   int
	reason string
}

func (e *closedError) Error() string { return fmt.Sprintf("closed: %d %s", e.code, e.reason) }

var errPatience = errors.New("nothing has arrived")

// message is a message, or the error of the read that would have returned the next one.
type message struct {
	kind int
	p    []byte
	err  error
}

// inbox has the messages that the goroutine of a link has read.
type inbox struct {
	messages chan message
	ended    chan struct{} // closed after the last one
	err      error         // set when ended is closed
}

// newInbox starts to read. Messages that do not fit into the channel wait in the kernel.
func newInbox(read func() (int, []byte, error)) *inbox {
	b := &inbox{messages: make(chan message, 64), ended: make(chan struct{})}
	go func() {
		defer close(b.ended)
		for {
			kind, p, err := read()
			if err != nil {
				b.err = err
				return
			}
			b.messages <- message{kind, p, nil}
		}
	}()
	return b
}

// next returns the next message.
func (b *inbox) next() (int, []byte, error) {
	select {
	case m := <-b.messages:
		return m.kind, m.p, m.err
	case <-b.ended:
	case <-time.After(process.Patience):
		return 0, nil, errPatience
	}
	select {
	case m := <-b.messages:
		return m.kind, m.p, m.err
	default:
		return 0, nil, b.err
	}
}

// end waits until the peer has ended the connection, and returns how.
func (b *inbox) end() error {
	for {
		select {
		case <-b.messages:
		case <-b.ended:
			return b.err
		case <-time.After(process.Patience):
			return errPatience
		}
	}
}

// conn has the methods that gorilla and this module have in common.
type conn interface {
	ReadMessage() (int, []byte, error)
	WriteMessage(int, []byte) error
	NextWriter(int) (io.WriteCloser, error)
	WriteControl(int, []byte, time.Time) error
	SetPongHandler(func(string) error)
	SetReadLimit(int64)
	Subprotocol() string
	Close() error
}

// connLink is a link of gorilla or this module.
type connLink struct {
	*inbox
	c      conn
	format func(code int, reason string) []byte
	pongs  chan string
}

// newConnLink begins to read from c. asClosed converts the error of a read.
func newConnLink(c conn, asClosed func(error) error) *connLink {
	l := &connLink{c: c, pongs: make(chan string, 16)}
	c.SetReadLimit(2 * largest)
	c.SetPongHandler(func(payload string) error {
		l.pongs <- payload
		return nil
	})
	l.inbox = newInbox(func() (int, []byte, error) {
		kind, p, err := c.ReadMessage()
		return kind, p, asClosed(err)
	})
	return l
}

func (l *connLink) write(kind int, parts ...[]byte) error {
	if len(parts) == 1 {
		return l.c.WriteMessage(kind, parts[0])
	}
	w, err := l.c.NextWriter(kind)
	return writeParts(w, err, parts)
}

// writeParts writes a message to a writer, unless that could not be made.
func writeParts(w io.WriteCloser, err error, parts [][]byte) error {
	for _, p := range parts {
		if err == nil {
			_, err = w.Write(p)
		}
	}
	if err != nil {
		return err
	}
	return w.Close()
}

func (l *connLink) read() (int, []byte, error) { return l.next() }

func (l *connLink) ping(payload string) error {
	if err := l.c.WriteControl(9, []byte(payload), time.Now().Add(process.Patience)); err != nil {
		return err
	}
	select {
	case got := <-l.pongs:
		if got != payload {
			return fmt.Errorf("a pong with %q for a ping with %q", got, payload)
		}
		return nil
	case <-time.After(process.Patience):
		return errPatience
	}
}

func (l *connLink) close(code int, reason string) error {
	if err := l.c.WriteControl(8, l.format(code, reason), time.Now().Add(process.Patience)); err != nil {
		return err
	}
	err := l.end()
	_ = l.c.Close()
	if _, ok := err.(*closedError); ok {
		return nil
	}
	return err
}

func (l *connLink) subprotocol() string { return l.c.Subprotocol() }
