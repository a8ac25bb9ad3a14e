package wsload

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"time"
)

// connectTLS opens the sockets of a load over TLS, each of which sends one message.
func (p *loop) connectTLS() error {
	d, err := newDialer(p.Addr, p.path())
	if err != nil {
		return err
	}
	config := &tls.Config{InsecureSkipVerify: true}
	for i := range p.conns {
		nc, err := d.dialTLS(p.Addr, config)
		if err != nil {
			return fmt.Errorf("socket %d: %w", i, err)
		}
		p.tls = append(p.tls, nc)
		if err := p.greet(nc); err != nil {
			return fmt.Errorf("socket %d: %w", i, err)
		}
		if p.ended() {
			return errEnded
		}
	}
	return nil
}

// dialTLS connects and performs both handshakes.
func (d *dialer) dialTLS(addr string, config *tls.Config) (net.Conn, error) {
	over, err := net.DialTimeout("tcp4", addr, giveUp)
	if err != nil {
		return nil, err
	}
	_ = over.(*net.TCPConn).SetLinger(0) // so that the ports are free for the next run
	nc := tls.Client(over, config)
	if err := d.upgrade(nc); err != nil {
		_ = over.Close()
		return nil, err
	}
	return nc, nil
}

func (d *dialer) upgrade(nc net.Conn) error {
	if err := nc.SetDeadline(time.Now().Add(giveUp)); err != nil {
		return err
	}
	if _, err := nc.Write(d.request); err != nil {
		return err
	}
	var head []byte
	for b := make([]byte, 1); !bytes.HasSuffix(head, []byte("\r\n\r\n")); head = append(head, b...) {
		if _, err := io.ReadFull(nc, b); err != nil {
			return err
		}
	}
	if !bytes.HasPrefix(head, []byte("HTTP/1.1 101 ")) || !bytes.Contains(head, []byte(accept)) {
		return fmt.Errorf("the server does not switch protocols: %q", head)
	}
	return nil
}

// greet sends one message, which must return.
func (p *loop) greet(nc net.Conn) error {
	if _, err := nc.Write(p.texts.from(0, 1)); err != nil {
		return err
	}
	var in answers
	buf := make([]byte, p.Size+16)
	for {
		n, err := nc.Read(buf)
		if err != nil {
			return err
		}
		for b := buf[:n]; len(b) > 0; {
			read, done, err := in.next(b, p.texts.payloads[0], nil)
			if err != nil {
				return err
			}
			b = b[read:]
			if done == message {
				return nc.SetDeadline(time.Time{})
			}
		}
	}
}
