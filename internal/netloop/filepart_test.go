//go:build linux

package netloop

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/valyala/fasthttp/internal/servertest"
)

// planted returns an open file with n bytes in it, and these bytes.
func planted(t *testing.T, n int) (*os.File, []byte) {
	t.Helper()
	content := make([]byte, n)
	for i := range content {
		content[i] = byte(i >> 8 * 5 / 3)
	}
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, content, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f, content
}

// partOf returns a part of a file, with a head.
func partOf(t *testing.T, file *os.File, offset, length int64) FilePart {
	t.Helper()
	raw, err := file.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	return FilePart{Head: []byte("head"), File: raw, Offset: offset, Length: length}
}

// failing makes sendfile fail until the test ends.
func failing(t *testing.T, errno syscall.Errno) {
	real := sendfile
	sendfile = func(int, int, *int64, int) (int, error) { return -1, errno }
	t.Cleanup(func() { sendfile = real })
}

func TestFilePartsArriveWhole(t *testing.T) {
	const size = 3<<20 + 5
	file, content := planted(t, size)
	for _, errno := range []syscall.Errno{0, syscall.EINVAL, syscall.ENOSYS} {
		if errno != 0 {
			failing(t, errno)
		}
		for _, span := range [][2]int64{{0, size}, {1, size - 1}, {size - 1, 1}, {1 << 20, 1<<20 + 3}} {
			nc, fd := pair(t)
			got := make(chan []byte, 1)
			go func() {
				b, _ := io.ReadAll(nc)
				got <- b
			}()
			f := partOf(t, file, span[0], span[1])
			for !f.Done() {
				if err := f.Send(fd); err == ErrAgain {
					runtime.Gosched()
				} else if err != nil {
					t.Fatal(err)
				}
			}
			_ = syscall.Close(fd)
			if want := append([]byte("head"), content[span[0]:span[0]+span[1]]...); !bytes.Equal(servertest.Receive(t, "the content", got), want) {
				t.Errorf("%v, %v: other bytes arrived", span, errno)
			}
		}
	}
}

func TestFilePartsBehindTheEndOfTheFileFail(t *testing.T) {
	file, _ := planted(t, 1000)
	for _, errno := range []syscall.Errno{0, syscall.EINVAL} {
		if errno != 0 {
			failing(t, errno)
		}
		_, fd := pair(t)
		f := partOf(t, file, 900, 200)
		var err error
		for err == nil && !f.Done() {
			err = f.Send(fd)
		}
		if err != io.ErrUnexpectedEOF || f.Length != 100 {
			t.Errorf("%v: %d bytes are left, %v", errno, f.Length, err)
		}
		_ = syscall.Close(fd)
	}
}

func TestErrorsOfSendingFilesAreTheSystems(t *testing.T) {
	file, _ := planted(t, 10)
	_, fd := pair(t)
	defer syscall.Close(fd)
	f := partOf(t, file, 0, 10)
	f.Head = nil
	failing(t, syscall.EIO)
	if err := f.Send(fd); !errors.Is(err, syscall.EIO) {
		t.Error(err)
	}
	sendfile = func(int, int, *int64, int) (int, error) { return -1, syscall.EINTR }
	if err := f.Send(fd); err != nil || f.Length != 10 {
		t.Errorf("interrupted: %v, %d", err, f.Length)
	}
}

// sender sends a part of a file for each byte that it receives.
type sender struct {
	Conn
	t     *testing.T
	part  func() FilePart
	now   FilePart
	turns int
}

func (c *sender) Serve(*Poller) bool {
	c.turns++
	for {
		if !c.now.Done() {
			switch err := c.SendFile(&c.now); err {
			case nil:
			case ErrAgain:
				return true
			default:
				c.t.Error(err)
				c.Close(true)
				return false
			}
		}
		var buf [1]byte
		switch _, err := c.Read(buf[:]); err {
		case nil:
			c.now = c.part()
		case ErrAgain:
			return true
		default:
			c.Close(false)
			return false
		}
	}
}

func (c *sender) PeerGone() {}

func (c *sender) PeerSent()    {}
func (c *sender) Expire() bool { return true }

// patiently reads n bytes, each part of which has the time of an event.
func patiently(t *testing.T, nc net.Conn, n int) []byte {
	t.Helper()
	b := make([]byte, n)
	for got := 0; got < n; {
		_ = nc.SetDeadline(time.Now().Add(servertest.Patience))
		m, err := nc.Read(b[got:])
		if got += m; err != nil {
			t.Fatalf("%v behind %d bytes of %d", err, got, n)
		}
	}
	return b
}

func TestLoopsSendFilesAsPeersTakeThem(t *testing.T) {
	const size = 3*sendBatch + 77
	file, content := planted(t, size)
	w := newWorld(t, 1)
	want := append([]byte("head"), content...)
	var conns []*sender
	var peers []net.Conn
	for range 8 {
		nc, fd := pair(t)
		c := &sender{t: t, part: func() FilePart { return partOf(t, file, 0, size) }}
		c.Init(fd, c)
		if err := w.g.Add(&c.Conn, 0); err != nil {
			t.Fatal(err)
		}
		conns, peers = append(conns, c), append(peers, nc)
	}
	for range 2 {
		for _, nc := range peers {
			w.send(nc, "x")
		}
		// the peers do not read yet; the loop must still serve other connections
		nc, _ := w.connect()
		w.ask(nc, "hello")
		for i, nc := range peers {
			if got := patiently(t, nc, len(want)); !bytes.Equal(got, want) {
				t.Fatalf("connection %d: other bytes", i)
			}
		}
	}
	for i, c := range conns {
		servertest.Eventually(t, "the connection is free", c.TryAcquire)
		if c.turns < 4 {
			t.Errorf("connection %d has sent all in %d turns", i, c.turns)
		}
		c.Conn.Close(false)
	}
}

// Bytes that a peer sends while it takes no part of a file must not keep the loop busy: they are
// read after the file.
func TestPeersThatSendButTakeNoFileCostNothing(t *testing.T) {
	const size = 64 << 20
	file, _ := planted(t, size)
	w := newWorld(t, 1)
	nc, fd := pair(t)
	c := &sender{t: t, part: func() FilePart { return partOf(t, file, 0, size) }}
	c.Init(fd, c)
	if err := w.g.Add(&c.Conn, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := nc.Write([]byte("xx")); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(nc, make([]byte, 4)); err != nil {
		t.Fatal(err)
	}
	other, _ := w.connect()
	const asked = 300
	for range asked {
		w.ask(other, "hello")
	}
	servertest.Eventually(t, "the connection is free", c.TryAcquire)
	if c.turns > asked/3 {
		t.Errorf("a connection without room had %d turns", c.turns)
	}
	c.Conn.Close(true)
}
