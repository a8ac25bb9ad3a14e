package docs

import (
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// TestStepsOfTheWholeCheckAreListed checks that CONTRIBUTING.md has the steps that
// .ci/run has, in its order and in its words.
func TestStepsOfTheWholeCheckAreListed(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil || runtime.GOOS == "windows" {
		t.Skip("there is no bash that can read the paths of this system")
	}
	out, err := exec.CommandContext(t.Context(), bash, "../.ci/run", "-l").Output()
	if err != nil {
		t.Fatal(err)
	}
	var listed [][]string
	for line := range strings.Lines(string(out)) {
		step := regexp.MustCompile("  +").Split(strings.TrimSpace(line), 3)
		step[0] = "`" + step[0] + "`"
		listed = append(listed, step)
	}
	told := rows(t, "../CONTRIBUTING.md", "Step", "When", "What it checks")
	if !slices.EqualFunc(listed, told, slices.Equal) {
		t.Errorf(".ci/run -l prints\n%q\nCONTRIBUTING.md has\n%q", listed, told)
	}
}
