package main

import (
	"bytes"
	"go/parser"
	"go/token"
	"io/fs"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

const other = "example.org/team/fast"

// TestCopyCompilesUnderAnotherPath copies the whole tree, looks up the imports of all of its
// modules, and compiles a small part: the rest takes too long for a test. docs/releasing.md
// has the commands for all of it.
func TestCopyCompilesUnderAnotherPath(t *testing.T) {
	r, err := newRenamer("../..", other, "v1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "copy")
	if err := r.copyTo(dir); err != nil {
		t.Fatal(err)
	}
	if r.files < 500 {
		t.Errorf("only %d files were copied", r.files)
	}
	modules, err := filepath.Glob(filepath.Join(dir, "contrib", "*", "go.mod"))
	if err != nil || len(modules) < 4 {
		t.Errorf("%d modules below contrib, %v", len(modules), err)
	}
	imports := 0
	for name := range filesBelow(t, dir) {
		imports += checkFile(t, dir, name, r.old)
	}
	if imports < 1000 {
		t.Errorf("only %d imports of the copy were found", imports)
	}
	if testing.Short() {
		return
	}
	cmd := exec.CommandContext(t.Context(), "go", "build", "./internal/uri", "./internal/cookie")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// filesBelow returns the names of all files.
func filesBelow(t *testing.T, dir string) iter.Seq[string] {
	return func(yield func(string) bool) {
		err := filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
			if err == nil && !entry.IsDir() && !yield(name) {
				return filepath.SkipAll
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// checkFile checks that a file of the copy does not have the old path, and that each package
// of the copy that it imports is there. It returns the number of these imports.
func checkFile(t *testing.T, dir, name, old string) (imports int) {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(text, []byte(`"`+old)) || !strings.HasSuffix(name, ".md") && bytes.Contains(text, []byte(old)) {
		t.Errorf("%s has the old path", name)
	}
	if !strings.HasSuffix(name, ".go") || strings.Contains(filepath.ToSlash(name), "/testdata/") {
		return 0
	}
	file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	for _, spec := range file.Imports {
		path, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		if rest, ours := strings.CutPrefix(path+"/", other+"/"); ours {
			imports++
			if _, err := os.Stat(filepath.Join(dir, filepath.FromSlash(rest))); err != nil {
				t.Errorf("%s imports %s: %v", name, path, err)
			}
		}
	}
	return imports
}

// TestDocumentsNameTheOriginal checks that sentences about the original keep its name, while
// imports and commands have the new path.
func TestDocumentsNameTheOriginal(t *testing.T) {
	r, err := newRenamer("../..", other, "v1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	const text = "like github.com/valyala/fasthttp v1.77.0, `import \"github.com/valyala/fasthttp/sse\"`,\n" +
		"import \"github.com/valyala/fasthttp\"\n`go doc github.com/valyala/fasthttp.Server`\n"
	const want = "like github.com/valyala/fasthttp v1.77.0, `import \"example.org/team/fast/sse\"`,\n" +
		"import \"example.org/team/fast\"\n`go doc example.org/team/fast.Server`\n"
	if got, err := r.rename("a.md", []byte(text)); err != nil || string(got) != want {
		t.Errorf("got %q, %v", got, err)
	}
	got, err := r.rename("go.mod", []byte("require github.com/valyala/fasthttp v1.77.0\n"))
	if err != nil || string(got) != "require example.org/team/fast v1.2.3\n" {
		t.Errorf("got %q, %v", got, err)
	}
}

// TestPathsThatCannotBe checks that a copy is refused which no program could import, or
// which would overwrite files.
func TestPathsThatCannotBe(t *testing.T) {
	for _, path := range []string{"", "fast", "example.org", "example.org/a b", "../fast", "github.com/valyala/fasthttp", "github.com/valyala/fasthttp/copy"} {
		if _, err := newRenamer("../..", path, "v1.0.0"); err == nil {
			t.Errorf("%q is accepted", path)
		}
	}
	r, err := newRenamer("../..", other, "v1.0.0")
	if err != nil {
		t.Fatal(err)
	}
	full := t.TempDir()
	if err := os.WriteFile(filepath.Join(full, "a"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, out := range []string{full, "testdata", "../../copy"} {
		if err := r.copyTo(out); err == nil {
			t.Errorf("a copy to %s is accepted", out)
		}
	}
}
