package main

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
)

const (
	benchModule    = "github.com/valyala/fasthttp/bench"
	fasthttpModule = "github.com/valyala/fasthttp"
)

// build is the benchmarks, compiled with one of the module files.
type build struct {
	name    string
	modfile string
	binary  string
	version string
}

// make compiles the test binary into temp and finds out which fasthttp is in
// it.
func (b *build) make(ctx context.Context, dir, temp string) error {
	b.binary = filepath.Join(temp, b.name+".test")
	compile := exec.CommandContext(ctx, "go", "test", "-c", "-modfile="+b.modfile, "-o", b.binary, ".")
	compile.Dir = dir
	if text, err := compile.CombinedOutput(); err != nil {
		return fmt.Errorf("building %s: %w\n%s", b.name, err, text)
	}
	list := exec.CommandContext(ctx, "go", "list", "-m", "-modfile="+b.modfile,
		"-f", "{{.Version}} {{with .Replace}}replaced{{end}}", fasthttpModule)
	list.Dir = dir
	text, err := list.Output()
	if err != nil {
		return fmt.Errorf("version of %s: %w", b.name, withStderr(err))
	}
	version, replaced, _ := strings.Cut(strings.TrimSpace(string(text)), " ")
	b.version = "fasthttp " + version
	if replaced != "" {
		b.version = "this tree at " + revision(ctx, dir)
	}
	return nil
}

// revision names the commit of the tree that dir is in.
func revision(ctx context.Context, dir string) string {
	git := func(args ...string) (string, error) {
		cmd := exec.CommandContext(ctx, "git", args...)
		cmd.Dir = dir
		text, err := cmd.Output()
		return strings.TrimSpace(string(text)), err
	}
	commit, err := git("rev-parse", "--short=12", "HEAD")
	if err != nil {
		return "an unknown commit"
	}
	if changes, err := git("status", "--porcelain", "--", ":/"); err != nil || changes != "" {
		commit += " with local changes"
	}
	return commit
}

// benchmarks lists what the binary can run, without the word Benchmark.
func (b *build) benchmarks(ctx context.Context) ([]string, error) {
	text, err := exec.CommandContext(ctx, b.binary, "-test.list=^Benchmark").Output()
	if err != nil {
		return nil, fmt.Errorf("listing the benchmarks: %w", withStderr(err))
	}
	var names []string
	for line := range strings.Lines(string(text)) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "Benchmark"); ok {
			names = append(names, name)
		}
	}
	return names, nil
}
