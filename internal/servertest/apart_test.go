package servertest

import (
	"flag"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"
)

const endVariable = "FASTHTTP_TEST_END"

// TestApartEnds is run by TestApartTellsHowATestEnds, in a process that starts another
// process for it.
func TestApartEnds(t *testing.T) {
	end := os.Getenv(endVariable)
	if end == "" {
		t.Skip("it is part of another test")
	}
	Apart(t, func(t *testing.T) {
		t.Run("part", func(t *testing.T) {
			switch end {
			case "fails":
				t.Error("this is why")
			case "panics":
				panic("this is why")
			case "exits":
				os.Exit(3)
			}
		})
		t.Run("other", func(t *testing.T) { t.Log("the other part") })
		if end == "skips" {
			t.Skip("this is why")
		}
	})
}

func TestApartTellsHowATestEnds(t *testing.T) {
	for _, tt := range []struct {
		end, run string
		fails    bool
		says     []string
		not      string
	}{
		{"passes", "^TestApartEnds$", false, []string{"--- PASS: TestApartEnds ", "the other part"}, "FAIL"},
		{"passes", "^TestApartEnds$/^part$", false, []string{"--- PASS: TestApartEnds "}, "the other part"},
		{"fails", "^TestApartEnds$", true, []string{"this is why", "--- FAIL: TestApartEnds/part", "exit status 1"}, "PASS: TestApartEnds "},
		{"panics", "^TestApartEnds$", true, []string{"this is why", "exit status 2", "goroutine "}, "PASS: TestApartEnds "},
		{"exits", "^TestApartEnds$", true, []string{"exit status 3"}, "PASS: TestApartEnds "},
		{"skips", "^TestApartEnds$", false, []string{"this is why", "--- SKIP: TestApartEnds "}, "PASS: TestApartEnds "},
	} {
		t.Run(tt.end+" "+tt.run, func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run="+tt.run, "-test.v", "-test.count=1")
			cmd.Env = append(os.Environ(), endVariable+"="+tt.end)
			b, err := cmd.CombinedOutput()
			out := string(b)
			if (err != nil) != tt.fails {
				t.Errorf("the tests end with %v", err)
			}
			for _, part := range tt.says {
				if !strings.Contains(out, part) {
					t.Errorf("the output lacks %q", part)
				}
			}
			if strings.Contains(out, tt.not) {
				t.Errorf("the output has %q", tt.not)
			}
			if t.Failed() {
				t.Log(out)
			}
		})
	}
}

func TestApartArgs(t *testing.T) {
	run := flag.Lookup("test.run").Value
	was := run.String()
	defer func() { _ = run.Set(was) }()
	for pattern, want := range map[string]string{
		"":                 "-test.run=^TestX$",
		"TestX":            "-test.run=^TestX$",
		"Test/tcp":         "-test.run=^TestX$/tcp",
		"^Test$/^a$/event": "-test.run=^TestX$/^a$/event",
	} {
		_ = run.Set(pattern)
		if args := apartArgs("TestX", time.Minute); !slices.Contains(args, want) || !slices.Contains(args, "-test.timeout=1m0s") {
			t.Errorf("for %q the arguments are %q, want %s", pattern, args, want)
		}
	}
}
