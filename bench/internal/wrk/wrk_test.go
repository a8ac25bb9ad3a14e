package wrk

import (
	"bufio"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

const plain = `Running 1s test @ http://127.0.0.1:18080/
  1 threads and 2 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency     1.96ms    1.80ms  18.36ms   85.60%
    Req/Sec     1.12k   225.22     1.51k    81.82%
  Latency Distribution
     50%  840.00us
     75%    2.53ms
     90%    4.33ms
     99%    1.07s
  1229 requests in 1.10s, 503.08KB read
Requests/sec:   1117.43
Transfer/sec:    457.41KB
`

func TestParse(t *testing.T) {
	const anchor = "Requests/sec:"
	socketErrors := "  Socket errors: connect 1, read 20, write 300, timeout 4000\n"
	refused := "  Non-2xx or 3xx responses: 968\n"
	want := Result{
		Requests: 1229,
		Duration: 1100 * time.Millisecond,
		Rate:     1117.43,
		P50:      840 * time.Microsecond,
		P99:      1070 * time.Millisecond,
	}
	with := func(errors, refused int) Result {
		r := want
		r.Errors, r.Refused = errors, refused
		return r
	}
	tests := []struct {
		name, text string
		want       Result
	}{
		{"plain", plain, want},
		{"socket errors", strings.Replace(plain, anchor, socketErrors+anchor, 1), with(4321, 0)},
		{"refused", strings.Replace(plain, anchor, refused+anchor, 1), with(0, 968)},
		{"both", strings.Replace(plain, anchor, socketErrors+refused+anchor, 1), with(4321, 968)},
	}
	for _, test := range tests {
		if got, err := Parse(test.text); err != nil || got != test.want {
			t.Errorf("%s: %+v, %v", test.name, got, err)
		}
	}
}

func TestParseRefusesWhatIsNotWhole(t *testing.T) {
	tests := []struct{ name, text string }{
		{"empty", ""},
		{"only an error", "unable to connect to 127.0.0.1:18081 Connection refused\n"},
		{"no requests", strings.Replace(plain, " requests in", " in", 1)},
		{"no rate", strings.Replace(plain, "Requests/sec", "Requests", 1)},
		{"no latency", strings.Replace(plain, "99% ", "98% ", 1)},
		{"unknown unit of the latency", strings.Replace(plain, "840.00us", "840.00ks", 1)},
		{"no number before the unit", strings.Replace(plain, "in 1.10s,", "in .s,", 1)},
		{"two points", strings.Replace(plain, "1117.43", "11.17.43", 1)},
		{"too many requests", strings.Replace(plain, "1229 ", "99999999999999999999 ", 1)},
	}
	for _, test := range tests {
		if got, err := Parse(test.text); err == nil {
			t.Errorf("%s: %+v", test.name, got)
		}
	}
}

// start runs wrk with a script until the test is over, or for a second.
func start(t *testing.T, script, url string) *exec.Cmd {
	t.Helper()
	program, err := exec.LookPath("wrk")
	if err != nil {
		t.Skip("wrk, which runs the scripts, is not installed")
	}
	file := filepath.Join(t.TempDir(), "script.lua")
	if err := os.WriteFile(file, []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program, "-t1", "-c2", "-d1s", "--latency", "-s", file, url)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd
}

func TestChurnScriptEndsConnections(t *testing.T) {
	var stayed, left atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.Close {
			left.Add(1)
		} else {
			stayed.Add(1)
		}
	}))
	defer server.Close()
	if err := start(t, ChurnScript(3), server.URL).Wait(); err != nil {
		t.Fatal(err)
	}
	server.Close()
	// wrk tries the script before it begins, and stops anywhere.
	if s, l := stayed.Load(), left.Load(); l == 0 || s < 2*l-4 || s > 2*l+4 {
		t.Errorf("%d requests to stay, %d to leave", s, l)
	}
}

func TestPipelineScriptDoesNotWaitForAnswers(t *testing.T) {
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	if err := ln.(*net.TCPListener).SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	cmd := start(t, PipelineScript(5), "http://"+ln.Addr().String())
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	for requests := 0; requests < 5; {
		// The first connection of wrk only looks whether anybody is there.
		conn, err := ln.Accept()
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		lines := bufio.NewScanner(conn)
		for requests < 5 && lines.Scan() {
			if lines.Text() == "GET / HTTP/1.1" {
				requests++
			}
		}
	}
}
