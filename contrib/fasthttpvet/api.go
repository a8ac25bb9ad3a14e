package fasthttpvet

import (
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/ssa"
)

const fasthttpPath = "github.com/valyala/fasthttp"

// fiberPaths are the import paths of Fiber, by version.
var fiberPaths = []string{"github.com/gofiber/fiber", "github.com/gofiber/fiber/v2", "github.com/gofiber/fiber/v3"}

// messageTypes are the types of fasthttp that belong to a request if they were obtained from
// its context.
var messageTypes = []string{"Request", "Response", "RequestHeader", "ResponseHeader", "Args", "URI", "Cookie"}

// namedType returns the package and the name of a type or of a pointer to it.
func namedType(t types.Type) (path, name string) {
	t = types.Unalias(t)
	if p, ok := t.(*types.Pointer); ok {
		t = types.Unalias(p.Elem())
	}
	n, ok := t.(*types.Named)
	if !ok || n.Obj().Pkg() == nil {
		return "", ""
	}
	return n.Obj().Pkg().Path(), n.Obj().Name()
}

func isFiber(path string) bool { return slices.Contains(fiberPaths, path) }

// isContext reports whether a value of type t is the context of a request: that of fasthttp or
// Fiber, or a pointer to a struct that embeds one.
func isContext(t types.Type) bool {
	path, name := namedType(t)
	_, pointer := types.Unalias(t).(*types.Pointer)
	switch {
	case path == fasthttpPath:
		return name == "RequestCtx" && pointer
	case isFiber(path):
		if name == "Ctx" {
			return pointer || types.IsInterface(t)
		}
		return name == "DefaultCtx" && pointer || name == "CustomCtx"
	}
	return pointer && embedsContext(t)
}

func embedsContext(t types.Type) bool {
	p, ok := types.Unalias(t).(*types.Pointer)
	if !ok {
		return false
	}
	s, ok := p.Elem().Underlying().(*types.Struct)
	if !ok {
		return false
	}
	for field := range s.Fields() {
		if !field.Embedded() {
			continue
		}
		path, name := namedType(field.Type())
		if path == fasthttpPath && name == "RequestCtx" || isFiber(path) && (name == "Ctx" || name == "DefaultCtx") {
			return true
		}
	}
	return false
}

// isMessage reports whether t, or the type that it points to, is one of messageTypes.
func isMessage(t types.Type) bool {
	path, name := namedType(t)
	return path == fasthttpPath && slices.Contains(messageTypes, name)
}

// isHandler reports whether f is called with a context alone, as handlers are.
func isHandler(f *ssa.Function) bool {
	params, results := f.Signature.Params(), f.Signature.Results()
	if params.Len() != 1 || !isContext(params.At(0).Type()) || results.Len() > 1 {
		return false
	}
	return results.Len() == 0 || isError(results.At(0).Type())
}

var errorType = types.Universe.Lookup("error").Type()

func isError(t types.Type) bool { return types.Identical(t, errorType) }

func isBytes(t types.Type) bool {
	s, ok := t.Underlying().(*types.Slice)
	return ok && isByte(s.Elem())
}

func isByte(t types.Type) bool {
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Kind() == types.Uint8
}

func isString(t types.Type) bool {
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&types.IsString != 0
}

// carries reports whether a value of type t can refer to the memory of a request. Errors do
// not count: errors of parsers hold pieces of text, which are worth no report.
func carries(t types.Type) bool { return carriesWithin(t, 4) }

func carriesWithin(t types.Type, depth int) bool {
	if depth == 0 || isContext(t) || isMessage(t) {
		return true
	}
	if path, name := namedType(t); path == "time" || path == "net/netip" || path == "reflect" && name == "Type" {
		return false
	}
	if isError(t) {
		return false
	}
	switch u := t.Underlying().(type) {
	case *types.Basic:
		return isString(u) || u.Kind() == types.UnsafePointer
	case *types.Slice:
		return isByte(u.Elem()) || carriesWithin(u.Elem(), depth-1)
	case *types.Array:
		return carriesWithin(u.Elem(), depth-1)
	case *types.Pointer:
		return isByte(u.Elem()) || carriesWithin(u.Elem(), depth-1)
	case *types.Map:
		return carriesWithin(u.Key(), depth-1) || carriesWithin(u.Elem(), depth-1)
	case *types.Struct:
		for field := range u.Fields() {
			if carriesWithin(field.Type(), depth-1) {
				return true
			}
		}
		return false
	}
	return true
}

// callee returns the function or method that a call names, or nil.
func callee(c *ssa.CallCommon) *types.Func {
	if c.IsInvoke() {
		return c.Method
	}
	f := c.StaticCallee()
	if f == nil {
		return nil
	}
	if f.Origin() != nil {
		f = f.Origin()
	}
	obj, _ := f.Object().(*types.Func)
	return obj
}

// receiverAndArgs returns the receiver of a method call, and the arguments after it.
func receiverAndArgs(c *ssa.CallCommon) (ssa.Value, []ssa.Value) {
	if c.IsInvoke() {
		return c.Value, c.Args
	}
	if c.Signature().Recv() != nil && len(c.Args) > 0 {
		return c.Args[0], c.Args[1:]
	}
	return nil, c.Args
}

