package peers

import (
	"bufio"
	"bytes"
	"context"
	"net"
	"os/exec"
	"strings"
	"testing"

	"github.com/valyala/fasthttp/compat/internal/process"
)

// program returns a command that runs a program until the test ends, or skips the
// test if the machine has no such program.
func program(t *testing.T, name string, args ...string) *exec.Cmd {
	t.Helper()
	path := process.Find(t, name, "a peer")
	ctx, cancel := context.WithTimeout(context.Background(), 2*process.Patience)
	t.Cleanup(cancel)
	return exec.CommandContext(ctx, path, args...)
}

// launch starts a server. The end of the test ends it at the latest.
func launch(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	cmd.WaitDelay = process.Patience
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

// launchOnAnyPort starts a server that chooses its port and prints it on its first
// line, and returns its address.
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
