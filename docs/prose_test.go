package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// passage is a text that was written for readers: a comment, or a paragraph of a
// document. Each line of its text is a line of the file, without the indentation and
// the marks of a comment. Code and quotes in it are blank.
type passage struct {
	file string
	line int
	text string
}

// oneLine returns the text as one line, in which a phrase that a line break divides is
// found. Each byte has the place that it has in the text.
func (p passage) oneLine() string { return strings.ReplaceAll(p.text, "\n", " ") }

// lineAt returns the line in the file of a byte of the text.
func (p passage) lineAt(offset int) int { return p.line + strings.Count(p.text[:offset], "\n") }

// lines returns how many lines have text.
func (p passage) lines() (n int) {
	for line := range strings.SplitSeq(p.text, "\n") {
		if line != "" {
			n++
		}
	}
	return n
}

var (
	// verbatim matches code and quotes inside a sentence.
	verbatim = regexp.MustCompile("`[^`]*`|\"[^\"]*\"")
	// directive matches comments for tools.
	directive = regexp.MustCompile(`^//[a-z]+:`)
	// output matches comments that have the output of an example.
	output = regexp.MustCompile(`(?i)^\s*(?:unordered )?output:`)
)

func newPassage(file string, line int, text string) passage {
	text = verbatim.ReplaceAllStringFunc(text, func(s string) string {
		return strings.Map(func(r rune) rune {
			if r == '\n' {
				return r
			}
			return '`'
		}, s)
	})
	return passage{file, line, text}
}

// commentsIn returns the comments of a Go file. Comments for tools, and the output
// of examples, are not for readers.
func commentsIn(t *testing.T, name string, source []byte) (found []passage) {
	t.Helper()
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, source, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	for _, group := range file.Comments {
		if output.MatchString(group.Text()) {
			continue
		}
		first := fset.PositionFor(group.Pos(), false).Line
		var text strings.Builder
		at := first
		for _, comment := range group.List {
			for ; at < fset.PositionFor(comment.Pos(), false).Line; at++ {
				text.WriteByte('\n')
			}
			body := withoutMarks(comment)
			at += strings.Count(body, "\n")
			text.WriteString(body)
		}
		if text.Len() > 0 {
			found = append(found, newPassage(name, first, text.String()))
		}
	}
	return found
}

// withoutMarks returns the lines of a comment without indentation, or nothing if it is
// for tools.
func withoutMarks(comment *ast.Comment) string {
	text := comment.Text
	if directive.MatchString(text) {
		return ""
	}
	if text[1] == '/' {
		return strings.TrimSpace(text[2:])
	}
	lines := strings.Split(text[2:len(text)-2], "\n")
	for i, line := range lines {
		lines[i] = strings.TrimSpace(line)
	}
	return strings.Join(lines, "\n")
}

// paragraphsIn returns the paragraphs of a document, without blocks of code.
func paragraphsIn(name, text string) (found []passage) {
	var lines []string
	inCode := false
	at := 0
	for line := range strings.SplitSeq(text+"\n", "\n") {
		at++
		line = strings.TrimSpace(line)
		fence := strings.HasPrefix(line, "```")
		if line != "" && !fence && !inCode {
			lines = append(lines, line)
			continue
		}
		if len(lines) > 0 {
			found = append(found, newPassage(name, at-len(lines), strings.Join(lines, "\n")))
			lines = nil
		}
		inCode = inCode != fence
	}
	return found
}

// proseFolders returns the folders of this repository, of all modules.
func proseFolders(t *testing.T) []string {
	t.Helper()
	return folders(t, func(name string) bool {
		base := filepath.Base(name)
		return base == "testdata" || base[0] == '.' && base != ".ci"
	})
}

// comments returns the comments of all Go files of this repository, tests included.
func comments(t *testing.T) (found []passage) {
	t.Helper()
	for _, dir := range proseFolders(t) {
		for _, name := range filesIn(t, dir, "*.go") {
			source, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			found = append(found, commentsIn(t, fromRoot(t, name), source)...)
		}
	}
	return found
}

// paragraphs returns the paragraphs of all documents of this repository.
func paragraphs(t *testing.T) (found []passage) {
	t.Helper()
	for _, dir := range proseFolders(t) {
		for _, name := range filesIn(t, dir, "*.md") {
			found = append(found, paragraphsIn(fromRoot(t, name), read(t, name))...)
		}
	}
	return found
}

func filesIn(t *testing.T, dir, pattern string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func fromRoot(t *testing.T, name string) string {
	t.Helper()
	name, err := filepath.Rel("..", name)
	if err != nil {
		t.Fatal(err)
	}
	return filepath.ToSlash(name)
}

// TestProseIsFound checks which texts of a Go file and of a document are passages, and
// on which lines they are.
func TestProseIsFound(t *testing.T) {
	const code = `// Package a is first.
package a

//go:generate true

/*
Block has
two lines.
*/
var Block = "// not a comment" // at the end

// Quote has "a quote
// of two lines" and
//
//	code
//go:noinline
func Quote() {}

func ExampleQuote() {
	// Output:
	// text
}
`
	checkPassages(t, commentsIn(t, "a.go", []byte(code)), []passage{
		{"a.go", 1, "Package a is first."},
		{"a.go", 6, "\nBlock has\ntwo lines.\n"},
		{"a.go", 10, "at the end"},
		{"a.go", 12, "Quote has ````````\n````````````` and\n\ncode\n"},
	})
	const document = "# Title\n\nA line\nwith `code`.\n```go\ncode\n\ncode\n```\n- item\n  of two lines\n"
	checkPassages(t, paragraphsIn("a.md", document), []passage{
		{"a.md", 1, "# Title"},
		{"a.md", 3, "A line\nwith ``````."},
		{"a.md", 10, "- item\nof two lines"},
	})
}

func checkPassages(t *testing.T, got, want []passage) {
	t.Helper()
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(got):
			t.Errorf("missing: %+v", want[i])
		case i >= len(want):
			t.Errorf("too many: %+v", got[i])
		case got[i] != want[i]:
			t.Errorf("got %+v, want %+v", got[i], want[i])
		}
	}
}
