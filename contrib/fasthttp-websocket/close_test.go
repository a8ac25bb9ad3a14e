package websocket

import (
	"errors"
	"net"
	"testing"
	"time"
)

func TestCloseFramesAreErrorsOfBothSides(t *testing.T) {
	everywhere(t, func(t *testing.T, s server) {
		ended := make(chan error, 1)
		url := s.start(t, settings{}, nil, func(c *Conn) { ended <- echo(c) })
		c, _ := dial(t, &Dialer{}, url)
		if err := c.WriteControl(CloseMessage, FormatCloseMessage(4001, "bye"), time.Now().Add(patience)); err != nil {
			t.Fatal(err)
		}
		if err := c.WriteMessage(TextMessage, nil); err != ErrCloseSent {
			t.Errorf("a message after the Close frame: %v", err)
		}
		err := receive(t, ended)
		var closed *CloseError
		if !errors.As(err, &closed) || *closed != (CloseError{Code: 4001, Text: "bye"}) {
			t.Errorf("the server gets %v", err)
		}
		if !IsCloseError(err, 4001) || IsCloseError(err, 4002) || IsUnexpectedCloseError(err, 4001) || !IsUnexpectedCloseError(err, 4002) {
			t.Errorf("%v is not recognised", err)
		}
		if _, _, err := c.ReadMessage(); !IsCloseError(err, 4001) {
			t.Errorf("the client gets %v", err)
		}
	})
}

// The peer sees whether there was a Close frame, and browsers report it.
func TestConnectionsEndWithoutACloseFrame(t *testing.T) {
	everywhere(t, func(t *testing.T, s server) {
		for name, handler := range map[string]func(*Conn){
			"the handler returns": func(*Conn) {},
			"Close":               func(c *Conn) { _ = c.Close() },
		} {
			c, _ := dial(t, &Dialer{}, s.start(t, settings{}, nil, handler))
			if _, _, err := c.ReadMessage(); !IsCloseError(err, CloseAbnormalClosure) {
				t.Errorf("%s: the client gets %v", name, err)
			}
		}
		ended := make(chan error, 1)
		c, _ := dial(t, &Dialer{}, s.start(t, settings{}, nil, func(c *Conn) { ended <- echo(c) }))
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		if err := receive(t, ended); !IsCloseError(err, CloseAbnormalClosure) {
			t.Errorf("the server gets %v", err)
		}
		if err := c.Close(); err == nil {
			t.Error("a second Close has no error")
		}
	})
}

func TestReadLimit(t *testing.T) {
	everywhere(t, func(t *testing.T, s server) {
		ended := make(chan error, 1)
		c, _ := dial(t, &Dialer{}, s.start(t, settings{}, nil, func(c *Conn) {
			c.SetReadLimit(10)
			ended <- echo(c)
		}))
		if err := c.WriteMessage(TextMessage, make([]byte, 11)); err != nil {
			t.Fatal(err)
		}
		if err := receive(t, ended); err != ErrReadLimit {
			t.Errorf("the server gets %v", err)
		}
		if _, _, err := c.ReadMessage(); !IsCloseError(err, CloseMessageTooBig) {
			t.Errorf("the client gets %v", err)
		}
	})
}

// The goroutine of a connection of net/http ends with the connection.
func TestEachWayToCloseReleasesTheGoroutine(t *testing.T) {
	for name, end := range map[string]func(c *Conn) error{
		"Close":                func(c *Conn) error { return c.Close() },
		"CloseNow":             func(c *Conn) error { return c.CloseNow() },
		"CloseWith":            func(c *Conn) error { return c.CloseWith(CloseNormalClosure, "") },
		"CloseWith, with 1005": func(c *Conn) error { _ = c.CloseWith(CloseNoStatusReceived, ""); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dialed, _ := dial(t, &Dialer{}, startHTTP(t, settings{}, nil, echoing))
			released := make(chan struct{})
			c := newConn(dialed.base, func() { close(released) })
			if err := end(c); err != nil {
				t.Error(err)
			}
			receive(t, released)
			if err := c.Close(); !errors.Is(err, net.ErrClosed) {
				t.Errorf("Close afterwards: %v", err)
			}
		})
	}
}

func TestConnsWithoutAConnectionHaveErrors(t *testing.T) {
	for _, c := range []struct {
		conn *Conn
		want error
	}{{nil, ErrNilConn}, {&Conn{}, ErrNilNetConn}} {
		for name, call := range map[string]func() error{
			"Close":                func() error { return c.conn.Close() },
			"ReadMessage":          func() error { _, _, err := c.conn.ReadMessage(); return err },
			"ReadJSON":             func() error { return c.conn.ReadJSON(nil) },
			"NextReader":           func() error { _, _, err := c.conn.NextReader(); return err },
			"NextWriter":           func() error { _, err := c.conn.NextWriter(TextMessage); return err },
			"WriteMessage":         func() error { return c.conn.WriteMessage(TextMessage, nil) },
			"WriteJSON":            func() error { return c.conn.WriteJSON(1) },
			"WriteControl":         func() error { return c.conn.WriteControl(PingMessage, nil, time.Time{}) },
			"WritePreparedMessage": func() error { return c.conn.WritePreparedMessage(nil) },
			"JoinMessages":         func() error { _, err := JoinMessages(c.conn, "").Read(make([]byte, 1)); return err },
		} {
			if err := call(); err != c.want {
				t.Errorf("%s: %v, want %v", name, err, c.want)
			}
		}
		if c.conn.LocalAddr() != nil || c.conn.RemoteAddr() != nil {
			t.Error("there is an address")
		}
	}
}
