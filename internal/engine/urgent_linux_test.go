package engine

import (
	"net"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// Urgent data on a UNIX socket makes it readable although no read takes anything. It extends no
// wait: a connection whose time is over ends.
func TestUrgentDataExtendsNoWait(t *testing.T) {
	for name, prepare := range map[string]func(c *eventConn) (alive bool){
		"new":       func(*eventConn) bool { return true },
		"idle":      func(c *eventConn) bool { c.Requests = 1; return true },
		"lingering": func(c *eventConn) bool { return c.beginLinger() },
	} {
		t.Run(name, func(t *testing.T) {
			ln, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
			if err != nil {
				t.Fatal(err)
			}
			s := newLines()
			serve(t, s, ln, "event")
			client, err := net.Dial("unix", ln.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			c := acquired(t, s, nil)
			if alive := prepare(c); !alive {
				t.Fatal("the connection has ended before")
			}
			raw, err := client.(syscall.Conn).SyscallConn()
			if err != nil {
				t.Fatal(err)
			}
			sent := raw.Control(func(fd uintptr) { _, err = unix.SendmsgN(int(fd), []byte("!"), nil, nil, unix.MSG_OOB) })
			if sent != nil || err != nil {
				c.net.Release()
				t.Skip("no urgent data on UNIX sockets: ", err)
			}
			if alive := c.Expire(); alive {
				t.Error("the connection goes on")
				c.finish(true)
			}
		})
	}
}
