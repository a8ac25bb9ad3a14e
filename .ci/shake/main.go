//go:build unix

// Command shake looks for tests that fail on a busy machine. It runs copies of test binaries
// concurrently, and stops and continues each of them at random moments, as an overloaded
// machine does. It prints the tests that failed or did not end, how often, and why, and exits
// with 1 if there are any.
//
//	go run ./.ci/shake -for 1h
//	go run ./.ci/shake -race=false -run TestPipeline .
//	go run ./.ci/shake -frozen 5s ./integrationtests
//
// With -frozen it stops them seldom and for long, as a machine that stands still.
//
// Without packages it uses the packages whose tests wait most.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

var defaultPackages = []string{".", "./integrationtests", "./internal/netloop", "./internal/engine"}

// rhythm is how a process is disturbed. It is stopped for a time between the first two values,
// after it has run for a time between the last two.
type rhythm struct {
	minStopped, maxStopped time.Duration
	minRunning, maxRunning time.Duration
}

// overloaded is the rhythm of a machine with too much work.
var overloaded = rhythm{30 * time.Millisecond, 150 * time.Millisecond, 50 * time.Millisecond, 300 * time.Millisecond}

// frozen is the rhythm of a machine that stands still for up to longest.
func frozen(longest time.Duration) rhythm {
	return rhythm{longest * 3 / 5, longest, 50 * time.Millisecond, 1500 * time.Millisecond}
}

type settings struct {
	length  time.Duration // no round begins after this time
	limit   time.Duration // a process that takes longer than this is a hang
	copies  int
	plain   bool
	race    bool
	run     string
	rhythm  rhythm
	verbose bool
}

func main() {
	var set settings
	flag.DurationVar(&set.length, "for", 10*time.Minute, "no run begins after this time; each kind of run takes place once in any case")
	flag.DurationVar(&set.limit, "timeout", 20*time.Minute, "the time limit of a test binary")
	flag.IntVar(&set.copies, "copies", 3, "how many `copies` of a binary run side by side")
	flag.BoolVar(&set.plain, "plain", true, "run binaries without the race detector")
	flag.BoolVar(&set.race, "race", true, "run binaries with the race detector")
	flag.StringVar(&set.run, "run", "", "run only tests that match the `pattern`")
	longest := flag.Duration("frozen", 0, "stop the binaries for up to this `time`, and seldom")
	flag.BoolVar(&set.verbose, "v", false, "print all that failed tests have printed")
	flag.Parse()
	set.rhythm = overloaded
	if *longest > 0 {
		set.rhythm = frozen(*longest)
	}
	packages := flag.Args()
	if len(packages) == 0 {
		packages = defaultPackages
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	all := record{log: os.Stdout, verbose: set.verbose}
	err := shake(ctx, set, packages, &all)
	all.write(os.Stdout)
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "shake:", err)
		os.Exit(1)
	case len(all.faults) > 0:
		os.Exit(1)
	}
}

// kind is a way to run the tests of a package.
type kind struct {
	pkg    string
	dir    string
	binary string
	race   bool
	procs  int
}

func (k kind) String() string {
	name := fmt.Sprintf("%s, GOMAXPROCS=%d", k.pkg, k.procs)
	if k.race {
		name += ", race"
	}
	return name
}

// shake runs every kind in turn until the time is up, and each at least once.
func shake(ctx context.Context, set settings, packages []string, all *record) error {
	scratch, err := os.MkdirTemp("", "shake")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(scratch) }()
	kinds, err := build(ctx, set, packages, scratch)
	if err != nil {
		return err
	}
	begun := time.Now()
	for i := 0; i < len(kinds) || time.Since(begun) < set.length; i++ {
		k := kinds[i%len(kinds)]
		at, faults := time.Now(), all.count()
		var copies sync.WaitGroup
		for range set.copies {
			copies.Go(func() { all.add(k, runOnce(ctx, set, k)) })
		}
		copies.Wait()
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		fmt.Printf("[%4.0f min] %-52s %3.0f s, %d faults\n", time.Since(begun).Minutes(), k, time.Since(at).Seconds(), all.count()-faults)
	}
	return nil
}

