package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// A side is a version of fasthttp with which a suite is built.
type side struct {
	name, folder string
	edits        []string
	root         string // the folder of this tree, or "" for v1.77.0
}

func bothSides(root string) [2]side {
	require := "-require=github.com/valyala/fasthttp@v1.77.0"
	return [2]side{
		// The brotli package of v1.77.0 is no longer available.
		{"v1.77.0", "upstream", []string{require, "-replace=github.com/molecule-man/go-brrr=" + filepath.Join(root, "bench", "brrrshim")}, ""},
		{"this tree", "here", []string{require, "-replace=github.com/valyala/fasthttp=" + root}, root},
	}
}

// download returns the folder of a module in the module cache.
func download(ctx context.Context, module string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", "mod", "download", "-json", module)
	// Outside of any module, so that the go.mod of this one is not changed.
	cmd.Dir = os.TempDir()
	out, err := cmd.Output()
	var found struct{ Dir, Error string }
	if jsonErr := json.Unmarshal(out, &found); jsonErr == nil && found.Error != "" {
		return "", errors.New(found.Error)
	}
	if err != nil {
		return "", err
	}
	return found.Dir, nil
}

// prepare makes a copy of a module, to be built with this side.
func (s side) prepare(ctx context.Context, tests suite, source, place string) error {
	if err := copyTree(source, place); err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(place, "go.mod")); errors.Is(err, fs.ErrNotExist) {
		if err := goTool(ctx, place, "mod", "init", tests.module); err != nil {
			return err
		}
	}
	mod, err := goCommand(ctx, place, "mod", "edit", "-json").Output()
	if err != nil {
		return err
	}
	drops, err := localReplaces(mod)
	if err != nil {
		return err
	}
	edits := slices.Concat([]string{"mod", "edit"}, drops, s.edits)
	replacement, err := s.replacement(tests)
	if err != nil {
		return err
	}
	if replacement != "" {
		edits = append(edits, replacement)
	}
	for _, module := range tests.needs {
		edits = append(edits, "-require="+module)
	}
	if err := goTool(ctx, place, edits...); err != nil {
		return err
	}
	return goTool(ctx, place, "mod", "tidy", "-e")
}

// replacement returns the edit that replaces a module by the one of this tree that a suite names,
// or "".
func (s side) replacement(tests suite) (string, error) {
	if tests.with == "" || s.root == "" {
		return "", nil
	}
	folder := filepath.Join(s.root, filepath.FromSlash(tests.with))
	name, err := moduleIn(folder)
	return "-replace=" + name + "=" + folder, err
}

// moduleIn returns the path of the module in a folder.
func moduleIn(folder string) (string, error) {
	b, err := os.ReadFile(filepath.Join(folder, "go.mod"))
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(b)) {
		if name, ok := strings.CutPrefix(line, "module "); ok {
			return strings.TrimSpace(name), nil
		}
	}
	return "", fmt.Errorf("%s: its go.mod names no module", folder)
}

// localReplaces returns the edits that drop the replacements with local folders from a go.mod,
// as go mod edit -json prints it: the module does not contain these folders.
func localReplaces(mod []byte) ([]string, error) {
	type module struct{ Path, Version string }
	var file struct{ Replace []struct{ Old, New module } }
	if err := json.Unmarshal(mod, &file); err != nil {
		return nil, err
	}
	var drops []string
	for _, r := range file.Replace {
		if r.New.Version != "" {
			continue
		}
		drop := "-dropreplace=" + r.Old.Path
		if r.Old.Version != "" {
			drop += "@" + r.Old.Version
		}
		drops = append(drops, drop)
	}
	return drops, nil
}

func goTool(ctx context.Context, dir string, args ...string) error {
	if out, err := goCommand(ctx, dir, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return nil
}

func goCommand(ctx context.Context, dir string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off")
	return cmd
}

// copyTree copies files and folders, and makes all of them writable: the files of the module
// cache are not.
func copyTree(from, to string) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, rel)
		if d.IsDir() {
			return os.MkdirAll(target, 0o755)
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(target, b, 0o644)
	})
}
