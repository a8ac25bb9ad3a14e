package fasthttputil_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"github.com/valyala/fasthttp/fasthttputil"
)

func TestErrorsAreThoseOfPackageNet(t *testing.T) {
	tests := []struct {
		err, is error
		text    string
	}{
		{fasthttputil.ErrConnectionClosed, net.ErrClosed, "fasthttputil: connection closed"},
		{fasthttputil.ErrInmemoryListenerClosed, net.ErrClosed, "fasthttputil: inmemorylistener is already closed: use of closed network connection"},
		{fasthttputil.ErrTimeout, os.ErrDeadlineExceeded, "fasthttputil: timeout"},
	}
	for i, test := range tests {
		if got := test.err.Error(); got != test.text {
			t.Errorf("text is %q, want %q", got, test.text)
		}
		if !errors.Is(test.err, test.is) {
			t.Errorf("%q is not %q", test.err, test.is)
		}
		for j, other := range tests {
			if i != j && errors.Is(test.err, other.err) {
				t.Errorf("%q is %q", test.err, other.err)
			}
		}
	}
	var ne net.Error = fasthttputil.ErrTimeout
	if !ne.Timeout() {
		t.Error("ErrTimeout reports no timeout")
	}
}

func TestPipeConnsReturnsTheSameConnsAlways(t *testing.T) {
	pc := fasthttputil.NewPipeConns()
	if pc.Conn1() != pc.Conn1() || pc.Conn2() != pc.Conn2() || pc.Conn1() == pc.Conn2() {
		t.Error("Conn1 and Conn2 are not one fixed connection each")
	}
}

func TestPipeConnsWriteNeedsNoReader(t *testing.T) {
	pc := fasthttputil.NewPipeConns()
	c1, c2 := pc.Conn1(), pc.Conn2()
	msg := bytes.Repeat([]byte("0123456789"), 1000)
	for range 100 {
		checkWrite(t, c1, string(msg))
	}
	checkWrite(t, c2, "the other way")
	checkRead(t, c1, "the other way")
	_ = c1.Close()
	got, err := io.ReadAll(c2)
	if err != nil || !bytes.Equal(got, bytes.Repeat(msg, 100)) {
		t.Errorf("read %d bytes, %v, want the %d written", len(got), err, 100*len(msg))
	}
}

func TestPipeConnsReadTakesWhatIsThere(t *testing.T) {
	pc := fasthttputil.NewPipeConns()
	c1, c2 := pc.Conn1(), pc.Conn2()
	checkWrite(t, c1, "hel")
	checkWrite(t, c1, "lo, world")
	buf := make([]byte, 5)
	if n, err := c2.Read(buf); string(buf[:n]) != "hello" || err != nil {
		t.Errorf("Read = %q, %v", buf[:n], err)
	}
	checkRead(t, c2, ", world")
}

func TestPipeConnsCloseLeavesWrittenData(t *testing.T) {
	closers := map[string]func(pc *fasthttputil.PipeConns) error{
		"first end":  func(pc *fasthttputil.PipeConns) error { return pc.Conn1().Close() },
		"second end": func(pc *fasthttputil.PipeConns) error { return pc.Conn2().Close() },
		"both":       (*fasthttputil.PipeConns).Close,
	}
	for name, closeIt := range closers {
		t.Run(name, func(t *testing.T) {
			pc := fasthttputil.NewPipeConns()
			c1, c2 := pc.Conn1(), pc.Conn2()
			checkWrite(t, c1, "from 1")
			checkWrite(t, c2, "from 2")
			for range 2 {
				if err := closeIt(pc); err != nil {
					t.Errorf("Close: %v", err)
				}
			}
			for i, c := range []net.Conn{c1, c2} {
				// A deadline has no effect on a closed connection, and setting
				// one is not an error.
				if err := c.SetDeadline(time.Now().Add(-time.Second)); err != nil {
					t.Errorf("SetDeadline: %v", err)
				}
				for _, p := range []string{"x", ""} {
					if n, err := c.Write([]byte(p)); n != 0 || err != fasthttputil.ErrConnectionClosed {
						t.Errorf("Write(%q) = %d, %v, want ErrConnectionClosed", p, n, err)
					}
				}
				checkRead(t, c, []string{"from 2", "from 1"}[i])
				for range 2 {
					if n, err := c.Read(make([]byte, 1)); n != 0 || err != io.EOF {
						t.Errorf("Read = %d, %v, want io.EOF", n, err)
					}
				}
				if err := c.Close(); err != nil {
					t.Errorf("Close again: %v", err)
				}
			}
		})
	}
}

