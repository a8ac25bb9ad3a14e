package main

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"

	"github.com/valyala/fasthttp/bench/internal/gobench"
	"github.com/valyala/fasthttp/bench/internal/rig"
)

// workload is a benchmark of the bench folder, and the number of operations to run. That number
// is so large that one-time costs matter little.
type workload struct {
	name       string
	operations int
}

var rows = []workload{
	{"ServerGet1ReqPerConn", 6_000},
	{"ServerGet10ReqPerConn", 10_000},
	{"ServerGet10KReqPerConn", 10_000},
	{"ServerPost10KReqPerConn", 10_000},
	{"ServerGetVaried10KReqPerConn", 10_240},
	{"ServerGetProxied10KReqPerConn", 10_240},
	{"ServerPostVaried10KReqPerConn", 10_240},
	{"ServerGetVariedOnePerRead", 10_240},
	{"ServerGetProxiedOnePerRead", 10_240},
	{"ServerPostVariedOnePerRead", 10_240},
	{"ServerGetOnePerRead", 10_240},
	{"ServerGetBrowserOnePerRead", 10_240},
	{"ServerAdaptedGetVariedOnePerRead", 10_240},
	{"ProxyRaw", 10_240},
	{"ProxyReverse", 10_240},
	{"HTTP2ServerGet1Stream", 10_240},
	{"HTTP2ServerGet100Streams", 10_240},
	{"HTTP2ServerGetVaried1Stream", 10_240},
	{"HTTP2ServerGetVaried100Streams", 10_240},
	{"HTTP2ServerPost1Stream", 10_240},
	{"HTTP2ServerPost100Streams", 10_240},
	{"TLSServerGetTCP", 4_096},
	{"TLSServerGetVariedTCP", 4_096},
	{"ClientGetVaried1CallersMemory", 6_144},
	{"ClientPostVaried1CallersMemory", 6_144},
	{"ClientGet1CallersMemory", 6_000},
	{"ClientPost1CallersMemory", 6_000},
	{"HTTP2ClientGet1CallersTCP", 10_240},
	{"HTTP2ClientGetVaried10CallersTCP", 10_240},
	{"RequestHeaderRead", 10_000},
	{"ResponseHeaderRead", 10_000},
	{"RequestHeaderReadVaried", 10_240},
	{"ResponseHeaderReadVaried", 10_240},
	{"RequestHeaderWrite", 10_000},
	{"ResponseHeaderWrite", 10_000},
	{"ArgsParse", 10_000},
	{"URIParse", 10_000},
	{"CookieParse", 10_000},
}

// sizeRow is the row for the size of a small program, servers/small. Its bound only has bytes.
const sizeRow = "small"

// usesNetwork reports whether the benchmark waits for the system.
func (w workload) usesNetwork() bool { return strings.HasSuffix(w.name, "TCP") }

// meter measures the costs of benchmarks.
type meter struct {
	dir, binary string
	// still is the binary for counting the instructions of benchmarks without network. In
	// it, time stands still while any goroutine runs. Under valgrind everything takes much
	// longer: depending on the speed of the machine, servers would consider handlers slow,
	// and serve their requests differently.
	still    string
	valgrind string // "" if there is none
}

// newMeter builds the benchmarks with a module file.
func newMeter(ctx context.Context, dir, temp, modfile string) (*meter, error) {
	m := &meter{dir: dir, binary: filepath.Join(temp, filepath.Base(modfile)+".test")}
	if err := compile(ctx, dir, "-modfile="+modfile, "-o", m.binary); err != nil {
		return nil, err
	}
	program, err := exec.LookPath("valgrind")
	if err != nil {
		return m, nil
	}
	m.valgrind, m.still = program, m.binary+".still"
	if err := compile(ctx, dir, "-modfile="+modfile, "-tags=faketime", "-o", m.still); err != nil {
		return nil, err
	}
	return m, nil
}

func compile(ctx context.Context, dir string, flags ...string) error {
	return rig.RunIn(ctx, dir, "go", append([]string{"test", "-c", "-ldflags=-w"}, append(flags, ".")...)...)
}

// cost is the cost of one operation.
type cost struct {
	Instructions float64 `json:"instructions"` // 0 if they were not counted
	Allocations  float64 `json:"allocations"`
	Bytes        float64 `json:"bytes"`
}

// Insignificant differences of allocations: a pool that grows, or a started goroutine,
// in ten thousand operations.
const (
	spareAllocations = 0.02
	spareBytes       = 16
)

// within returns an error if c exceeds the bound by more than margin percent, or, for
// allocations, by more than the constants above.
func (c cost) within(bound cost, margin float64) error {
	switch {
	case bound.Instructions > 0 && c.Instructions > bound.Instructions*(1+margin/100):
		return fmt.Errorf("%.0f instructions are %.1f%% more than %.0f", c.Instructions, 100*(c.Instructions/bound.Instructions-1), bound.Instructions)
	case c.Allocations > bound.Allocations+spareAllocations:
		return fmt.Errorf("%.2f allocations are more than %.2f", c.Allocations, bound.Allocations)
	case c.Bytes > bound.Bytes*(1+margin/100)+spareBytes:
		return fmt.Errorf("%.1f bytes are more than %.1f", c.Bytes, bound.Bytes)
	}
	return nil
}

