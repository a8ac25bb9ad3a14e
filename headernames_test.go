package fasthttp

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
	"testing"

	"github.com/valyala/fasthttp/internal/ascii"
)

// headerConstants reads the constants from the source, so that it includes constants
// that are added later.
func headerConstants(t *testing.T) map[string]string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "headernames.go", nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]string{}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		value, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
		if err != nil {
			t.Fatal(err)
		}
		names[spec.Names[0].Name] = value
		return true
	})
	if len(names) < 100 {
		t.Fatalf("only %d header names found in the source", len(names))
	}
	return names
}

func TestHeaderNamesAreDistinctTokens(t *testing.T) {
	seen := map[string]string{}
	for name, value := range headerConstants(t) {
		if !ascii.IsToken([]byte(value)) {
			t.Errorf("%s = %q is not a field name", name, value)
		}
		folded := strings.ToLower(value)
		if other := seen[folded]; other != "" {
			t.Errorf("%s and %s are both %q", name, other, value)
		}
		seen[folded] = name
	}
}

func TestHeaderConstantsAreSpelledLikeTheirFields(t *testing.T) {
	for name, value := range headerConstants(t) {
		if want := "Header" + strings.ReplaceAll(value, "-", ""); name != want {
			t.Errorf("the constant of %q is %s, want %s", value, name, want)
		}
	}
}
