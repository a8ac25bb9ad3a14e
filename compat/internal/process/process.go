// Package process has the helpers of tests with third-party programs: they find a program and
// a port for it, and wait until it is ready.
package process

import (
	"math/rand/v2"
	"net"
	"os/exec"
	"strconv"
	"sync"
	"testing"
	"time"
)

// Patience limits every wait in these tests: a wait takes that long only if something is
// wrong.
const Patience = time.Minute

// Find returns the path of a program, or skips the test if it is not installed. The role is
// the program's role in the test, as in "a peer".
func Find(t *testing.T, name, role string) (path string) {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("%s is not installed, so nothing is known about it as %s", name, role)
	}
	return path
}

// FreePort returns a port on which nothing listened a moment ago. It is below the range from
// which systems assign ports: otherwise another process could get it before the program
// starts.
func FreePort(t *testing.T) string {
	t.Helper()
	for range 1000 {
		port := strconv.Itoa(ownPorts(t) + 1 + rand.IntN(portsEach-1))
		ln, err := net.Listen("tcp4", net.JoinHostPort("127.0.0.1", port))
		if err != nil {
			continue
		}
		_ = ln.Close()
		if _, given := givenPorts.LoadOrStore(port, true); !given {
			return port
		}
	}
	t.Fatal("no port is free")
	return ""
}

const firstPort, portsEach, processes = 10_000, 1000, 20

// ownPorts returns the first of the ports that this process alone gives away: the tests of several
// packages run at once, and some programs share a port with another one that has got the same.
func ownPorts(t *testing.T) (first int) {
	t.Helper()
	own.Do(func() {
		for _, i := range rand.Perm(processes) {
			first := firstPort + i*portsEach
			// it listens for as long as the process runs, which shows others that the ports are taken
			ln, err := net.Listen("tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(first)))
			if err == nil {
				own.first, own.sign = first, ln
				return
			}
		}
	})
	if own.sign == nil {
		t.Fatal("other processes have all ports")
	}
	return own.first
}

var own struct {
	sync.Once
	first int
	sign  net.Listener
}

var givenPorts sync.Map // by FreePort

// AwaitListener returns when a server accepts connections.
func AwaitListener(t *testing.T, addr string) {
	t.Helper()
	Await(t, "a listener on "+addr, func() error {
		c, err := net.DialTimeout("tcp4", addr, time.Second)
		if err == nil {
			_ = c.Close()
		}
		return err
	})
}

// Await calls try until it succeeds.
func Await(t testing.TB, what string, try func() error) {
	t.Helper()
	deadline := time.Now().Add(Patience)
	for {
		err := try()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("never seen: %s: %v", what, err)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// Receive returns the next value of a channel.
func Receive[T any](t testing.TB, what string, from <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-from:
	case <-time.After(Patience):
		t.Fatalf("never seen: %s", what)
	}
	return v
}
