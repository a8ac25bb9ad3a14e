package compare

import (
	"context"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/valyala/fasthttp/bench/internal/report"
)

// harnessPrefix begins the names of benchmarks that measure the harness itself. They are not
// rows.
const harnessPrefix = "Harness"

// step is one run of one benchmark in one binary.
type step struct {
	row       string
	build     string // as the report calls it
	benchmark string
	binary    string
	procs     []int
}

// processors returns the values of GOMAXPROCS for server rows.
func processors() []int {
	if all := runtime.NumCPU(); all > 1 {
		return []int{1, all}
	}
	return []int{1}
}

// plan returns the steps of one round: row by row, with the builds directly after each other,
// so that other work of the machine affects all builds equally. A value row runs on one
// goroutine, so it is run with one processor only.
func plan(names []string, rows *regexp.Regexp, builds []*build, procs []int) []step {
	var steps []step
	for _, name := range names {
		if report.IsTwin(name) || strings.HasPrefix(name, harnessPrefix) || !rows.MatchString(name) {
			continue
		}
		rowProcs := procs
		if !report.IsServer(name) {
			rowProcs = procs[:1]
		}
		for _, b := range builds {
			if b.published() && report.IsHTTP2(name) {
				continue
			}
			steps = append(steps, step{row: name, build: b.name, benchmark: name, binary: b.binary, procs: rowProcs})
		}
		if twin := report.TwinName(name); slices.Contains(names, twin) {
			steps = append(steps, step{row: name, build: report.NetHTTP, benchmark: twin, binary: builds[0].binary, procs: rowProcs})
		}
	}
	return steps
}

// command runs the step.
func (s step) command(ctx context.Context, dir, benchtime string) *exec.Cmd {
	var cpu []string
	for _, n := range s.procs {
		cpu = append(cpu, strconv.Itoa(n))
	}
	cmd := exec.CommandContext(ctx, s.binary,
		"-test.run=^$",
		"-test.bench=^Benchmark"+s.benchmark+"$",
		"-test.benchtime="+benchtime,
		"-test.benchmem",
		"-test.cpu="+strings.Join(cpu, ","),
		"-test.timeout=10m")
	cmd.Dir = dir
	return cmd
}