func TestPipeConnsEmptyReadsAndWrites(t *testing.T) {
	pc := fasthttputil.NewPipeConns()
	c1, c2 := pc.Conn1(), pc.Conn2()
	emptyRead := func() {
		t.Helper()
		for _, p := range [][]byte{nil, {}} {
			if n, err := c2.Read(p); n != 0 || err != nil {
				t.Errorf("empty Read = %d, %v", n, err)
			}
		}
	}
	emptyRead() // There is nothing to read, and it does not wait.
	checkWrite(t, c1, "")
	checkWrite(t, c1, "data")
	checkWrite(t, c1, "")
	emptyRead()
	checkRead(t, c2, "data") // No empty Read was before it.
	_ = pc.Close()
	emptyRead()
}

func TestPipeConnsAddresses(t *testing.T) {
	addr := func(port int) net.Addr { return &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: port} }
	tests := []struct {
		name string
		set  []net.Addr
		want [4]string
	}{
		{"never set", nil, [4]string{"pipe/pipe", "pipe/pipe", "pipe/pipe", "pipe/pipe"}},
		{"all set", []net.Addr{addr(1), addr(2), addr(3), addr(4)},
			[4]string{"tcp/192.0.2.1:1", "tcp/192.0.2.1:2", "tcp/192.0.2.1:3", "tcp/192.0.2.1:4"}},
		{"some nil", []net.Addr{nil, addr(2), addr(3), nil},
			[4]string{"pipe/pipe", "tcp/192.0.2.1:2", "tcp/192.0.2.1:3", "pipe/pipe"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			pc := fasthttputil.NewPipeConns()
			if test.set != nil {
				pc.SetAddresses(test.set[0], test.set[1], test.set[2], test.set[3])
			}
			got := [4]string{
				addrText(pc.Conn1().LocalAddr()), addrText(pc.Conn1().RemoteAddr()),
				addrText(pc.Conn2().LocalAddr()), addrText(pc.Conn2().RemoteAddr()),
			}
			if got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

func addrText(a net.Addr) string {
	return a.Network() + "/" + a.String()
}

func TestPipeConnsPingPongAllocatesNothing(t *testing.T) {
	if raceEnabled {
		t.Skip("under the race detector sync.Pool drops buffers at random")
	}
	for _, timeout := range []time.Duration{0, time.Minute} {
		for _, size := range []int{1, 300, 20_000, 200_000} {
			pc := fasthttputil.NewPipeConns()
			go echo(pc.Conn2(), size, timeout)
			c, msg := pc.Conn1(), make([]byte, size)
			allocs := testing.AllocsPerRun(200, func() {
				if timeout > 0 {
					_ = c.SetDeadline(time.Now().Add(timeout))
				}
				if _, err := c.Write(msg); err != nil {
					t.Fatal(err)
				}
				if _, err := io.ReadFull(c, msg); err != nil {
					t.Fatal(err)
				}
			})
			if allocs != 0 {
				t.Errorf("%d bytes, timeout %v: %v allocations a round, want 0", size, timeout, allocs)
			}
			_ = pc.Close()
		}
	}
}

func TestNewPipeConnsAllocatesOnce(t *testing.T) {
	allocs := testing.AllocsPerRun(100, func() {
		pc := fasthttputil.NewPipeConns()
		if pc.Conn1() == nil || pc.Conn2() == nil {
			t.Fatal("no conn")
		}
		_ = pc.Close()
	})
	if allocs != 1 {
		t.Errorf("%v allocations for a pair, want 1", allocs)
	}
}
