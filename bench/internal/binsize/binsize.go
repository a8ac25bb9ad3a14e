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

// Measure builds examples/helloworld with both module files of dir, which is the
// bench folder. A profile that lies beside the program is not used: what is
// compared is the same source, built in the same way.
func Measure(ctx context.Context, dir string, modules rig.Modules) (*Report, error) {
	temp, err := os.MkdirTemp("", "fasthttp-bench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(temp)
	const program = "examples/helloworld"
	r := &Report{Program: program, Versions: map[string]string{}}
	source := filepath.Join(dir, "..", filepath.FromSlash(program), "main.go")
	for _, side := range []struct {
		name, modfile string
		size          *int64
	}{
		{rig.Event, modules.Ours, &r.Ours},
		{rig.Upstream, modules.Upstream, &r.Upstream},
	} {
		binary := filepath.Join(temp, "program")
		// A file that is named belongs to the module that the command runs in,
		// wherever it lies.
		build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-pgo=off", "-modfile="+side.modfile, "-o", binary, source)
		build.Dir = dir
		if text, err := build.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("building %s with %s: %w\n%s", program, side.modfile, err, text)
		}
		info, err := os.Stat(binary)
		if err != nil {
			return nil, err
		}
		*side.size = info.Size()
		if r.Versions[side.name], err = rig.Version(ctx, dir, side.modfile); err != nil {
			return nil, err
		}
	}
	return r, nil
}
