package servertest

import (
	"bytes"
	"context"
	"flag"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"
)

// apartVariable is the environment variable that names the test a process was started for.
const apartVariable = "FASTHTTP_TEST_APART"

// apartTime is the time limit of a process if the tests have none.
const apartTime = 20 * time.Minute

// Apart runs a test in a separate process, without other tests, so that it may measure
// memory, goroutines and descriptors. Meanwhile other tests run in the calling process. A
// test calls Apart at its beginning, and does nothing else.
func Apart(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	if os.Getenv(apartVariable) == t.Name() {
		test(t)
		return
	}
	t.Parallel()
	deadline, ok := t.Deadline()
	if !ok {
		deadline = time.Now().Add(apartTime)
	}
	ctx, cancel := context.WithDeadline(t.Context(), deadline)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0], apartArgs(t.Name(), time.Until(deadline))...)
	cmd.Env = append(os.Environ(), apartVariable+"="+t.Name())
	out, err := cmd.CombinedOutput()
	switch {
	case err != nil:
		t.Errorf("the process of the test: %v\n%s", err, failedParts(string(out)))
	case !bytes.Contains(out, []byte("\n--- ")):
		t.Errorf("the process has run no test:\n%s", out)
	case bytes.Contains(out, []byte("\n--- SKIP: "+t.Name()+" ")):
		t.Skipf("%s", out)
	default:
		t.Logf("%s", out)
	}
}

// failedParts returns the lines that failed tests have written in the verbose output of a
// test binary, or all of it if no test reports a failure, as after a panic.
func failedParts(out string) string {
	lines := strings.SplitAfter(out, "\n")
	failed := make(map[string]bool)
	for _, line := range lines {
		if _, result, ok := strings.Cut(line, "--- FAIL: "); ok {
			name, _, _ := strings.Cut(result, " ")
			failed[name] = true
		}
	}
	if len(failed) == 0 || strings.Contains(out, "\npanic: ") {
		return out
	}
	var kept strings.Builder
	of := "" // the test of the line
	for _, line := range lines {
		words := strings.Fields(line)
		switch {
		case len(words) >= 3 && words[0] == "===":
			of = words[2]
		case len(words) >= 3 && words[0] == "---":
			if words[1] == "FAIL:" {
				kept.WriteString(line)
			}
		case failed[of]:
			kept.WriteString(line)
		}
	}
	return kept.String()
}

// apartArgs returns the arguments of a process that runs the named test, with those of its
// subtests that this process should run.
func apartArgs(name string, limit time.Duration) []string {
	pattern := "^" + name + "$"
	if _, of, ok := strings.Cut(flag.Lookup("test.run").Value.String(), "/"); ok {
		pattern += "/" + of
	}
	return []string{
		"-test.run=" + pattern, "-test.v", "-test.count=1", "-test.timeout=" + limit.String(),
		"-test.cpu=" + strconv.Itoa(runtime.GOMAXPROCS(0)),
	}
}
