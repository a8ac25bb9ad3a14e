package docs

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// packages are the packages that snippets may use without an import, by name. A
// snippet imports all others itself.
var packages = map[string]string{
	"bufio": "bufio", "bytes": "bytes", "context": "context", "errors": "errors", "expvar": "expvar", "fmt": "fmt",
	"http": "net/http", "netip": "net/netip", "io": "io", "iter": "iter", "json": "encoding/json", "log": "log", "net": "net", "os": "os",
	"signal": "os/signal", "slices": "slices", "slog": "log/slog", "strings": "strings", "strconv": "strconv",
	"sync": "sync", "syscall": "syscall", "testing": "testing", "time": "time", "tls": "crypto/tls", "x509": "crypto/x509",
	"filepath": "path/filepath", "httptest": "net/http/httptest", "httptrace": "net/http/httptrace", "url": "net/url",
	"cookiejar": "net/http/cookiejar", "fs": "io/fs", "httputil": "net/http/httputil",

	"fasthttp":        module,
	"accesslog":       module + "/accesslog",
	"cors":            module + "/cors",
	"requestid":       module + "/requestid",
	"expvarhandler":   module + "/expvarhandler",
	"fasthttpadaptor": module + "/fasthttpadaptor",
	"fasthttptest":    module + "/fasthttptest",
	"sse":             module + "/sse",
	"fasthttpproxy":   module + "/fasthttpproxy",
	"fasthttputil":    module + "/fasthttputil",
	"pprofhandler":    module + "/pprofhandler",
	"prefork":         module + "/prefork",
	"restart":         module + "/restart",
	"reuseport":       module + "/reuseport",
	"websocket":       module + "/websocket",
}

const module = "github.com/valyala/fasthttp"

// placeholders are names that snippets use and do not declare, because a reader knows what they are,
// with their types.
var placeholders = map[string]string{
	"file":     "io.Writer",
	"next":     "fasthttp.RequestHandler",
	"proxies":  "[]netip.Prefix",
	"save":     "func([]byte)",
	"shutDown": "chan error",
	"source":   "func(context.Context) iter.Seq[[]byte]",
	"t":        "*testing.T",
}

// surroundings are the declarations before statements.
const surroundings = `func _(
	ctx *fasthttp.RequestCtx, handler fasthttp.RequestHandler, server *fasthttp.Server, ln net.Listener,
	client *fasthttp.Client, req *fasthttp.Request, resp *fasthttp.Response,
	w http.ResponseWriter, r *http.Request, netHandler http.Handler, netServer *http.Server,
	netClient *http.Client, netReq *http.Request, netResp *http.Response, url string, body []byte, err error,
	upgrader *websocket.Upgrader, dialer *websocket.Dialer, conn *websocket.Conn, socket *websocket.Socket, group *websocket.Group,
) `

// snippet is a piece of Go code in a document.
type snippet struct {
	file string
	line int
	text string
}

func (s snippet) String() string { return fmt.Sprintf("%s:%d", s.file, s.line) }

// TestSnippetsCompile puts the snippets into a module that uses this one, and runs
// go vet. A snippet is a file, declarations, or statements.
func TestSnippetsCompile(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs the go command")
	}
	dir := moduleFolder(t)
	all := slices.DeleteFunc(append(snippets(t), snippetsOfComments(t)...), func(s snippet) bool { return notCompiled[s.first()] != "" })
	if len(all) < 300 {
		t.Errorf("only %d snippets found", len(all))
	}
	for i, s := range all {
		source, alone, err := s.source()
		if err != nil {
			t.Errorf("%s: %v", s, err)
			continue
		}
		// statements of several snippets can share a package
		pkg := "statements"
		if alone {
			pkg = fmt.Sprintf("snippet%03d", i)
		}
		if err := os.MkdirAll(filepath.Join(dir, pkg), 0o700); err != nil {
			t.Fatal(err)
		}
		name := filepath.Join(dir, pkg, fmt.Sprintf("snippet%03d_test.go", i))
		if err := os.WriteFile(name, []byte(source), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), "go", "vet", "./...")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// moduleFolder makes a module that requires this module and its requirements.