// values returns all values that a call passes to its function: the receiver comes first.
func values(c *ssa.CallCommon) []ssa.Value {
	if c.IsInvoke() {
		return append([]ssa.Value{c.Value}, c.Args...)
	}
	return c.Args
}

// isAPI reports whether f belongs to fasthttp or Fiber, so that its name tells its effect.
func isAPI(f *types.Func) bool {
	return f != nil && f.Pkg() != nil && (f.Pkg().Path() == fasthttpPath || isFiber(f.Pkg().Path()))
}

// copies are results of fasthttp and Fiber that are not memory of the request.
var copies = map[string]bool{
	"BodyGunzip": true, "BodyInflate": true, "BodyUnbrotli": true, "BodyUnzstd": true,
	"SwapBody": true, "RemoteIP": true, "String": true, "Method": true, "Protocol": true, "Scheme": true,
	"IP": true, "Port": true, "GetRouteURL": true, "Accepts": true, "AcceptsCharsets": true,
	"AcceptsEncodings": true, "AcceptsLanguages": true, "AcceptsLanguagesExtended": true, "ClientOperatingSystem": true,
	"Context": false,
}

// lends reports whether a result of type t of the function f of fasthttp or Fiber is memory of
// its receiver. With immutable, strings of Fiber are copies.
func lends(f *types.Func, t types.Type, immutable bool) bool {
	if copies[f.Name()] {
		return false
	}
	fiber := isFiber(f.Pkg().Path())
	if f.Signature().Recv() == nil {
		return fiber && !immutable && isString(t) && slices.Contains([]string{"Query", "Params", "GetReqHeader"}, f.Name())
	}
	if path, name := namedType(f.Signature().Recv().Type()); !isContext(f.Signature().Recv().Type()) && !isMessage(f.Signature().Recv().Type()) &&
		!(isFiber(path) && (name == "Req" || name == "Res" || name == "DefaultReq" || name == "DefaultRes")) {
		return false
	}
	if isBytes(t) {
		path, _ := namedType(t)
		return path == "" && !(fiber && immutable)
	}
	if isContext(t) || isMessage(t) {
		return true
	}
	switch path, name := namedType(t); {
	case path == "mime/multipart":
		return true
	case path == "io":
		return name == "Reader" && strings.HasSuffix(f.Name(), "BodyStream")
	case path == "iter":
		return true
	case isFiber(path):
		return name == "Req" || name == "Res"
	}
	switch u := t.Underlying().(type) {
	case *types.Basic:
		return fiber && !immutable && isString(u)
	case *types.Slice:
		return isBytes(u.Elem()) || fiber && !immutable && isString(u.Elem())
	case *types.Map:
		return fiber && !immutable && isString(u.Key())
	}
	return false
}

// fills are the methods of Fiber v2 that set the strings of their argument to memory of the
// request.
var fills = map[string]bool{"QueryParser": true, "ParamsParser": true, "ReqHeaderParser": true, "CookieParser": true}

// isCopier reports whether the results of f never refer to its arguments.
func isCopier(f *types.Func) bool {
	if f.Pkg() == nil || f.Signature().Recv() != nil {
		return false
	}
	path := f.Pkg().Path()
	utils := strings.HasPrefix(path, "github.com/gofiber/utils") || path == "github.com/gofiber/fiber/v2/utils"
	return utils && strings.HasPrefix(f.Name(), "Copy")
}

// aliasing are the functions of the standard library whose results may refer to their
// arguments, by package: each is the start of names. Functions of bytes and strings that copy in
// all but rare cases, such as Join, are not there.
var aliasing = map[string][]string{
	"bytes":         {"Trim", "Split", "Fields", "Cut", "NewReader", "NewBuffer"},
	"strings":       {"Trim", "Split", "Fields", "Cut", "NewReader", "ToLower", "ToUpper", "Replace"},
	"context":       {"With"},
	"bufio":         {"NewReader", "NewScanner"},
	"io":            {"NopCloser", "LimitReader", "TeeReader", "MultiReader"},
	"net":           {"SplitHostPort"},
	"net/url":       {"Parse", "QueryUnescape", "PathUnescape"},
	"path":          {"Base", "Clean", "Dir", "Ext"},
	"path/filepath": {"Base", "Clean", "Dir", "Ext"},
	"regexp":        {"Find"},
}

// aliases reports whether the results of a function of the standard library may refer to its
// arguments.
func aliases(f *types.Func) bool {
	return slices.ContainsFunc(aliasing[f.Pkg().Path()], func(start string) bool { return strings.HasPrefix(f.Name(), start) })
}

// isStandard reports whether a package is part of the standard library.
func isStandard(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return !strings.Contains(first, ".") && first != "command-line-arguments"
}

// fullName returns names such as "(*sync.Map).Store" and "time.AfterFunc".
func fullName(f *types.Func) string {
	if f == nil {
		return ""
	}
	return f.Origin().FullName()
}
