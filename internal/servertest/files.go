package servertest

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Plant makes a tree of files, all with the same modification time, and returns its
// root. A name that ends in "@" makes a symbolic link; the text is its target.
func Plant(t testing.TB, modified time.Time, files map[string]string) string {
	t.Helper()
	root := filepath.Join(t.TempDir(), "root")
	if err := os.MkdirAll(root, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		PlantFile(t, modified, filepath.Join(root, name), text)
	}
	return root
}

// PlantFile makes one file of a tree.
func PlantFile(t testing.TB, modified time.Time, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if link, ok := strings.CutSuffix(path, "@"); ok {
		if err := os.Symlink(text, link); err != nil {
			t.Fatal(err)
		}
		return
	}
	if err := errors.Join(os.WriteFile(path, []byte(text), 0o644), os.Chtimes(path, modified, modified)); err != nil {
		t.Fatal(err)
	}
}

// StateOf returns the text of a file, and its fs.FileInfo.
func StateOf(t testing.TB, path string) (text string, info fs.FileInfo) {
	t.Helper()
	info, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b), info
}
