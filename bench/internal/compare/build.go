package compare

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/valyala/fasthttp/bench/internal/rig"
)

// build is the test binary of the benchmarks, compiled with one of the module files.
type build struct {
	name    string
	modfile string
	binary  string
	version string
}

// make compiles the test binary into temp and determines its version of fasthttp.
func (b *build) make(ctx context.Context, dir, temp string) (err error) {
	b.binary = filepath.Join(temp, b.name+".test")
	if err := rig.RunIn(ctx, dir, "go", "test", "-c", "-modfile="+b.modfile, "-o", b.binary, "."); err != nil {
		return err
	}
	b.version, err = rig.Version(ctx, dir, b.modfile)
	return err
}

// published reports whether the build has a released version, not this tree.
func (b *build) published() bool { return strings.HasPrefix(b.version, "fasthttp ") }

// benchmarks lists the benchmarks of the binary, without the word Benchmark.
func (b *build) benchmarks(ctx context.Context) ([]string, error) {
	text, err := exec.CommandContext(ctx, b.binary, "-test.list=^Benchmark").Output()
	if err != nil {
		return nil, fmt.Errorf("listing the benchmarks: %w", rig.WithStderr(err))
	}
	var names []string
	for line := range strings.Lines(string(text)) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "Benchmark"); ok {
			names = append(names, name)
		}
	}
	return names, nil
}
