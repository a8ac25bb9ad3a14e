package servertest

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

const bubblesVariable = "FASTHTTP_TEST_BUBBLES"

// TestBubblesThatEnd is run by TestBubblesThatDoNotEndFailTheirTests, in a process of its own.
func TestBubblesThatEnd(t *testing.T) {
	if os.Getenv(bubblesVariable) == "" {
		t.Skip("it is part of another test")
	}
	t.Run("leaves", func(t *testing.T) { Bubble(t, func(*testing.T) { go waitForever() }) })
	t.Run("hangs", func(t *testing.T) { Bubble(t, func(*testing.T) { waitForever() }) })
	t.Run("fails", func(t *testing.T) { Bubble(t, func(t *testing.T) { t.Fatal("as usual") }) })
	t.Run("passes", func(t *testing.T) { Bubble(t, func(*testing.T) {}) })
}

func waitForever() { select {} }

func TestBubblesThatDoNotEndFailTheirTests(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestBubblesThatEnd$", "-test.v", "-test.timeout="+Patience.String())
	cmd.Env = append(os.Environ(), bubblesVariable+"=1")
	b, err := cmd.CombinedOutput()
	out := string(b)
	if err == nil {
		t.Error("the tests pass")
	}
	for _, line := range []string{"--- FAIL: TestBubblesThatEnd/leaves ", "--- FAIL: TestBubblesThatEnd/hangs ", "--- FAIL: TestBubblesThatEnd/fails ", "--- PASS: TestBubblesThatEnd/passes "} {
		if !strings.Contains(out, line) {
			t.Errorf("no line %q", line)
		}
	}
	if n := strings.Count(out, "servertest.waitForever("); n < 2 {
		t.Errorf("%d stacks of goroutines that wait", n)
	}
	if t.Failed() {
		t.Log(out)
	}
}
