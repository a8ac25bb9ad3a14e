package process

import (
	"bufio"
	"bytes"
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Command returns a command that runs a program until the test ends, or skips the test if the
// machine has no such program. The role is the one that Find wants.
func Command(t *testing.T, role, name string, args ...string) *exec.Cmd {
	t.Helper()
	path := Find(t, name, role)
	ctx, cancel := context.WithTimeout(context.Background(), 3*Patience)
	t.Cleanup(cancel)
	return exec.CommandContext(ctx, path, args...)
}

// Launch starts a program. The end of the test ends it at the latest, and a test that fails logs
// the output on stderr.
func Launch(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	cmd.WaitDelay = Patience
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

// LaunchOnAnyPort starts a server that chooses its port and prints it on its first line. It
// returns the address.
func LaunchOnAnyPort(t *testing.T, cmd *exec.Cmd) (addr string) {
	t.Helper()
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	Launch(t, cmd)
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatalf("%s has not said on which port it is: %v", cmd.Path, err)
	}
	return net.JoinHostPort("127.0.0.1", strings.TrimSpace(line))
}

// WriteFiles writes files with these contents below a folder. A name that ends in a slash is a
// folder.
func WriteFiles(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if strings.HasSuffix(name, "/") {
			if err := os.MkdirAll(path, 0o755); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// NginxHead begins a configuration of nginx, which needs the folder temp.
const NginxHead = `
daemon off;
master_process off;
pid nginx.pid;
error_log stderr error;
events {}
http {
	client_body_temp_path temp;
	proxy_temp_path temp;
	fastcgi_temp_path temp;
	uwsgi_temp_path temp;
	scgi_temp_path temp;
	client_max_body_size 16m;
`

// NginxArgs are the arguments of nginx in the folder of its configuration, the file conf.
var NginxArgs = []string{"-e", "stderr", "-p", ".", "-c", "conf"}

// StartFront runs a proxy in a folder of its own, with a configuration in the file conf. That has
// 127.0.0.1:IN and 127.0.0.1:OUT in place of the addresses of the proxy and of a server. stop ends
// the proxy and returns its output on stdout, its log, which a test that fails logs, too. The end of
// the test ends it, too.
func StartFront(t *testing.T, program, config, out string, args ...string) (in string, stop func() (log string)) {
	t.Helper()
	cmd := Command(t, "a front end", program, args...)
	cmd.Dir, in = t.TempDir(), "127.0.0.1:"+FreePort(t)
	config = strings.NewReplacer("127.0.0.1:IN", in, "127.0.0.1:OUT", out).Replace(config)
	WriteFiles(t, cmd.Dir, map[string]string{"conf": config, "temp/": ""})
	var stdout bytes.Buffer
	cmd.Stdout = &stdout
	t.Cleanup(func() { // after the end of the process
		if t.Failed() {
			t.Logf("%s logs:\n%s", cmd.Path, stdout.Bytes())
		}
	})
	Launch(t, cmd)
	AwaitListener(t, in)
	return in, func() string {
		// it ends at once, after it has written its log
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
		return stdout.String()
	}
}
