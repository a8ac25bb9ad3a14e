package rig

import (
	"fmt"
	"os/exec"
	"runtime"
	"slices"
	"strconv"

	"github.com/valyala/fasthttp/bench/internal/procfs"
)

// Anywhere is a place that does not restrict a program.
var Anywhere = Place{CPU: -1}

// Place is the processor that a program may run on.
type Place struct {
	CPU     int // -1 if any
	taskset string
}

// Separate returns two places on different cores, or an error with the reason if there are
// none.
func Separate() (server, client Place, err error) {
	taskset, err := exec.LookPath("taskset")
	if err != nil {
		return Anywhere, Anywhere, fmt.Errorf("taskset is not installed (package util-linux): %w", err)
	}
	cpus, err := procfs.AllowedCPUs()
	if err != nil {
		return Anywhere, Anywhere, err
	}
	if len(cpus) < 2 {
		return Anywhere, Anywhere, fmt.Errorf("there is only one processor, number %v", cpus)
	}
	// If it is not known which processors share a core, each counts as a core.
	siblings, _ := procfs.Siblings(cpus[0])
	return Place{cpus[0], taskset}, Place{otherCore(cpus, siblings), taskset}, nil
}

// Everywhere is Anywhere for each process of a group.
func Everywhere(int) (Place, error) { return Anywhere, nil }

// Processor returns the place of the i-th processor of this program.
func Processor(i int) (Place, error) {
	taskset, err := exec.LookPath("taskset")
	if err != nil {
		return Anywhere, fmt.Errorf("taskset is not installed (package util-linux): %w", err)
	}
	cpus, err := procfs.AllowedCPUs()
	if err == nil && i >= len(cpus) {
		err = fmt.Errorf("there are only %d processors", len(cpus))
	}
	if err != nil {
		return Anywhere, err
	}
	return Place{cpus[i], taskset}, nil
}

// otherCore picks a processor that does not share its core with the first one,
// if there is any.
func otherCore(cpus, siblings []int) int {
	for _, cpu := range cpus[1:] {
		if !slices.Contains(siblings, cpu) {
			return cpu
		}
	}
	return cpus[1]
}

// Procs is how many processors the place has.
func (p Place) Procs() int {
	if p.CPU < 0 {
		return runtime.NumCPU()
	}
	return 1
}

// String describes the place.
func (p Place) String() string {
	if p.CPU < 0 {
		return "not pinned"
	}
	return "pinned to processor " + strconv.Itoa(p.CPU)
}

// Command returns the command line that runs a program at the place. taskset becomes the
// program, so there is only one process.
func (p Place) Command(program string, args ...string) []string {
	var line []string
	if p.CPU >= 0 {
		line = []string{p.taskset, "-c", strconv.Itoa(p.CPU)}
	}
	return append(append(line, program), args...)
}
