package websocket

import (
	"bytes"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"github.com/valyala/fasthttp/internal/servertest"
	"github.com/valyala/fasthttp/internal/ws"
)

// TestReadersEndWithTheConnection closes a connection while a message was read in part. The
// memory of the rest is freed then.
func TestReadersEndWithTheConnection(t *testing.T) {
	for _, tt := range compressions {
		t.Run(tt.name, func(t *testing.T) {
			for name, end := range map[string]func(c *Conn) error{
				"Close":    (*Conn).Close,
				"CloseNow": (*Conn).CloseNow,
			} {
				client, server := connPair(t, servertest.TCPPair,
					&Upgrader{EnableCompression: tt.on, Compression: tt.c, CloseTimeout: -1},
					&Dialer{EnableCompression: tt.on, Compression: tt.c, CloseTimeout: -1})
				servertest.Must(t, client.WriteMessage(TextMessage, servertest.SampleText(3000)))
				_, r, err := server.NextReader()
				servertest.Must(t, err)
				if _, err := r.Read(make([]byte, 10)); err != nil {
					t.Fatal(err)
				}
				servertest.Must(t, end(server))
				for range 2 {
					if n, err := r.Read(make([]byte, 10)); n != 0 || !errors.Is(err, net.ErrClosed) {
						t.Errorf("after %s Read returned %d, %v", name, n, err)
					}
				}
			}
		})
	}
}

// TestReadersOfFaultsReturnTheirErrorAgain reads on after a message was malformed.
func TestReadersOfFaultsReturnTheirErrorAgain(t *testing.T) {
	u, d := &Upgrader{EnableCompression: true}, &Dialer{EnableCompression: true}
	client, server := connPair(t, servertest.TCPPair, u, d)
	frame := ws.AppendFrame(nil, ws.Head{Opcode: ws.Binary, Fin: true, RSV1: true, Masked: true, Key: 1}, bytes.Repeat([]byte{0xff}, 100))
	_, err := client.nc.Write(frame)
	servertest.Must(t, err)
	_, r, err := server.NextReader()
	servertest.Must(t, err)
	for range 3 {
		if _, err := r.Read(make([]byte, 10)); !errors.As(err, new(*FaultError)) {
			t.Errorf("got %v", err)
		}
	}
}

// TestReadersEndIfTheRestIsSkipped has a read that times out while it skips the rest of a message.
func TestReadersEndIfTheRestIsSkipped(t *testing.T) {
	client, server := connPair(t, servertest.TCPPair, &Upgrader{}, &Dialer{WriteBufferSize: 100})
	w, err := client.NextWriter(TextMessage)
	servertest.Must(t, err)
	_, err = w.Write(servertest.SampleText(300))
	servertest.Must(t, err)
	_, r, err := server.NextReader()
	servertest.Must(t, err)
	_, err = r.Read(make([]byte, 10))
	servertest.Must(t, err)
	servertest.Must(t, server.SetReadDeadline(time.Unix(1, 0)))
	if _, _, err := server.ReadMessage(); err == nil {
		t.Fatal("there is a message")
	}
	servertest.Must(t, server.SetReadDeadline(time.Time{}))
	if n, err := r.Read(make([]byte, 10)); n != 0 || err != io.EOF {
		t.Errorf("Read returned %d, %v", n, err)
	}
	servertest.Must(t, w.Close())
	servertest.Must(t, client.WriteMessage(TextMessage, []byte("next")))
	expectMessage(t, server, TextMessage, []byte("next"))
}
