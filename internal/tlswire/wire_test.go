package tlswire

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/valyala/fasthttp/internal/servertest"
)

// record returns a TLS record with a payload of n bytes.
func record(n int) []byte {
	b := append([]byte{23, 3, 3, byte(n >> 8), byte(n)}, make([]byte, n)...)
	for i := range n {
		b[HeaderSize+i] = byte(i)
	}
	return b
}

// checkWire checks that a wire returns the bytes that it receives, and that no read goes
// beyond the end of a record. sizes are the sizes of the reads, which repeat.
func checkWire(t *testing.T, pieces [][]byte, sizes []byte) {
	t.Helper()
	var want []byte
	for i, piece := range pieces {
		pieces[i] = bytes.Clone(piece)
		want = append(want, piece...)
	}
	w := newWire(&servertest.FakeConn{Pieces: pieces}, nil)
	var got []byte
	var ends []int // of records, as they are in want
	for at := 0; at+HeaderSize <= len(want); {
		size := int(want[at+3])<<8 | int(want[at+4])
		ends = append(ends, at+HeaderSize+size)
		at += HeaderSize + size
	}
	for i := 0; ; i++ {
		if i%3 == 0 && len(w.ahead) == 0 {
			if err := w.await(); err != nil {
				break
			}
			if w.buffer != nil {
				t.Fatal("a wire that waits has a buffer")
			}
		}
		b := make([]byte, int(sizes[i%len(sizes)])+1)
		n, err := w.Read(b)
		for _, end := range ends {
			if len(got) < end && len(got)+n > end {
				t.Fatalf("a read of %d bytes at %d goes beyond %d", n, len(got), end)
			}
		}
		got = append(got, b[:n]...)
		if len(w.ahead) == 0 && (w.buffer != nil || w.ahead != nil) {
			t.Fatal("a wire with nothing ahead has a buffer")
		}
		if err != nil {
			break
		}
	}
	if !bytes.Equal(got, want) {
		t.Fatalf("passed on %d bytes, want %d", len(got), len(want))
	}
}

func TestWireKeepsToRecords(t *testing.T) {
	stream := bytes.Join([][]byte{record(1), record(0), record(300), record(5), record(16384), record(0), record(2)}, nil)
	for _, size := range []int{1, 2, 3, 7, 100, 4096, len(stream)} {
		var pieces [][]byte
		for rest := stream; len(rest) > 0; {
			n := min(size, len(rest))
			pieces = append(pieces, rest[:n])
			rest = rest[n:]
		}
		for _, reads := range [][]byte{{0}, {4}, {255}, {0, 200, 3}} {
			checkWire(t, pieces, reads)
		}
	}
}

func FuzzWireKeepsToRecords(f *testing.F) {
	f.Add(record(3), record(300), []byte{0, 255})
	f.Add([]byte("GET / HTTP/1.1\r\n\r\n"), []byte{}, []byte{4})
	f.Add([]byte{23, 3, 3, 255}, []byte{255, 0, 0}, []byte{1, 2, 3})
	f.Fuzz(func(t *testing.T, a, b, sizes []byte) {
		var pieces [][]byte
		for _, piece := range [][]byte{a, b, a} {
			if len(piece) > 0 {
				pieces = append(pieces, piece)
			}
		}
		if len(sizes) > 0 {
			checkWire(t, pieces, sizes)
		}
	})
}

func TestFirstMessage(t *testing.T) {
	for _, tc := range []struct {
		in   string
		want int
	}{
		{"", HeaderSize},
		{"\x16\x03\x01\x02", HeaderSize},
		{"\x16\x03\x01\x00\x00", HeaderSize},
		{"\x16\x03\x01\x01\x02", HeaderSize + 258},
		{"\x16\x03\x01\x01\x02and more", HeaderSize + 258},
		{"\x16\x03\x01\xff\xff", 1000},
		{"GET / HTTP/1.1\r\n", 0},
		{"\x80\x2e\x01\x00\x02", 0},
	} {
		if got := FirstMessage([]byte(tc.in), 1000); got != tc.want {
			t.Errorf("%q: %d, want %d", tc.in, got, tc.want)
		}
	}
}

func TestWireSendsTogether(t *testing.T) {
	var writes []int
	nc := &servertest.FakeConn{OnWrite: func(p []byte) { writes = append(writes, len(p)) }}
	w := newWire(nc, nil)
	write := func(n int) {
		t.Helper()
		if k, err := w.Write(make([]byte, n)); k != n || err != nil {
			t.Fatalf("Write(%d): %d, %v", n, k, err)
		}
	}
	write(10)
	w.gather(1000)
	write(300)
	write(400)
	if len(writes) != 1 {
		t.Errorf("writes of %d bytes while gathering", writes)
	}
	if err := w.send(); err != nil {
		t.Fatal(err)
	}
	write(20)
	// if there is no room for a record, the records before it are sent first
	w.gather(1)
	room := cap(w.gathered.B)
	write(room - 1)
	write(2)
	write(room + 1)
	if err := w.send(); err != nil {
		t.Fatal(err)
	}
	_ = w.send()
	if want := []int{10, 700, 20, room - 1, 2, room + 1}; !slices.Equal(writes, want) {
		t.Errorf("writes of %d bytes, want %d", writes, want)
	}
}

