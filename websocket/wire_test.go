package websocket

import (
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp/internal/servertest"
	"github.com/valyala/fasthttp/internal/ws"
)

// TestFaultsEndTheConnection has bytes that the peer must not send, to each role.
func TestFaultsEndTheConnection(t *testing.T) {
	t.Parallel()
	const key = "\x00\x00\x00\x00"
	tests := []struct {
		name, toServer, toClient string
		code                     int
		err                      error
	}{
		{"no mask or a mask", "\x81\x01a", "\x81\x81" + key + "a", CloseProtocolError, nil},
		{"reserved bit", "\xc1\x80" + key, "\xc1\x00", CloseProtocolError, ws.ErrReserved},
		{"opcode", "\x83\x80" + key, "\x83\x00", CloseProtocolError, ws.ErrOpcode},
		{"length with its highest bit", "\x82\xff\x80\x00\x00\x00\x00\x00\x00\x01" + key, "\x82\x7f\x80\x00\x00\x00\x00\x00\x00\x01", CloseProtocolError, ws.ErrLength},
		{"large ping", "\x89\xfe\x00\x7e" + key, "\x89\x7e\x00\x7e", CloseProtocolError, ws.ErrControlSize},
		{"continuation", "\x80\x80" + key, "\x80\x00", CloseProtocolError, ws.ErrContinuation},
		{"message within another", "\x01\x80" + key + "\x81\x80" + key, "\x01\x00\x81\x00", CloseProtocolError, ws.ErrUnfinished},
		{"text that is not UTF-8", "\x81\x81" + key + "\xff", "\x81\x01\xff", CloseInvalidFramePayloadData, ws.ErrText},
		{"code of a close frame", "\x88\x82" + key + "\x03\xee", "\x88\x02\x03\xee", CloseProtocolError, ws.ErrCloseCode},
		{"announced size", "\x82\xff\x00\x00\x7f\xff\xff\xff\xff\xff" + key, "\x82\x7f\x00\x00\x7f\xff\xff\xff\xff\xff", CloseMessageTooBig, ErrReadLimit},
		{"empty fragments", "\x01\x80" + key + strings.Repeat("\x00\x80"+key, 100), "\x01\x00" + strings.Repeat("\x00\x00", 100), ClosePolicyViolation, ws.ErrEmptyFragments},
	}
	for _, tt := range tests {
		for _, role := range []ws.Role{ws.Server, ws.Client} {
			nc, peer := servertest.TCPPair(t)
			c := newConn(nc, role, agreement{}, options{compression: &Compression{}}, nil)
			sent := map[ws.Role]string{ws.Server: tt.toServer, ws.Client: tt.toClient}[role]
			go func() { _, _ = io.WriteString(peer, sent) }()
			_, _, err := c.ReadMessage()
			var fault *FaultError
			if tt.err == ErrReadLimit {
				if err != ErrReadLimit {
					t.Errorf("%s: %v", tt.name, err)
				}
			} else if !errors.As(err, &fault) || fault.Code != tt.code || tt.err != nil && !errors.Is(err, tt.err) {
				t.Errorf("%s: %v", tt.name, err)
			}
			if _, _, again := c.ReadMessage(); again != err {
				t.Errorf("%s: then %v", tt.name, again)
			}
			_ = peer.SetReadDeadline(time.Now().Add(servertest.Patience))
			head := make([]byte, 2)
			_, err = io.ReadFull(peer, head)
			servertest.Must(t, err)
			p := make([]byte, int(head[1]&0x7f)+4*int(head[1]>>7))
			_, err = io.ReadFull(peer, p)
			servertest.Must(t, err)
			if role == ws.Client {
				ws.Mask(p[4:], uint32(p[0])|uint32(p[1])<<8|uint32(p[2])<<16|uint32(p[3])<<24)
				p = p[4:]
			}
			if head[0] != 0x88 || int(p[0])<<8|int(p[1]) != tt.code {
				t.Errorf("%s: the peer was sent %x %x", tt.name, head, p)
			}
			if err := c.WriteMessage(TextMessage, nil); err != ErrCloseSent {
				t.Errorf("%s: a write returns %v", tt.name, err)
			}
			_ = servertest.Close(peer)
			_ = c.Close()
		}
	}
}

// TestMalformedCompression has compressed messages that are malformed, or text that is not
// UTF-8 once it is decompressed.
func TestMalformedCompression(t *testing.T) {
	for sent, want := range map[string]error{
		"\xc2\x81\x00\x00\x00\x00\x06":                         ws.ErrMalformedData,
		"\xc1\x87\x00\x00\x00\x00\x00\x01\x00\xfe\xff\xff\x00": ws.ErrText,
	} {
		for _, byReader := range []bool{false, true} {
			nc, peer := servertest.TCPPair(t)
			c := newConn(nc, ws.Server, agreement{compressed: true}, options{compression: &Compression{}}, nil)
			_, err := io.WriteString(peer, sent)
			servertest.Must(t, err)
			if byReader {
				var r io.Reader
				if _, r, err = c.NextReader(); err == nil {
					_, err = io.ReadAll(r)
				}
			} else {
				_, _, err = c.ReadMessage()
			}
			if !errors.Is(err, want) {
				t.Errorf("%q: %v, want %v", sent, err, want)
			}
			_ = servertest.Close(peer)
		}
	}
}

