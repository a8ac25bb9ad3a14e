package http2client

import (
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp/internal/http2"
	"github.com/valyala/fasthttp/internal/servertest"
)

// Frames of a server.
const (
	settingsFrame = "\x00\x00\x00\x04\x00\x00\x00\x00\x00"
	settingsAck   = "\x00\x00\x00\x04\x01\x00\x00\x00\x00"
	pingFrame     = "\x00\x00\x08\x06\x00\x00\x00\x00\x00" + "pingping"
	// whole responses to the first two requests
	firstResponse  = "\x00\x00\x01\x01\x05\x00\x00\x00\x01" + "\x88"
	secondResponse = "\x00\x00\x01\x01\x05\x00\x00\x00\x03" + "\x88"
)

// connectPaused returns a connection that no goroutine reads, and a server that reads nothing. Few frames
// that want answers make the connection pause.
func connectPaused(t *testing.T) (c *Conn, server net.Conn) {
	t.Helper()
	client, server := net.Pipe()
	t.Cleanup(func() { _, _ = client.Close(), server.Close() })
	said := make(chan error, 1)
	go func() {
		_, err := io.WriteString(server, settingsFrame+settingsAck)
		said <- err
	}()
	c, _ = begin(t, client, &Config{Write: time.Hour, Limits: http2.Limits{Output: 200, Glitches: -1}})
	servertest.Must(t, servertest.Receive(t, "the settings", said))
	c.expectReader(t, noReader)
	return c, server
}

// A call that reads the connection ends in time although the connection receives no more, since the server
// reads none of its answers.
func TestLeadingCallsEndInTimeWhileTheConnectionIsPaused(t *testing.T) {
	servertest.Bubble(t, func(t *testing.T) {
		c, server := connectPaused(t)
		began := time.Now()
		x, err := ask(c, nil)
		servertest.Must(t, err)
		if !x.leads {
			t.Fatal("the call does not lead")
		}
		go func() { _, _ = io.WriteString(server, strings.Repeat(pingFrame, 50)) }()
		if err := x.await(began.Add(time.Second)); err != errLate {
			t.Errorf("got %v", err)
		}
		if took := time.Since(began); took != time.Second {
			t.Errorf("the call took %v", took)
		}
	})
}

// A response that has arrived does not wait until the connection receives the frames after it, and
// these are not lost for other calls.
func TestResponsesBeforeAPause(t *testing.T) {
	servertest.Bubble(t, func(t *testing.T) {
		c, server := connectPaused(t)
		first, err := ask(c, nil)
		servertest.Must(t, err)
		second, err := ask(c, nil)
		servertest.Must(t, err)
		began := time.Now()
		go func() {
			_, _ = io.WriteString(server, firstResponse+strings.Repeat(pingFrame, 50)+secondResponse)
		}()
		if first.succeeds(t); !first.leads || time.Since(began) != 0 {
			t.Errorf("the first call leads: %v, and took %v", first.leads, time.Since(began))
		}
		go func() { _, _ = io.Copy(io.Discard, server) }()
		if second.succeeds(t); time.Since(began) != 0 {
			t.Errorf("the second call took %v", time.Since(began))
		}
	})
}

// Nothing waits if all that has arrived was received before the call had to leave.
func TestNothingIsLeftOfAPause(t *testing.T) {
	servertest.Bubble(t, func(t *testing.T) {
		c, server := connectPaused(t)
		x, err := ask(c, nil)
		servertest.Must(t, err)
		go func() { _, _ = io.WriteString(server, firstResponse+strings.Repeat(pingFrame, 12)) }()
		x.succeeds(t)
		c.expectReader(t, noReader)
		go func() { _, _ = io.Copy(io.Discard, server) }()
		x, err = ask(c, nil)
		servertest.Must(t, err)
		go func() { _, _ = io.WriteString(server, secondResponse) }()
		x.succeeds(t)
	})
}
