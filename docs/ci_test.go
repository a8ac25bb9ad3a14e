package docs

import (
	"os/exec"
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
		name, what, _ := strings.Cut(strings.TrimSpace(line), " ")
		listed = append(listed, []string{"`" + name + "`", strings.TrimSpace(what)})
	}
	told := rows(t, "../CONTRIBUTING.md", "Step", "What it checks")
	if !slices.EqualFunc(listed, told, slices.Equal) {
		t.Errorf(".ci/run -l prints\n%q\nCONTRIBUTING.md has\n%q", listed, told)
	}
}
