package peers

import (
	"bufio"
	"bytes"
	"context"
	"net"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// patience bounds every wait in these tests: none of them takes that long unless
// something is wrong.
const patience = 30 * time.Second

// program returns a command that runs a program until the test is over, or skips
// the test where there is no such program.
func program(t *testing.T, name string, args ...string) *exec.Cmd {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("%s is not installed, so nothing is known about it as a peer", name)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	t.Cleanup(cancel)
	return exec.CommandContext(ctx, path, args...)
}

// launch starts a server, which ends with the test at the latest.
func launch(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	cmd.WaitDelay = patience
	if err := cmd.Start(); err != nil {
		t.Fatalf("%s: %v", cmd.Path, err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() && complaints.Len() > 0 {
			t.Logf("%s says:\n%s", cmd.Path, complaints.Bytes())
		}
	})
}

// launchOnAnyPort starts a server that chooses its port and prints it on the
// first line of its output, and returns its address.
func launchOnAnyPort(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	launch(t, cmd)
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatalf("%s has not said on which port it is: %v", cmd.Path, err)
	}
	return net.JoinHostPort("127.0.0.1", strings.TrimSpace(line))
}

// freePort returns a port that nothing listened on a moment ago.
func freePort(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	_, port, _ := net.SplitHostPort(ln.Addr().String())
	return port
}

// awaitListener returns when a server takes connections.
func awaitListener(t *testing.T, addr string) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for {
		c, err := net.DialTimeout("tcp4", addr, time.Second)
		if err == nil {
			_ = c.Close()
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("nothing listens on %s: %v", addr, err)
		}
		time.Sleep(5 * time.Millisecond)
	}
}