// measureAll measures workloads, and returns functions that wait for their costs, in order. Each
// workload uses one processor, so there are as many concurrent measurements as processors. The
// workloads that wait for the system are measured last, one at a time.
func (m *meter) measureAll(ctx context.Context, all []workload) iter.Seq2[workload, func() (cost, error)] {
	results := make([]func() (cost, error), len(all))
	places := make(chan struct{}, runtime.GOMAXPROCS(0))
	var alone sync.WaitGroup
	for i, w := range all {
		if w.usesNetwork() {
			continue
		}
		done := make(chan struct{})
		var c cost
		var err error
		alone.Go(func() {
			defer close(done)
			places <- struct{}{}
			defer func() { <-places }()
			c, err = m.measure(ctx, w)
		})
		results[i] = func() (cost, error) {
			<-done
			return c, err
		}
	}
	return func(yield func(workload, func() (cost, error)) bool) {
		for _, networked := range []bool{false, true} {
			for i, w := range all {
				if w.usesNetwork() != networked {
					continue
				}
				measured := results[i]
				if networked {
					alone.Wait()
					measured = func() (cost, error) { return m.measure(ctx, w) }
				}
				if !yield(w, measured) {
					alone.Wait()
					return
				}
			}
		}
	}
}

// measure runs a workload twice, with fewer and with more operations: the difference does not
// contain one-time costs.
func (m *meter) measure(ctx context.Context, w workload) (cost, error) {
	var c cost
	text, err := m.command(ctx, m.binary, w.name, 10*w.operations).CombinedOutput()
	if err != nil {
		return c, fmt.Errorf("%s: %w\n%s", w.name, err, text)
	}
	log, err := gobench.Parse(bytes.NewReader(text))
	if err != nil {
		return c, err
	}
	if len(log.Results) != 1 {
		return c, fmt.Errorf("%s: %d results\n%s", w.name, len(log.Results), text)
	}
	c.Allocations, c.Bytes = log.Results[0].AllocsPerOp, log.Results[0].BytesPerOp
	if m.valgrind == "" {
		return c, nil
	}
	few, err := m.count(ctx, w, baseOperations)
	if err != nil {
		return c, err
	}
	many, err := m.count(ctx, w, baseOperations+w.operations)
	if err != nil {
		return c, err
	}
	c.Instructions = float64(many-few) / float64(w.operations)
	return c, nil
}

// baseOperations is the number of operations of the shorter run. Some rows use several messages
// in turn: it is a multiple of the number of these, as the operations of such a row are.
const baseOperations = 1024

// functions returns the shares of functions in an operation of a measured workload.
func (m *meter) functions(w workload) ([]function, error) {
	p, err := m.difference(w)
	if err != nil {
		return nil, err
	}
	return perOperation(p, w.operations), nil
}

// difference returns the profile of the operations that only the longer run of a workload has.
func (m *meter) difference(w workload) (profile, error) {
	few, err := readProfile(m.profile(w, baseOperations))
	if err != nil {
		return nil, err
	}
	many, err := readProfile(m.profile(w, baseOperations+w.operations))
	if err != nil {
		return nil, err
	}
	many.less(few, w.operations)
	return many, nil
}

// profile returns the name of the file for a workload's run with this number of operations.
func (m *meter) profile(w workload, operations int) string {
	return fmt.Sprintf("%s.%s.%d.callgrind", m.binary, w.name, operations)
}

// command returns a command that runs a benchmark in a process that does little else: with one
// processor, without garbage collection, and without the signals for preemption, which crash
// valgrind 3.19.
func (m *meter) command(ctx context.Context, binary, name string, operations int, before ...string) *exec.Cmd {
	line := append(before, binary,
		"-test.run=^$", "-test.bench=^Benchmark"+name+"$", fmt.Sprintf("-test.benchtime=%dx", operations), "-test.benchmem")
	cmd := exec.CommandContext(ctx, line[0], line[1:]...)
	cmd.Dir = m.dir
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1", "GOGC=off", "GODEBUG=asyncpreemptoff=1")
	return cmd
}

var collected = regexp.MustCompile(`(?m)^==\d+== Collected : (\d+)`)

// count returns how many instructions a whole run takes.
func (m *meter) count(ctx context.Context, w workload, operations int) (int64, error) {
	binary := m.still
	if w.usesNetwork() {
		binary = m.binary
	}
	cmd := m.command(ctx, binary, w.name, operations, m.valgrind, "--tool=callgrind", "--callgrind-out-file="+m.profile(w, operations))
	text, err := cmd.CombinedOutput()
	if err != nil {
		return 0, fmt.Errorf("counting the instructions of %s: %w\n%s", w.name, err, text)
	}
	return parseCollected(string(text))
}

func parseCollected(text string) (int64, error) {
	match := collected.FindStringSubmatch(text)
	if match == nil {
		return 0, fmt.Errorf("valgrind told no number of instructions:\n%s", strings.TrimSpace(text))
	}
	return strconv.ParseInt(match[1], 10, 64)
}
