// Command rename copies this module, and the modules below it, to a folder in which they have
// another import path:
//
//	go run ./internal/rename -o FOLDER NEWPATH
//
// A go.mod line with replace works in the main module only. A library that needs this
// implementation therefore cannot require it under the import path that it has here: it
// requires a copy with a path of its own. The copy compiles and passes its tests, and is
// ready to be committed and tagged; see docs/releasing.md.
//
// The folders bench and compat are left out, since they compare with v1.77.0 by the import
// path that both have, and so are the tests of the documents.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"go/format"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
)

func main() {
	out := flag.String("o", "", "the `folder` to write to, which must be empty or not exist")
	version := flag.String("version", "v1.0.0", "the `version` of the copy that the modules below it require")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: rename -o FOLDER [-version VERSION] NEWPATH")
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() != 1 || *out == "" {
		flag.Usage()
		os.Exit(2)
	}
	r, err := newRenamer(".", flag.Arg(0), *version)
	if err == nil {
		err = r.copyTo(*out)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "rename:", err)
		os.Exit(1)
	}
	fmt.Printf("%d files in %s; try: cd %[2]s && go test ./...\n", r.files, *out)
}

// leftOut are the folders, and the files by pattern, that are not copied.
var (
	leftOut      = []string{"bench", "compat", "internal/rename"}
	leftOutFiles = []string{"docs/*.go"}
)

// renamer copies a module under another import path.
type renamer struct {
	from     string // the folder of the module
	old, new string // import paths
	version  string
	inCode   *regexp.Regexp // the old path in anything but prose
	inText   *regexp.Regexp // in prose, which also has the name of the original
	files    int
}

var (
	modulePath = regexp.MustCompile(`(?m)^module (\S+)$`)
	// newPath is the form of an import path that a server can serve: the first element is a
	// host.
	newPath = regexp.MustCompile(`^[a-z0-9-]+(\.[a-z0-9-]+)+(/[A-Za-z0-9._~-]+)+$`)
)

func newRenamer(from, to, version string) (*renamer, error) {
	mod, err := os.ReadFile(filepath.Join(from, "go.mod"))
	if err != nil {
		return nil, err
	}
	m := modulePath.FindSubmatch(mod)
	if m == nil {
		return nil, errors.New("go.mod does not name the module")
	}
	old := string(m[1])
	if !newPath.MatchString(to) || to == old || strings.HasPrefix(to, old+"/") {
		return nil, fmt.Errorf("%q cannot be the import path of a copy", to)
	}
	quoted := regexp.QuoteMeta(old)
	return &renamer{
		from: from, old: old, new: to, version: version,
		inCode: regexp.MustCompile(quoted + `\b`),
		inText: regexp.MustCompile(`"` + quoted + `(["/])|` + quoted + `([/.][a-zA-Z])`),
	}, nil
}

// copyTo writes the copy.
func (r *renamer) copyTo(out string) error {
	from, err := filepath.Abs(r.from)
	if err != nil {
		return err
	}
	to, err := filepath.Abs(out)
	if err != nil {
		return err
	}
	if rel, err := filepath.Rel(from, to); err == nil && filepath.IsLocal(rel) {
		return fmt.Errorf("%s is a part of the module", out)
	}
	if entries, err := os.ReadDir(to); err == nil && len(entries) > 0 {
		return fmt.Errorf("%s is not empty", out)
	}
	return filepath.WalkDir(from, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || name == from {
			return err
		}
		rel, err := filepath.Rel(from, name)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		switch {
		case entry.IsDir() && isLeftOut(rel):
			return filepath.SkipDir
		case !entry.Type().IsRegular() || isLeftOut(rel):
			return nil
		}
		r.files++
		return r.copyFile(name, filepath.Join(to, filepath.FromSlash(strings.ReplaceAll(rel, r.old, r.new))))
	})
}

// isLeftOut reports whether a file or folder, relative to the module, is not copied.
func isLeftOut(rel string) bool {
	for _, folder := range leftOut {
		if rel == folder {
			return true
		}
	}
	for _, pattern := range leftOutFiles {
		if ok, _ := path.Match(pattern, rel); ok {
			return true
		}
	}
	// files of git and editors
	base := path.Base(rel)
	return base[0] == '.' && base != ".gitignore"
}

// copyFile copies a file, with the new path in place of the old one.
func (r *renamer) copyFile(from, to string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	renamed, err := r.rename(from, text)
	if err != nil {
		return fmt.Errorf("%s: %w", from, err)
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return os.WriteFile(to, renamed, info.Mode().Perm())
}

// rename returns the text of a file of that name with the new path.
func (r *renamer) rename(name string, text []byte) ([]byte, error) {
	if !bytes.Contains(text, []byte(r.old)) {
		return text, nil
	}
	if strings.HasSuffix(name, ".md") {
		return r.inText.ReplaceAllFunc(text, func(m []byte) []byte {
			return bytes.Replace(m, []byte(r.old), []byte(r.new), 1)
		}), nil
	}
	if filepath.Base(name) == "go.mod" {
		// the version is v1.77.0: the replace line makes no difference to it
		required := regexp.MustCompile(`(` + regexp.QuoteMeta(r.old) + `) v\S+`)
		text = required.ReplaceAll(text, []byte("$1 "+r.version))
	}
	text = r.inCode.ReplaceAll(text, []byte(r.new))
	if !strings.HasSuffix(name, ".go") {
		return text, nil
	}
	// another path has another place among sorted imports
	if formatted, err := format.Source(text); err == nil {
		text = formatted
	}
	return text, nil
}
