package main

import (
	"errors"
	"io/fs"
	"maps"
	"runtime"
	"strings"

	"github.com/valyala/fasthttp/bench/internal/rig"
)

// boundTable holds the costs of operations when it was last stored, by platform and row.
type boundTable map[string]map[string]cost

// platform returns the compiler, without its patch level, and the architecture: the number of
// instructions depends on both.
func platform() string {
	version := runtime.Version()
	if parts := strings.SplitN(version, ".", 3); len(parts) == 3 {
		version = parts[0] + "." + parts[1]
	}
	return version + " " + runtime.GOOS + "/" + runtime.GOARCH
}

// readBounds returns an empty table if there is no file.
func readBounds(file string) (boundTable, error) {
	bounds := boundTable{}
	if err := rig.ReadJSON(file, &bounds); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return bounds, nil
}

// store replaces the rows that were measured. It keeps the stored instructions of a row if none
// were counted this time.
func (b boundTable) store(key string, got map[string]cost) {
	merged := maps.Clone(b[key])
	if merged == nil {
		merged = map[string]cost{}
	}
	for name, c := range got {
		if c.Instructions == 0 {
			c.Instructions = merged[name].Instructions
		}
		merged[name] = c
	}
	b[key] = merged
}
