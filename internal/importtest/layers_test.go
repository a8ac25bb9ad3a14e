package importtest

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

const (
	module    = "github.com/valyala/fasthttp"
	moduleDir = "../.."
)

// layers are the folders of this module from the bottom up. A package imports only
// from rows above its own. "." is the root package; a name that ends in "/..." means
// all folders below.
var layers = [][]string{
	{"internal/lockorder"},
	{"internal/bytesconv", "internal/rawsys", "internal/netio", "internal/hostmap", "internal/failover", "internal/bridge", "internal/patience"},
	{"internal/ascii"},
	{"internal/httpdate", "internal/bufpool", "internal/proxied", "internal/peers", "internal/watch"},
	{"internal/clock", "internal/recvbuf"},
	{"internal/field"},
	{"internal/http1", "internal/hpack", "internal/urlencoded"},
	{"internal/uri", "internal/cookie", "internal/http2", "internal/ws"},
	{"internal/http3", "internal/header"},
	{"internal/coding", "internal/wsflate"},
	{"internal/bodyio"},
	{"internal/content", "internal/forms"},
	{"internal/netloop", "internal/connpool", "internal/tlswire", "internal/dial", "internal/workers", "internal/servertls", "internal/userdata"},
	{"internal/engine", "internal/files", "internal/clientconn", "internal/bodymem", "internal/http2body"},
	{"internal/pipeline", "internal/sender", "internal/http2client"},
	{"."},
	{
		"accesslog", "cors", "expvarhandler", "fasthttpadaptor", "fasthttpproxy", "fasthttputil", "requestid", "sse", "stackless", "tcplisten",
	},
	{"fasthttptest", "pprofhandler", "reuseport", "restart", "internal/servertest", "websocket"},
	{"internal/contribtest", "internal/policytest", "internal/restarttest", "internal/roottest", "prefork"},
	{"examples/...", "api", "docs", "integrationtests", "internal/importtest", "internal/rename"},
}

// unsafeAllowed are the folders with files, tests included, that may import unsafe.
var unsafeAllowed = []string{"internal/bytesconv", "internal/rawsys"}

// withoutIO are the folders that do not use sockets and files, and the packages that
// they must not import for that reason.
var (
	withoutIO = []string{
		"internal/ascii", "internal/urlencoded", "internal/field", "internal/http1", "internal/hpack", "internal/http2", "internal/ws", "internal/wsflate", "internal/uri", "internal/cookie", "internal/coding", "internal/proxied",
		"internal/recvbuf",
	}
	ioImports = []string{"net", "os", "syscall", "net/http"}
)

func TestPackagesImportOnlyDownwards(t *testing.T) {
	for _, f := range moduleFiles(t) {
		layer := layerOf(f.dir)
		if layer < 0 {
			t.Errorf("%s: the folder %s is in no layer; add it to the table in internal/importtest/layers_test.go", f.name, f.dir)
			continue
		}
		if f.isTest {
			continue
		}
		for _, imported := range f.imports {
			dir, ours := folder(imported)
			if ours && layerOf(dir) >= layer {
				t.Errorf("%s imports %s, which is not in a layer below", f.name, imported)
			}
		}
	}
}

func TestUnsafeStaysInItsPackage(t *testing.T) {
	for _, f := range moduleFiles(t) {
		if slices.Contains(f.imports, "unsafe") && !slices.Contains(unsafeAllowed, f.dir) {
			t.Errorf("%s imports unsafe, which only %v may", f.name, unsafeAllowed)
		}
	}
}

// The scheduler is not aware of a raw system call, so one that waits can stop the
// program. Only the package that makes sure that none waits may make such calls.
func TestRawSystemCallsStayInTheirPackage(t *testing.T) {
	for _, f := range moduleFiles(t) {
		text, err := os.ReadFile(filepath.Join(moduleDir, f.name))
		if err != nil {
			t.Fatal(err)
		}
		if f.dir != "internal/rawsys" && bytes.Contains(text, []byte("."+"RawSyscall")) {
			t.Errorf("%s makes raw system calls, which only internal/rawsys may", f.name)
		}
	}
}

func TestInternalPackagesDoNotReflect(t *testing.T) {
	for _, f := range moduleFiles(t) {
		if strings.HasPrefix(f.dir, "internal/") && !f.isTest && slices.Contains(f.imports, "reflect") {
			t.Errorf("%s imports reflect", f.name)
		}
	}
}

func TestProtocolPackagesDoNoIO(t *testing.T) {
	for _, f := range moduleFiles(t) {
		if f.isTest || !slices.Contains(withoutIO, f.dir) {
			continue
		}
		for _, imported := range f.imports {
			if slices.Contains(ioImports, imported) {
				t.Errorf("%s imports %s, but %s does no I/O", f.name, imported, f.dir)
			}
		}
	}
}

func TestEveryFolderIsInOneLayerOnly(t *testing.T) {
	seen := map[string]bool{}
	for _, folder := range slices.Concat(layers...) {
		if seen[folder] {
			t.Errorf("%s is in the table twice", folder)
		}
		seen[folder] = true
	}
}

func layerOf(dir string) int {
	return slices.IndexFunc(layers, func(folders []string) bool {
		return slices.ContainsFunc(folders, func(entry string) bool {
			parent, all := strings.CutSuffix(entry, "...")
			return entry == dir || all && strings.HasPrefix(dir, parent)
		})
	})
}

// folder returns the folder of a package in this module by its import path.
func folder(importPath string) (dir string, ours bool) {
	if importPath == module {
		return ".", true
	}
	return strings.CutPrefix(importPath, module+"/")
}

// file is a Go file of this module. Its name and folder are relative to the
// module's.
type file struct {
	name, dir string
	isTest    bool
	imports   []string
	syntax    *ast.File
}

// moduleFiles returns all Go files of this module, for all systems, with their imports alone.
func moduleFiles(t *testing.T) []file {
	t.Helper()
	files, err := parsedImports()
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 10 {
		t.Fatalf("only %d files found below %s", len(files), moduleDir)
	}
	return files
}

// parsedImports parses the files of moduleFiles, once. It leaves out folders that are modules of
// their own, and folders that the go command ignores.
var parsedImports = sync.OnceValues(func() (files []file, err error) {
	err = filepath.WalkDir(moduleDir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := entry.Name()
		ignored := base[0] == '_' || base[0] == '.' && name != moduleDir
		if entry.IsDir() {
			if ignored || base == "testdata" || name != moduleDir && isModule(name) {
				return filepath.SkipDir
			}
			return nil
		}
		if ignored || !strings.HasSuffix(base, ".go") {
			return nil
		}
		f, err := parseFile(name, parser.ImportsOnly, token.NewFileSet())
		files = append(files, f)
		return err
	})
	return files, err
})

func isModule(dir string) bool {
	found, _ := filepath.Glob(filepath.Join(dir, "go.mod"))
	return len(found) > 0
}

func parseFile(name string, mode parser.Mode, fset *token.FileSet) (file, error) {
	syntax, err := parser.ParseFile(fset, name, nil, mode)
	if err != nil {
		return file{}, err
	}
	relative, err := filepath.Rel(moduleDir, name)
	if err != nil {
		return file{}, err
	}
	f := file{name: filepath.ToSlash(relative), syntax: syntax}
	f.dir = path.Dir(f.name)
	f.isTest = strings.HasSuffix(f.name, "_test.go")
	for _, spec := range syntax.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return file{}, err
		}
		f.imports = append(f.imports, imported)
	}
	return f, nil
}
