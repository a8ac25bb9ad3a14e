package main

import (
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

//go:embed inside/*.txt
var insideFiles embed.FS

// built is a binary of the tests.
type built struct {
	dir    string // with testdata
	binary string
	// test2json is the tool of this name: running it through the go command takes longer than
	// most tests.
	test2json string
	calls     map[string]map[string]bool // by the name of a function: the names in its body
}

// hooks are the places where servers of net/http are replaced: a text that occurs once in
// server.go, and the text to add after it.
var hooks = []struct{ after, add string }{
	{
		"\tif fn := testHookServerServe; fn != nil {\n\t\tfn(s, l) // call hook with unwrapped listener\n\t}\n",
		"\tif f := ReplacedServe; f != nil {\n\t\treturn f(s, l)\n\t}\n",
	},
	{
		"func (s *Server) Close() error {\n\ts.inShutdown.Store(true)\n",
		"\tif f := ReplacedClose; f != nil {\n\t\treturn f(s)\n\t}\n",
	},
	{
		"func (s *Server) Shutdown(ctx context.Context) error {\n\ts.inShutdown.Store(true)\n",
		"\tif f := ReplacedShutdown; f != nil {\n\t\treturn f(s, ctx)\n\t}\n",
	},
	{
		"\t\thandler = globalOptionsHandler{}\n\t}\n",
		"\tif f := ReplacedHandler; f != nil {\n\t\thandler = f(handler)\n\t}\n",
	},
}

// internals are packages that the tests import and programs must not: the name under which the
// tests import them, and the file of this program that replaces the package, if importing it
// under another name is not enough.
var internals = map[string]struct{ name, file string }{
	"internal/testenv":           {"testenv", ""},
	"internal/nettrace":          {"nettrace", "nettrace.go.txt"},
	"internal/synctest":          {"synctest", "synctest.go.txt"},
	"net/http/internal":          {"chunked", ""},
	"net/http/internal/testcert": {"testcert", ""},
}

// build builds the tests with the tree in a folder.
func build(ctx context.Context, tree, dir string) (*built, error) {
	root, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	if err != nil {
		return nil, fmt.Errorf("go env GOROOT: %w", err)
	}
	source := filepath.Join(strings.TrimSpace(string(root)), "src")
	b := &built{dir: filepath.Join(dir, "tests"), binary: filepath.Join(dir, "nethttp.test"), calls: map[string]map[string]bool{}}
	overlay := filepath.Join(dir, "overlay.json")
	for _, step := range []func() error{
		func() error { return writeOverlay(source, dir, overlay) },
		func() error { return b.copyTests(filepath.Join(source, "net", "http")) },
		func() error { return b.writeModule(tree) },
	} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	cmd := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-mod=mod", "-overlay="+overlay, "-o="+b.binary, ".")
	cmd.Dir = b.dir
	cmd.Env = append(os.Environ(), "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("go test -c: %w\n%s", err, out)
	}
	tool, err := exec.CommandContext(ctx, "go", "tool", "-n", "test2json").Output()
	if err != nil {
		return nil, fmt.Errorf("go tool -n test2json: %w", err)
	}
	b.test2json = strings.TrimSpace(string(tool))
	return b, nil
}

// writeOverlay writes the overlay: the files that the go command reads instead of others.
func writeOverlay(source, dir, overlay string) error {
	net := filepath.Join(source, "net", "http")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	server, err := os.ReadFile(filepath.Join(net, "server.go"))
	if err != nil {
		return err
	}
	text := string(server)
	for _, h := range hooks {
		if n := strings.Count(text, h.after); n != 1 {
			return fmt.Errorf("server.go of net/http has this %d times, want once:\n%s", n, h.after)
		}
		text = strings.Replace(text, h.after, h.after+h.add, 1)
	}
	patched := filepath.Join(dir, "server.go")
	if err := os.WriteFile(patched, []byte(text), 0o644); err != nil {
		return err
	}
	replace := map[string]string{
		filepath.Join(net, "server.go"):           patched,
		filepath.Join(net, "replaced_exports.go"): filepath.Join(net, "export_test.go"),
		filepath.Join(net, "replaced_inside.go"):  filepath.Join(dir, "server.go.txt"),
	}
	for path, in := range internals {
		to := filepath.Join(net, "replaced", in.name)
		if in.file != "" {
			replace[filepath.Join(to, in.name+".go")] = filepath.Join(dir, in.file)
			continue
		}
		files, err := filepath.Glob(filepath.Join(source, filepath.FromSlash(path), "*.go"))
		if err != nil {
			return err
		}
		for _, file := range files {
			if !strings.HasSuffix(file, "_test.go") {
				replace[filepath.Join(to, filepath.Base(file))] = file
			}
		}
	}
	for _, name := range []string{"server.go.txt", "nettrace.go.txt", "synctest.go.txt"} {
		content, err := insideFiles.ReadFile("inside/" + name)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), content, 0o644)
		}
		if err != nil {
			return err
		}
	}
	content, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return err
	}
	return os.WriteFile(overlay, content, 0o644)
}

// copyTests copies the tests outside of package http, with the files that they read, and
// records the names in each function.
func (b *built) copyTests(source string) error {
	if err := os.CopyFS(filepath.Join(b.dir, "testdata"), os.DirFS(filepath.Join(source, "testdata"))); err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(source, "*_test.go"))
	if err != nil {
		return err
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, content, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		if parsed.Name.Name != "http_test" {
			continue
		}
		b.note(parsed)
		text := string(content)
		for _, spec := range parsed.Imports {
			if path, err := strconv.Unquote(spec.Path.Value); err == nil && internals[path].name != "" {
				text = strings.Replace(text, spec.Path.Value, strconv.Quote("net/http/replaced/"+internals[path].name), 1)
			}
		}
		// package net/http/internal has another name than the folder
		text = strings.ReplaceAll(text, `"net/http/replaced/chunked"`, `internal "net/http/replaced/chunked"`)
		if err := os.WriteFile(filepath.Join(b.dir, filepath.Base(file)), []byte(text), 0o644); err != nil {
			return err
		}
	}
	glue, err := insideFiles.ReadFile("inside/glue_test.go.txt")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(b.dir, "replaced_glue_test.go"), glue, 0o644)
}

func (b *built) note(file *ast.File) {
	for _, decl := range file.Decls {
		f, ok := decl.(*ast.FuncDecl)
		if !ok || f.Body == nil {
			continue
		}
		names := b.calls[f.Name.Name]
		if names == nil {
			names = map[string]bool{}
			b.calls[f.Name.Name] = names
		}
		ast.Inspect(f.Body, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.SelectorExpr:
				if x, ok := n.X.(*ast.Ident); ok {
					names[x.Name+"."+n.Sel.Name] = true
				}
			case *ast.Ident:
				names[n.Name] = true
			}
			return true
		})
	}
}

// writeModule writes the go.mod of the tests, with the requirements of this module.
func (b *built) writeModule(tree string) error {
	here := filepath.Join(tree, "compat", "nethttp")
	sum, err := os.ReadFile(filepath.Join(here, "go.sum"))
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(b.dir, "go.sum"), sum, 0o644); err != nil {
		return err
	}
	mod := fmt.Sprintf(`module nethttp

go 1.26

require (
	github.com/valyala/fasthttp v1.77.0
	github.com/valyala/fasthttp/compat/nethttp v0.0.0
)

replace (
	github.com/valyala/fasthttp => %q
	github.com/valyala/fasthttp/compat/nethttp => %q
)
`, tree, here)
	return os.WriteFile(filepath.Join(b.dir, "go.mod"), []byte(mod), 0o644)
}