// After a record was lost, no other may be sent.
func TestWireFailsForGood(t *testing.T) {
	nc := &servertest.FakeConn{}
	w := newWire(nc, nil)
	w.gather(100)
	if _, err := w.Write([]byte("lost")); err != nil {
		t.Fatal(err)
	}
	nc.Closed = 1
	if err := w.send(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("send: %v", err)
	}
	nc.Closed = 0
	if _, err := w.Write([]byte("next")); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Write: %v", err)
	}
	if nc.Out.Len() > 0 {
		t.Errorf("sent %q", nc.Out.Bytes())
	}
}

// A wire needs no buffer to wait for a socket.
func TestIdleTLSSocketHoldsNoBufferAtAll(t *testing.T) {
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	client, err := net.Dial("tcp4", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	nc, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	w := newWire(nc, nc)
	if w.first.raw == nil {
		t.Skip("this system has no reads that do not wait")
	}
	// a deadline in the past ends the wait
	_ = w.SetReadDeadline(time.Unix(1, 0))
	if err := w.await(); !errors.Is(err, os.ErrDeadlineExceeded) || w.buffer != nil || len(w.ahead) > 0 {
		t.Errorf("got %v, buffer %v", err, w.buffer)
	}
	_ = w.SetReadDeadline(time.Time{})
	stream := append(record(1000), record(20_000)...)
	go func() {
		_, _ = client.Write(stream)
		_ = client.Close()
	}()
	got, err := io.ReadAll(w)
	if !bytes.Equal(got, stream) || err != nil {
		t.Errorf("got %d bytes, %v", len(got), err)
	}
	if w.buffer != nil || len(w.ahead) > 0 {
		t.Error("there is a buffer at the end")
	}
	if err := w.await(); err != io.EOF {
		t.Errorf("await at the end: %v", err)
	}
	_ = nc.Close()
	if err := w.await(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("await of a closed connection: %v", err)
	}
}

// replayConn is a connection that returns the same data again and again.
type replayConn struct {
	servertest.FakeConn
	data []byte
	at   int
}

func (c *replayConn) Read(p []byte) (int, error) {
	n := copy(p, c.data[c.at:])
	c.at = (c.at + n) % len(c.data)
	return n, nil
}

func TestWireAllocatesNothing(t *testing.T) {
	if servertest.RaceDetector {
		t.Skip("the race detector makes pools forget")
	}
	rec := record(300)
	nc := &replayConn{data: rec}
	w := newWire(nc, nil)
	b := make([]byte, 512)
	if n := testing.AllocsPerRun(100, func() {
		for range 2 {
			if err := w.await(); err != nil {
				t.Fatal(err)
			}
			for left := len(rec); left > 0; {
				n, err := w.Read(b)
				if err != nil {
					t.Fatal(err)
				}
				left -= n
			}
		}
		w.gather(600)
		_, _ = w.Write(rec)
		_, _ = w.Write(rec)
		_ = w.send()
		nc.Out.Reset()
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// lossy is a transport whose next Write fails with err, unless err is nil.
type lossy struct {
	net.Conn
	err error
}

func (l *lossy) Write(p []byte) (n int, err error) {
	if err, l.err = l.err, nil; err != nil {
		return 0, err
	}
	return l.Conn.Write(p)
}

// Records that follow a lost one look forged to the peer. The peer must see that the
// connection was cut off, not that its data was changed.
func TestNothingFollowsALostRecord(t *testing.T) {
	for name, write := range map[string]func(v *View, p []byte) error{
		"Conn": func(v *View, p []byte) error { _, err := v.Conn.Write(p); return err },
		"View": func(v *View, p []byte) error { _, err := v.Write(p); return err },
		"both": func(v *View, p []byte) error { return v.WriteBoth(p, p) },
	} {
		t.Run(name, func(t *testing.T) {
			forEachVersion(t, func(t *testing.T, p *pair) {
				nc := &lossy{Conn: &servertest.FakeConn{OnWrite: func(b []byte) { p.socket.out.Write(b) }}}
				p.socket.Conn = nc
				if err := write(p.v, []byte("arrives")); err != nil {
					t.Fatal(err)
				}
				arrived := p.socket.out.Len()
				nc.err = os.ErrDeadlineExceeded
				if err := write(p.v, []byte("is lost")); !errors.Is(err, os.ErrDeadlineExceeded) {
					t.Errorf("the write ends with %v", err)
				}
				_ = p.v.Conn.Close()
				if n := p.socket.out.Len(); n != arrived {
					t.Errorf("%d bytes follow a record that was lost", n-arrived)
				}
			})
		})
	}
}
