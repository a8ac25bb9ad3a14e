package docs

import (
	"fmt"
	"go/ast"
	"go/build"
	"go/doc"
	"go/doc/comment"
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// neededMost are the functions and methods of the root package that programs need most, by
// type.
var neededMost = map[string]string{
	"": `ListenAndServe ListenAndServeTLS Serve ServeFile FSHandler NewPathSlashesStripper
		CompressHandler TimeoutHandler TimeoutWithCodeHandler
		Get GetTimeout Post Do DoTimeout
		AcquireRequest AcquireResponse ReleaseRequest ReleaseResponse AcquireCookie
		AppendGzipBytes AppendHTTPDate ParseByteRange SaveMultipartFile`,
	"RequestCtx": `Method IsGet Path Host RequestURI URI QueryArgs RemoteIP UserAgent
		PostArgs PostBody RequestBodyStream FormValue FormFile MultipartForm
		UserValue SetUserValue Done
		Write WriteString SetBody SetBodyString SetBodyStream SetBodyStreamWriter
		SetStatusCode SetContentType Error NotFound Redirect SendFile TimeoutError Hijack
		SwitchProtocols PushBody OnShutdown`,
	"RequestHeader": `Peek PeekAll Set Add Del All SetMethod SetContentType ContentType
		Cookie SetCookie`,
	"ResponseHeader": `Peek Set Add Del SetContentType SetCookie DelClientCookie`,
	"Request": `SetRequestURI URI SetBody SetBodyString SetBodyRaw SetBodyStream Body
		SetTimeout`,
	"Response":   `StatusCode Body BodyUncompressed BodyStream BodyWriteTo`,
	"Args":       `Peek PeekMulti Has GetUint All Set Add Del Parse`,
	"Cookie":     `Parse SetValue SetExpire SetSameSite`,
	"URI":        `Parse Path QueryArgs FullURI Update`,
	"Server":     `ListenAndServe ListenAndServeTLS Serve ServeTLS Run Shutdown ShutdownWithContext`,
	"FS":         `NewRequestHandler`,
	"Client":     `Get GetTimeout Post Do DoTimeout DoDeadline DoContext DoRedirects`,
	"HostClient": `Do`,
}

// neededOfOthers are the functions and methods of other packages that must have an example, by the
// folder of the package.
var neededOfOthers = map[string]string{
	"accesslog":    "Log_Attach",
	"cors":         "Policy_Attach",
	"fasthttptest": "New Do Peer_Accept",
	"requestid":    "Source_Attach",
	"restart":      "Runner_Run",
	"websocket":    "Upgrader_Upgrade Upgrader_Serve Dialer_Dial Group_Broadcast",
	"sse":          "Serve Topic_Publish Read",
}

// serving are the examples that are not run, because they take a fixed port and serve until
// the program ends.
var serving = []string{
	"ListenAndServe", "ListenAndServeTLS", "Server", "Server_ListenAndServe", "Server_ListenAndServeTLS",
	"Server_Serve", "FS", "NewTLSReloader",
}

// TestCallsNeededMostHaveAnExample checks that go doc shows an example with each of these
// calls, and that the numbers in the package comment are true.
func TestCallsNeededMostHaveAnExample(t *testing.T) {
	pkg, _ := rootPackage(t)
	shown := examplesOf(pkg)
	calls := 0
	for typ, names := range neededMost {
		for name := range strings.FieldsSeq(names) {
			calls++
			name = strings.TrimPrefix(typ+"_"+name, "_")
			checkExample(t, shown, name)
		}
	}
	about := (len(shown) + 50) / 100 * 100
	want := fmt.Sprintf("Of about %d functions and methods, the %d that programs need most have an example each.", about, calls)
	if !strings.Contains(strings.Join(strings.Fields(pkg.Doc), " "), want) {
		t.Errorf("the package comment does not have: %s", want)
	}
}

// TestCallsOfOtherPackagesHaveAnExample checks the calls of neededOfOthers, and that go test runs
// their examples.
func TestCallsOfOtherPackagesHaveAnExample(t *testing.T) {
	for dir, names := range neededOfOthers {
		pkg, _ := packageIn(t, dir)
		shown := examplesOf(pkg)
		for name := range strings.FieldsSeq(names) {
			checkExample(t, shown, name)
			for _, e := range shown[name] {
				if e.Output == "" || e.Doc == "" {
					t.Errorf("%s: Example%s has no output, or no comment", dir, e.Name)
				}
			}
		}
	}
}

// examplesOf returns the examples of each function and method, such as "Client_Do".
func examplesOf(pkg *doc.Package) map[string][]*doc.Example {
	shown := map[string][]*doc.Example{}
	add := func(of string, funcs []*doc.Func) {
		for _, f := range funcs {
			shown[strings.TrimPrefix(of+"_"+f.Name, "_")] = f.Examples
		}
	}
	add("", pkg.Funcs)
	for _, typ := range pkg.Types {
		add("", typ.Funcs)
		add(typ.Name, typ.Methods)
	}
	return shown
}

// checkExample checks that a function or method is there, and has an example.
func checkExample(t *testing.T, shown map[string][]*doc.Example, name string) {
	t.Helper()
	if examples, declared := shown[name]; !declared {
		t.Errorf("there is no %s", name)
	} else if len(examples) == 0 {
		t.Errorf("there is no Example%s", name)
	}
}

// TestEveryExampleIsShown checks that go doc shows each example of the root package with a
// function, method or type, which it does not for the name of a field, and that go test runs
// each example and compares its output, unless it serves until the program ends.
func TestEveryExampleIsShown(t *testing.T) {
	pkg, written := rootPackage(t)
	shown := map[string]bool{}
	add := func(examples []*doc.Example) {
		for _, e := range examples {
			shown["Example"+e.Name] = true
			if e.Doc == "" {
				t.Errorf("Example%s has no comment", e.Name)
			}
			if (e.Output == "") != slices.Contains(serving, e.Name) {
				t.Errorf("Example%s: it has the output %q", e.Name, e.Output)
			}
		}
	}
	add(pkg.Examples)
	for _, f := range pkg.Funcs {
		add(f.Examples)
	}
	for _, typ := range pkg.Types {
		add(typ.Examples)
		for _, f := range slices.Concat(typ.Funcs, typ.Methods) {
			add(f.Examples)
		}
	}
	for _, name := range written {
		if !shown[name] {
			t.Errorf("go doc does not show %s", name)
		}
	}
	if len(written) < 60 {
		t.Errorf("only %d examples found", len(written))
	}
}

// TestLinksOfThePackageCommentLead checks that each name in brackets is declared: go doc shows
// another as plain text.
func TestLinksOfThePackageCommentLead(t *testing.T) {
	pkg, _ := rootPackage(t)
	links := 0
	check := func(texts []comment.Text) {
		for _, text := range texts {
			switch text := text.(type) {
			case *comment.DocLink:
				links++
			case comment.Plain:
				if m := regexp.MustCompile(`\[[*A-Z][\w.]*\]`).FindString(string(text)); m != "" {
					t.Errorf("%s leads nowhere", m)
				}
			}
		}
	}
	var blocks func(all []comment.Block)
	blocks = func(all []comment.Block) {
		for _, block := range all {
			switch block := block.(type) {
			case *comment.Paragraph:
				check(block.Text)
			case *comment.List:
				for _, item := range block.Items {
					blocks(item.Content)
				}
			}
		}
	}
	blocks(pkg.Parser().Parse(pkg.Doc).Content)
	if links < 50 {
		t.Errorf("only %d links", links)
	}
}

// rootPackage returns the documentation of the root package, and the names of its examples.
func rootPackage(t *testing.T) (pkg *doc.Package, examples []string) {
	t.Helper()
	return packageIn(t, "")
}

// packageIn returns the documentation of the package in a folder, and the names of its examples.
func packageIn(t *testing.T, dir string) (pkg *doc.Package, examples []string) {
	t.Helper()
	dir = filepath.Join("..", dir)
	found, err := build.ImportDir(dir, 0)
	if err != nil {
		t.Fatal(err)
	}
	fset := token.NewFileSet()
	var files []*ast.File
	for _, name := range slices.Concat(found.GoFiles, found.TestGoFiles, found.XTestGoFiles) {
		file, err := parser.ParseFile(fset, filepath.Join(dir, name), nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
		for _, decl := range file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Example") {
				examples = append(examples, f.Name.Name)
			}
		}
	}
	pkg, err = doc.NewFromFiles(fset, files, path.Join(module, strings.TrimPrefix(filepath.ToSlash(dir), "..")))
	if err != nil {
		t.Fatal(err)
	}
	return pkg, examples
}
