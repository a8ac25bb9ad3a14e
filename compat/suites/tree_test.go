package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestLocalReplacesAreDropped(t *testing.T) {
	for _, c := range []struct {
		name, mod string
		want      []string
	}{
		{"none", `{"Module":{"Path":"m"},"Replace":null}`, nil},
		{"folders and a module", `{"Replace":[
			{"Old":{"Path":"a"},"New":{"Path":"../a"}},
			{"Old":{"Path":"b","Version":"v1.0.0"},"New":{"Path":"./b"}},
			{"Old":{"Path":"c"},"New":{"Path":"d","Version":"v1.2.3"}}]}`,
			[]string{"-dropreplace=a", "-dropreplace=b@v1.0.0"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := localReplaces([]byte(c.mod))
			if err != nil || !slices.Equal(got, c.want) {
				t.Errorf("got %q, %v, want %q", got, err, c.want)
			}
		})
	}
	if _, err := localReplaces([]byte("module m")); err == nil {
		t.Error("text was taken for JSON")
	}
}

func TestCopiesCanBeWritten(t *testing.T) {
	from, to := t.TempDir(), filepath.Join(t.TempDir(), "copy")
	if err := os.Mkdir(filepath.Join(from, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(from, "sub", "a.go"), []byte("package a\n"), 0o444); err != nil {
		t.Fatal(err)
	}
	if err := copyTree(from, to); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(to, "sub", "a.go")
	if b, err := os.ReadFile(name); err != nil || string(b) != "package a\n" {
		t.Errorf("the copy has %q, %v", b, err)
	}
	if info, err := os.Stat(name); err != nil || info.Mode().Perm()&0o200 == 0 {
		t.Errorf("the copy is not writable: %v, %v", info.Mode(), err)
	}
}

func TestModulesOfTheTreeReplaceOthersOnThisSideOnly(t *testing.T) {
	root := t.TempDir()
	folder := filepath.Join(root, "contrib", "x")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := moduleIn(folder); err == nil {
		t.Error("a folder without a go.mod has a module")
	}
	mod := filepath.Join(folder, "go.mod")
	if err := os.WriteFile(mod, []byte("// no module\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := moduleIn(folder); err == nil {
		t.Error("an empty go.mod names a module")
	}
	if err := os.WriteFile(mod, []byte("module example.com/x\n\ngo 1.26.0\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	s := suite{module: "m", version: "v1", with: "contrib/x"}
	for i, want := range []string{"", "-replace=example.com/x=" + folder} {
		got, err := bothSides(root)[i].replacement(s)
		if got != want || err != nil {
			t.Errorf("side %d: %q, %v, want %q", i, got, err, want)
		}
	}
}