// build builds the binaries. Kinds that differ in a single setting are far apart in the list,
// so that a short run covers all settings.
func build(ctx context.Context, set settings, packages []string, scratch string) ([]kind, error) {
	var kinds []kind
	for _, race := range []bool{false, true} {
		if race && !set.race || !race && !set.plain {
			continue
		}
		var built []kind
		for i, pkg := range packages {
			out, err := exec.CommandContext(ctx, "go", "list", "-f", "{{.Dir}}", pkg).Output()
			if err != nil {
				return nil, fmt.Errorf("go list %s: %w", pkg, err)
			}
			k := kind{pkg: pkg, dir: strings.TrimSpace(string(out)), race: race}
			k.binary = filepath.Join(scratch, fmt.Sprintf("%d-%t.test", i, race))
			args := []string{"test", "-c", "-o", k.binary}
			if race {
				args = append(args, "-race")
			}
			if out, err := exec.CommandContext(ctx, "go", append(args, pkg)...).CombinedOutput(); err != nil {
				return nil, fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, out)
			}
			built = append(built, k)
		}
		for procs := 2; procs >= 1; procs-- {
			for _, k := range built {
				k.procs = procs
				kinds = append(kinds, k)
			}
		}
	}
	if len(kinds) == 0 {
		return nil, errors.New("neither -plain nor -race")
	}
	return kinds, nil
}

// runOnce runs the tests once, and returns their faults.
func runOnce(ctx context.Context, set settings, k kind) []fault {
	args := []string{"-test.v=test2json", "-test.timeout=" + set.limit.String()}
	if set.run != "" {
		args = append(args, "-test.run="+set.run)
	}
	tests := exec.CommandContext(ctx, k.binary, args...)
	tests.Dir = k.dir
	tests.Env = append(os.Environ(), "GOMAXPROCS="+strconv.Itoa(k.procs), "GORACE=atexit_sleep_ms=50")
	// tests start their own processes, which must be stopped as well
	tests.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	tests.Cancel = func() error { return syscall.Kill(-tests.Process.Pid, syscall.SIGKILL) }
	convert := exec.CommandContext(ctx, "go", "tool", "test2json")
	output, err := tests.StdoutPipe()
	if err != nil {
		return []fault{{name: "(shake)", why: err.Error()}}
	}
	tests.Stderr = tests.Stdout
	convert.Stdin = output
	events, err := convert.StdoutPipe()
	if err == nil {
		err = convert.Start()
	}
	if err == nil {
		err = tests.Start()
	}
	if err != nil {
		return []fault{{name: "(shake)", why: err.Error()}}
	}
	ended := make(chan struct{})
	var disturbing sync.WaitGroup
	disturbing.Go(func() { disturb(tests.Process.Pid, set.rhythm, ended) })
	faults, readErr := read(events)
	_ = convert.Wait()
	err = tests.Wait()
	close(ended)
	disturbing.Wait()
	switch {
	case ctx.Err() != nil:
		return nil
	case readErr != nil:
		faults = append(faults, fault{name: "(output)", why: readErr.Error()})
	case err != nil && len(faults) == 0:
		faults = append(faults, fault{name: "(binary)", why: err.Error()})
	}
	return faults
}

// disturb stops and continues the processes of a group until the first one has ended.
func disturb(group int, r rhythm, ended <-chan struct{}) {
	for {
		for _, step := range []struct {
			min, max time.Duration
			then     syscall.Signal
		}{{r.minRunning, r.maxRunning, syscall.SIGSTOP}, {r.minStopped, r.maxStopped, syscall.SIGCONT}} {
			select {
			case <-ended:
				return
			case <-time.After(step.min + rand.N(step.max-step.min)):
			}
			if syscall.Kill(-group, step.then) != nil {
				return
			}
		}
	}
}

// event is an event of a test, as test2json writes it.
type event struct {
	Action string
	Test   string
	Output string
}

// read reads the events of one run. A test that has begun and not ended is also a fault, and so
// is a run that fails without a failed test, such as by a panic.
func read(r io.Reader) ([]fault, error) {
	var faults []fault
	running := make(map[string]*strings.Builder)
	var order []string
	var rest strings.Builder // the output that belongs to no test, such as a panic
	failed := false
	events := json.NewDecoder(r)
	for {
		var e event
		if err := events.Decode(&e); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return faults, err
		}
		out := running[e.Test]
		switch e.Action {
		case "run":
			running[e.Test] = new(strings.Builder)
			order = append(order, e.Test)
		case "output":
			if out == nil {
				out = &rest
			}
			out.WriteString(e.Output)
		case "fail":
			failed = true
			if out != nil {
				faults = append(faults, fault{e.Test, out.String()})
				delete(running, e.Test)
			}
		case "pass", "skip":
			delete(running, e.Test)
		}
	}
	for _, name := range order {
		if out := running[name]; out != nil {
			faults = append(faults, fault{name, "did not end\n" + out.String() + rest.String()})
		}
	}
	if failed && len(faults) == 0 {
		faults = append(faults, fault{"(binary)", rest.String()})
	}
	return faults, nil
}
