package wsload

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/valyala/fasthttp/bench/internal/dial"
)

// The key of RFC 6455 1.3 and its answer.
const (
	key    = "dGhlIHNhbXBsZSBub25jZQ=="
	accept = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="
)

// dial connects and performs the opening handshake. control may be nil.
func (l Load) dial(control func(fd uintptr) error) (net.Conn, error) {
	nc, err := dial.TCP("", l.Addr, control)
	if err != nil {
		return nil, err
	}
	if l.TLS {
		nc = tls.Client(nc, &tls.Config{InsecureSkipVerify: true})
	}
	err = nc.SetDeadline(time.Now().Add(giveUp))
	if err == nil {
		err = l.upgrade(nc)
	}
	if err == nil && l.Kind == Broadcast {
		// It belongs to its group when the server reads from it.
		err = exchange(nc, appendFrame(nil, finBit|opPing, []byte("joined?"), 1), nil, []byte("joined?"), pong)
	}
	if err = errors.Join(err, nc.SetDeadline(time.Time{})); err != nil {
		return nil, errors.Join(err, nc.Close())
	}
	return nc, nil
}

func (l Load) upgrade(nc net.Conn) error {
	if _, err := fmt.Fprintf(nc, "GET %s HTTP/1.1\r\nHost: %s\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"+
		"Sec-WebSocket-Key: %s\r\nSec-WebSocket-Version: 13\r\n\r\n", l.path(), l.Addr, key); err != nil {
		return err
	}
	var head []byte
	for b := make([]byte, 1); !bytes.HasSuffix(head, []byte("\r\n\r\n")); head = append(head, b...) {
		if _, err := io.ReadFull(nc, b); err != nil {
			return fmt.Errorf("after %q: %w", head, err)
		}
	}
	if !bytes.HasPrefix(head, []byte("HTTP/1.1 101 ")) || !bytes.Contains(head, []byte(accept)) {
		return fmt.Errorf("the server does not switch protocols: %q", head)
	}
	return nil
}

// exchange writes frames, and waits for the event that answers them.
func exchange(nc net.Conn, frames, want, wantPong []byte, answer event) error {
	if _, err := nc.Write(frames); err != nil {
		return err
	}
	var in answers
	buf := make([]byte, len(want)+64)
	for {
		n, err := nc.Read(buf)
		if err != nil {
			return err
		}
		for b := buf[:n]; len(b) > 0; {
			read, done, err := in.next(b, want, wantPong)
			if err != nil {
				return err
			}
			if b = b[read:]; done == answer && len(b) == 0 {
				return nil
			}
		}
	}
}
