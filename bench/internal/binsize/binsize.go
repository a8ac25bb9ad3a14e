// Package binsize compares how large a small program becomes with this fasthttp
// and with the published one.
package binsize

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/valyala/fasthttp/bench/internal/rig"
)

// Report is the sizes in bytes of the same program, built with both.
type Report struct {
	Program  string            `json:"program"`
	Versions map[string]string `json:"versions"`
	Ours     int64             `json:"ours"`
	Upstream int64             `json:"upstream"`
}

// Ratio is that of ours to upstream's.
func (r *Report) Ratio() float64 { return float64(r.Ours) / float64(r.Upstream) }

// program is what is built.
const program = "examples/helloworld"

// Measure builds examples/helloworld with both module files of dir, which is the
// bench folder.
func Measure(ctx context.Context, dir string, modules rig.Modules) (*Report, error) {
	r := &Report{Program: program, Versions: map[string]string{}}
	for _, side := range []struct {
		name, modfile string
		size          *int64
	}{
		{rig.Event, modules.Ours, &r.Ours},
		{rig.Upstream, modules.Upstream, &r.Upstream},
	} {
		var err error
		if *side.size, err = Size(ctx, dir, side.modfile); err != nil {
			return nil, err
		}
		if r.Versions[side.name], err = rig.Version(ctx, dir, side.modfile); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// Size builds examples/helloworld with a module file of dir and returns its size
// in bytes. The profile that lies beside it is not used: what is compared is the
// same source, built in the same way.
func Size(ctx context.Context, dir, modfile string) (int64, error) {
	temp, err := os.MkdirTemp("", "fasthttp-bench-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(temp)
	binary := filepath.Join(temp, "program")
	// A file that is named belongs to the module that the command runs in,
	// wherever it lies.
	source := filepath.Join(dir, "..", filepath.FromSlash(program), "main.go")
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-pgo=off", "-modfile="+modfile, "-o", binary, source)
	build.Dir = dir
	if text, err := build.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("building %s with %s: %w\n%s", program, modfile, err, text)
	}
	info, err := os.Stat(binary)
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}