// TestCloseFrames has peers that close the connection in each way.
func TestCloseFrames(t *testing.T) {
	const key = "\x00\x00\x00\x00"
	for _, tt := range []struct {
		sent, want string
		code       int
		text       string
	}{
		{"\x88\x80" + key, "\x88\x00", CloseNoStatusReceived, ""},
		{"\x88\x82" + key + "\x03\xe8", "\x88\x02\x03\xe8", CloseNormalClosure, ""},
		{"\x88\x86" + key + "\x0f\xa0text", "\x88\x02\x0f\xa0", 4000, "text"},
		{"\x81", "", CloseAbnormalClosure, "unexpected EOF"},
		{"", "", CloseAbnormalClosure, "unexpected EOF"},
	} {
		for _, pair := range []func(testing.TB) (net.Conn, net.Conn){servertest.TCPPair, servertest.MemoryPair} {
			nc, peer := pair(t)
			c := newConn(nc, ws.Server, agreement{}, options{compression: &Compression{}}, nil)
			_, err := io.WriteString(peer, tt.sent)
			servertest.Must(t, err)
			if tt.want == "" {
				_ = servertest.Close(peer)
			}
			var e *CloseError
			if _, _, err := c.ReadMessage(); !errors.As(err, &e) || e.Code != tt.code || e.Text != tt.text || !IsCloseError(err, 1, tt.code) ||
				IsUnexpectedCloseError(err, tt.code) || !IsUnexpectedCloseError(err, 1) || errors.Is(err, io.ErrUnexpectedEOF) != (tt.want == "") {
				t.Errorf("%q: %v", tt.sent, err)
			}
			if tt.want != "" {
				got := make([]byte, len(tt.want))
				if _, err := io.ReadFull(peer, got); err != nil || string(got) != tt.want {
					t.Errorf("%q: answered with %q, %v", tt.sent, got, err)
				}
			}
			_ = c.Close()
			if err := c.Close(); err != net.ErrClosed {
				t.Errorf("the second Close returned %v", err)
			}
		}
	}
	if got := (&CloseError{1001, "bye"}).Error(); got != "websocket: close 1001 (going away): bye" {
		t.Errorf("the text of the error is %q", got)
	}
	if string(FormatCloseMessage(1000, "x")) != "\x03\xe8x" || len(FormatCloseMessage(CloseNoStatusReceived, "x")) != 0 {
		t.Error("FormatCloseMessage is wrong")
	}
}

// FuzzReader reads whatever bytes arrive, by messages and by readers, in both roles.
func FuzzReader(f *testing.F) {
	f.Add([]byte("\x81\x85\x00\x00\x00\x00hello"), byte(0))
	f.Add([]byte("\x01\x02he\x89\x00\x80\x03llo\x88\x02\x03\xe8"), byte(1))
	f.Add([]byte("\xc1\x87\x00\x00\x00\x00\xf2\x48\xcd\xc9\xc9\x07\x00"), byte(6))
	f.Add([]byte("\xc1\x07\xf2\x48\xcd\xc9\xc9\x07\x00\xc1\x05\xf2\x00\x11\x00\x00"), byte(7))
	f.Fuzz(func(t *testing.T, sent []byte, kind byte) {
		role := ws.Role(kind & 1)
		a := agreement{compressed: kind&4 != 0}
		c := newConn(&script{in: sent, step: int(kind>>3) + 1}, role, a, options{readLimit: 1000, compression: &Compression{}}, nil)
		total := 0
		for {
			var n int
			var err error
			if kind&2 == 0 {
				var p []byte
				_, p, err = c.ReadMessage()
				n = len(p)
			} else {
				var r io.Reader
				if _, r, err = c.NextReader(); err == nil {
					var m int64
					m, err = io.Copy(io.Discard, r)
					n = int(m)
				}
			}
			if n > 1000 {
				t.Fatalf("a message of %d bytes", n)
			}
			if err != nil {
				break
			}
			if total++; total > len(sent) {
				t.Fatal("more messages than bytes")
			}
		}
		if _, _, err := c.ReadMessage(); err == nil {
			t.Error("an error is not permanent")
		}
		_ = c.Close()
		if c.in != nil || c.part.Held() != 0 {
			t.Error("the connection holds a buffer")
		}
	})
}

// script is a connection from which given bytes are read, a few in each call.
type script struct {
	net.Conn
	in   []byte
	step int
}

func (s *script) Read(p []byte) (int, error) {
	if len(s.in) == 0 {
		return 0, io.EOF
	}
	n := copy(p[:min(len(p), s.step)], s.in)
	s.in = s.in[n:]
	return n, nil
}

func (*script) Write(p []byte) (int, error)      { return len(p), nil }
func (*script) Close() error                     { return nil }
func (*script) SetReadDeadline(time.Time) error  { return nil }
func (*script) SetWriteDeadline(time.Time) error { return nil }