func moduleFolder(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(string(mod), "module "+module+"\n", "module snippets\n", 1)
	if text == string(mod) {
		t.Fatal("go.mod does not name the module")
	}
	text += fmt.Sprintf("\nrequire %s v1.77.0\n\nreplace %[1]s => %s\n", module, root)
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	sum, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "go.sum"), sum, 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// source returns the snippet as a file. alone reports whether it needs a package of
// its own.
func (s snippet) source() (text string, alone bool, err error) {
	// errors of the compiler have the position in the document
	text = fmt.Sprintf("//line %s\n%s", s, s.text)
	if strings.HasPrefix(s.text, "package ") {
		return text, true, nil
	}
	if strings.HasPrefix(s.text, "import ") {
		return "package p\n" + text, true, nil
	}
	file, err := parse(text)
	alone = err == nil
	if alone {
		text = declarations(file) + text
	} else if text, err = inFunction(text); err != nil {
		return "", false, err
	}
	if file, err = parse(text); err != nil {
		return "", false, err
	}
	var imports strings.Builder
	for _, name := range used(file, packages) {
		fmt.Fprintf(&imports, "import %q\n", packages[name])
	}
	return "package p\n" + imports.String() + text, alone, nil
}

// inFunction returns statements within a function, which returns an error if they do.
func inFunction(text string) (string, error) {
	file, err := parse(surroundings + "{\n{\n" + text + "\n}\n}\n")
	if err != nil {
		return "", err
	}
	block := file.Decls[0].(*ast.FuncDecl).Body.List[0].(*ast.BlockStmt)
	begin, end := "{\n", "\n}\n}\n"
	_, returned := block.List[len(block.List)-1].(*ast.ReturnStmt)
	if returnsValue(block) {
		begin = "error {\n"
		if !returned {
			end = "\n}\nreturn nil\n}\n"
		}
	}
	if !returned {
		// a variable that a snippet declares may be unused
		for _, name := range declared(block) {
			text += "\n_ = " + name
		}
	}
	return surroundings + begin + declarations(file) + "{\n" + text + end, nil
}

// returnsValue reports whether a statement returns a value, other than from a function literal.
func returnsValue(block *ast.BlockStmt) (found bool) {
	ast.Inspect(block, func(n ast.Node) bool {
		if ret, ok := n.(*ast.ReturnStmt); ok && len(ret.Results) > 0 {
			found = true
		}
		_, literal := n.(*ast.FuncLit)
		return !literal
	})
	return found
}

// declarations returns declarations of the placeholders that a file uses.
func declarations(file *ast.File) string {
	var text strings.Builder
	for _, name := range used(file, placeholders) {
		fmt.Fprintf(&text, "var %s %s\n", name, placeholders[name])
	}
	return text.String()
}

func parse(text string) (*ast.File, error) {
	return parser.ParseFile(token.NewFileSet(), "", "package p\n"+text, 0)
}

// declared returns the variables that statements declare outside of any block.
func declared(block *ast.BlockStmt) []string {
	var names []string
	for _, statement := range block.List {
		if assign, ok := statement.(*ast.AssignStmt); ok && assign.Tok == token.DEFINE {
			for _, left := range assign.Lhs {
				if name := left.(*ast.Ident).Name; name != "_" {
					names = append(names, name)
				}
			}
		}
	}
	return names
}

// used returns the names of a table to which a file refers and that it does not declare.
func used(file *ast.File, table map[string]string) []string {
	names := map[string]bool{}
	for _, ident := range file.Unresolved {
		if table[ident.Name] != "" {
			names[ident.Name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// cells returns the cells of a line of a table. A bar in code is written "\|".
func cells(line string) []string {
	line = strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(line), "|"), "|")
	line = strings.ReplaceAll(line, `\|`, "\x00")
	var all []string
	for cell := range strings.SplitSeq(line, "|") {
		all = append(all, strings.TrimSpace(strings.ReplaceAll(cell, "\x00", "|")))
	}
	return all
}
