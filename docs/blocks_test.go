package docs

import (
	"go/ast"
	"go/doc/comment"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// notCompiled are the first lines of blocks of code that are not compiled, in documents the ones that
// could be Go, each with the reason.
var notCompiled = map[string]string{
	`conn, err := upgrader.Upgrade(w, r, nil)`:                                   "a call of github.com/gorilla/websocket",
	`import "github.com/fasthttp/websocket"        // before`:                    "two imports, of which a file has one",
	`//go:build fasthttp_additions`:                                              "a second file for the package of the block before",
	`app.Get("/chat/:room", func(c fiber.Ctx) error {`:                           "a call of Fiber",
	`spanned, span := tracer.Start(ctx.Context(), "request")`:                    "a call of OpenTelemetry",
	`go generate ./api`:                                                          "a command",
	`Sun, 06 Nov 1994 08:49:37 GMT    IMF-fixdate, the format sent today`:        "a table",
	`0  /foo/bar  stays as it is`:                                                "a table",
	`0  http://foobar.com/foo/bar            becomes /foobar.com/foo/bar`:        "a table",
	`/debug/pprof/         a list of the profiles; /debug/pprof redirects to it`: "a table",
}

// compiledElsewhere are blocks of notCompiled that the tests of another module have, by their first
// lines, with the file.
var compiledElsewhere = map[string]string{
	`app.Get("/chat/:room", func(c fiber.Ctx) error {`: "../contrib/together/additions_test.go",
}

// documents returns the documents with snippets, relative to the folder of this
// package.
func documents(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("*.md")
	if err != nil {
		t.Fatal(err)
	}
	return append(files, "../README.md", "../CONTRIBUTING.md", "../SECURITY.md")
}

// documentsOfModules are the documents that name public packages and are not in this folder,
// relative to it.
var documentsOfModules = []string{
	"../CHANGELOG.md", "../http3/README.md", "../contrib/*/README.md", "../examples/*/README.md",
}

// allDocuments returns the documents that programmers read, without those about measurements.
func allDocuments(t *testing.T) []string {
	t.Helper()
	files := documents(t)
	for _, pattern := range documentsOfModules {
		found := filesIn(t, "", pattern)
		if len(found) == 0 {
			t.Fatalf("%s matches nothing", pattern)
		}
		files = append(files, found...)
	}
	return files
}

// snippets returns the blocks that are marked as Go, and the code in tables with a
// column for this module or net/http.
func snippets(t *testing.T) (found []snippet) {
	t.Helper()
	for _, name := range allDocuments(t) {
		marked, _ := blocksOf(t, name)
		found = append(found, marked...)
		found = append(found, snippetsOfTables(t, name)...)
	}
	return found
}

// blocksOf returns the blocks of a document that are marked as Go, and the ones without a mark.
func blocksOf(t *testing.T, name string) (marked, unmarked []snippet) {
	t.Helper()
	var block *snippet
	var mark string
	for i, line := range strings.Split(read(t, name), "\n") {
		switch {
		case block == nil && strings.HasPrefix(line, "```"):
			block, mark = &snippet{file: name, line: i + 2}, line[len("```"):]
		case block == nil:
		case line != "```":
			block.text += line + "\n"
		default:
			switch mark {
			case "go":
				marked = append(marked, *block)
			case "":
				unmarked = append(unmarked, *block)
			}
			block = nil
		}
	}
	if block != nil {
		t.Errorf("%s: the block does not end", block)
	}
	return marked, unmarked
}

// snippetsOfTables returns the code in the tables of a document.
func snippetsOfTables(t *testing.T, name string) (found []snippet) {
	t.Helper()
	var columns []string
	for i, line := range strings.Split(read(t, name), "\n") {
		if !strings.HasPrefix(line, "|") {
			columns = nil
			continue
		}
		if columns == nil {
			columns = cells(line)
			continue
		}
		for j, cell := range cells(line) {
			code := strings.Trim(cell, "`")
			if j < len(columns) && strings.HasSuffix(columns[j], "code") && strings.HasPrefix(cell, "`") {
				found = append(found, snippet{name, i + 1, strings.ReplaceAll(code, "` `", "\n") + "\n"})
			}
		}
	}
	return found
}

// snippetsOfComments returns the blocks of code in the comments that go doc shows of this module.
func snippetsOfComments(t *testing.T) (found []snippet) {
	t.Helper()
	for _, dir := range packageFolders(t) {
		if slices.Contains(strings.Split(filepath.ToSlash(dir), "/"), "internal") {
			continue
		}
		for _, name := range filesIn(t, dir, "*.go") {
			if !strings.HasSuffix(name, "_test.go") {
				found = append(found, snippetsOfFile(t, name)...)
			}
		}
	}
	return found
}

// snippetsOfFile returns the blocks of code in the comments of exported names, and of the package
// unless it is a program, with the line on which their comment begins.
func snippetsOfFile(t *testing.T, name string) (found []snippet) {
	t.Helper()
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, nil, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	if file.Name.Name == "main" {
		return nil
	}
	add := func(doc *ast.CommentGroup) {
		for _, block := range new(comment.Parser).Parse(doc.Text()).Content {
			if code, ok := block.(*comment.Code); ok {
				// a line of dots is for code between the parts
				text := strings.ReplaceAll(code.Text, "\n...\n", "\n")
				found = append(found, snippet{name, fset.Position(doc.Pos()).Line, text})
			}
		}
	}
	add(file.Doc)
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			if n.Name.IsExported() {
				add(n.Doc)
			}
			return false
		case *ast.GenDecl:
			if len(n.Specs) != 1 || !isUnexportedType(n.Specs[0]) {
				add(n.Doc)
			}
		case *ast.TypeSpec:
			if !n.Name.IsExported() {
				return false
			}
			add(n.Doc)
		case *ast.ValueSpec:
			add(n.Doc)
		case *ast.Field:
			add(n.Doc)
		}
		return true
	})
	return found
}

func isUnexportedType(spec ast.Spec) bool {
	typ, ok := spec.(*ast.TypeSpec)
	return ok && !typ.Name.IsExported()
}

// TestBlocksOfGoAreMarked checks that blocks of documents without a mark are not Go, which nothing
// would compile, that each entry of notCompiled is the first line of a block, and that the files of
// compiledElsewhere have their blocks.
func TestBlocksOfGoAreMarked(t *testing.T) {
	found := map[string]bool{}
	for _, name := range allDocuments(t) {
		marked, unmarked := blocksOf(t, name)
		for _, s := range unmarked {
			if _, _, err := s.source(); err == nil && notCompiled[s.first()] == "" {
				t.Errorf("%s: the block is Go, but not marked as such", s)
			}
		}
		for _, s := range slices.Concat(marked, unmarked) {
			found[s.first()] = true
			if file := compiledElsewhere[s.first()]; file != "" && !strings.Contains(oneSpace(read(t, file)), oneSpace(s.text)) {
				t.Errorf("%s: the block is not in %s", s, file)
			}
		}
	}
	for _, s := range snippetsOfComments(t) {
		found[s.first()] = true
	}
	for first := range notCompiled {
		if !found[first] {
			t.Errorf("no block begins with %q", first)
		}
	}
}

// oneSpace returns a text with single spaces instead of white space.
func oneSpace(text string) string { return strings.Join(strings.Fields(text), " ") }

// first returns the first line.
func (s snippet) first() string {
	line, _, _ := strings.Cut(s.text, "\n")
	return line
}
