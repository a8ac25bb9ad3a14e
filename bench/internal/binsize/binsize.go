// Package binsize compares the size of a small program built with this fasthttp and with the
// published one.
package binsize

import (
	"context"
	"os"
	"path/filepath"

	"github.com/valyala/fasthttp/bench/internal/rig"
)

// Report has the sizes in bytes of one program, built with each of them.
type Report struct {
	Program  string            `json:"program"`
	Versions map[string]string `json:"versions"`
	Ours     int64             `json:"ours"`
	Upstream int64             `json:"upstream"`
}

// Ratio is the ratio of our size to upstream's.
func (r *Report) Ratio() float64 { return float64(r.Ours) / float64(r.Upstream) }

// program is the folder of the program.
const program = "bench/servers/small"

// Measure builds the program with both module files of dir, which is the
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

// Size builds the program with a module file of dir and returns its size in bytes.
func Size(ctx context.Context, dir, modfile string) (int64, error) {
	temp, err := os.MkdirTemp("", "fasthttp-bench-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(temp)
	binary := filepath.Join(temp, "program")
	if err := rig.RunIn(ctx, dir, "go", "build", "-trimpath", "-pgo=off", "-modfile="+modfile, "-o", binary, "./servers/small"); err != nil {
		return 0, err
	}
	info, err := os.Stat(binary)
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}
