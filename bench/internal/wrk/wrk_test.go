package wrk

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/valyala/fasthttp/bench/internal/await"
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
	batches := want
	batches.P50, batches.P99 = 940*time.Microsecond, 1500*time.Microsecond
	tests := []struct {
		name, text string
		want       Result
	}{
		{"plain", plain, want},
		{"socket errors", strings.Replace(plain, anchor, socketErrors+anchor, 1), with(4321, 0)},
		{"refused", strings.Replace(plain, anchor, refused+anchor, 1), with(0, 968)},
		{"batches", plain + "Latency of batches: 50% 940us, 99% 1500us\n", batches},
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

// start runs wrk with a script until the test ends, or for a length of time. After wrk has
// ended, the buffer has its output.
func start(t *testing.T, script, url string, length time.Duration) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	program, err := exec.LookPath("wrk")
	if err != nil {
		t.Skip("wrk, which runs the scripts, is not installed")
	}
	file := filepath.Join(t.TempDir(), "script.lua")
	if err := os.WriteFile(file, []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program, "-t1", "-c2", fmt.Sprintf("-d%.0fs", length.Seconds()), "--latency", "-s", file, url)
	out := new(bytes.Buffer)
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, out
}

// batchServer responds to batches of requests, some time after each batch is
// complete. Now and then it takes longer.
func batchServer(t *testing.T, size int, usual, slow time.Duration, slowEach int) net.Listener {
	t.Helper()
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	answer := strings.Repeat("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", size)
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				lines := bufio.NewScanner(conn)
				for requests := 0; lines.Scan(); {
					if lines.Text() != "" {
						continue
					}
					if requests++; requests%size != 0 {
						continue
					}
					wait := usual
					if requests/size%slowEach == 0 {
						wait = slow
					}
					time.Sleep(wait) // real time: wrk measures it
					if _, err := io.WriteString(conn, answer); err != nil {
						return
					}
				}
			}()
		}
	}()
	return ln
}

func TestSequenceScriptSendsTextsInTurn(t *testing.T) {
	// a field name with quotes would be refused, so the quotes are in a value
	var texts [][]byte
	for i := range 7 {
		texts = append(texts, fmt.Appendf(nil, "GET /%d HTTP/1.1\r\nHost: a\r\nX-Quoted: \"\\%d\"\r\n\r\n", i, i))
	}
	var counts [7]atomic.Int64
	var wrong atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		i, err := strconv.Atoi(r.URL.Path[1:])
		if err != nil || r.Header.Get("X-Quoted") != fmt.Sprintf(`"\%d"`, i) {
			wrong.Add(1)
			return
		}
		counts[i].Add(1)
	}))
	defer server.Close()
	for script, n := range map[string]int{SequenceScript(texts): 7, PipelineSequenceScript(texts[:6], 3, 2): 6} {
		await.Longer(t, time.Second, func(length time.Duration) error {
			cmd, out := start(t, script, server.URL, length)
			if err := cmd.Wait(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			if _, err := Parse(out.String()); err != nil {
				return fmt.Errorf("%w: %s", err, out)
			}
			for i := range n {
				if counts[i].Swap(0) == 0 {
					return fmt.Errorf("no request %d", i)
				}
			}
			return nil
		})
	}
	server.Close()
	if wrong.Load() > 0 {
		t.Errorf("%d wrong requests", wrong.Load())
	}
}

func TestPipelineScriptMeasuresWholeBatches(t *testing.T) {
	const size = 8
	// A server takes its stated time, and may take longer: only a shorter time is
	// certainly wrong.
	const usual, slow = 20 * time.Millisecond, 100 * time.Millisecond
	ln := batchServer(t, size, usual, slow, 5)
	defer ln.Close()
	await.Longer(t, time.Second, func(length time.Duration) error {
		cmd, out := start(t, PipelineScript(size, 2), "http://"+ln.Addr().String(), length)
		if err := cmd.Wait(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		r, err := Parse(out.String())
		if err != nil || r.Requests == 0 || r.P99 < slow {
			return fmt.Errorf("%+v, %v, from %s", r, err, out)
		}
		if r.P50 < usual {
			t.Errorf("%+v from %s", r, out)
		}
		return nil
	})
}

func TestAcceptRefusesRunsThatFailed(t *testing.T) {
	tests := []struct {
		refused bool
		result  Result
		ok      bool
	}{
		{false, Result{Requests: 1000, Errors: 10}, true},
		{false, Result{Requests: 1000, Errors: 11}, false},
		{false, Result{Requests: 1000, Refused: 1}, false},
		{false, Result{}, false},
		{true, Result{Requests: 1000, Refused: 1000}, true},
		{true, Result{Requests: 1000, Refused: 999}, false},
		{true, Result{Requests: 1000}, false},
	}
	for _, test := range tests {
		l := Load{Refused: test.refused}
		if err := l.accept(test.result); (err == nil) != test.ok {
			t.Errorf("%v, %+v: %v", test.refused, test.result, err)
		}
	}
}
