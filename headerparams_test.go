package fasthttp

import (
	"bytes"
	"fmt"
	"mime"
	"strings"
	"testing"

	"github.com/valyala/fasthttp/internal/ascii"
)

func paramsText(b []byte) string {
	var words []string
	VisitHeaderParams(b, func(key, value []byte) bool {
		words = append(words, fmt.Sprintf("%s=%q", key, value))
		return true
	})
	return strings.Join(words, " ")
}

func TestHeaderParams(t *testing.T) {
	for in, want := range map[string]string{
		"": "", ";": "", "text/html": "", "a=b": "", "a=b; c=d": `c="d"`,
		"text/html; charset=utf-8":              `charset="utf-8"`,
		"; charset=utf-8":                       `charset="utf-8"`,
		"x; a=b; c=d":                           `a="b" c="d"`,
		"x;a=b;c=d;":                            `a="b" c="d"`,
		"x ;\ta=b\t;\tc=d":                      `a="b" c="d"`,
		"x; A=B":                                `A="B"`,
		"x; a*=UTF-8''b; c=d":                   `a*="UTF-8''b" c="d"`,
		"multipart/form-data; boundary=----x":   `boundary="----x"`,
		";;a=b; ;c=d;;":                         `a="b" c="d"`,
		`x; a="b c"; d=e`:                       `a="b c" d="e"`,
		`x; a="b;c"; d=e`:                       `a="b;c" d="e"`,
		`x; a=""; b=c`:                          `a="" b="c"`,
		`x; a="b\"c\\d\x"; e=f`:                 `a="b\\\"c\\\\d\\x" e="f"`,
		"x; a=\"\xff\"; c=d":                    `a="\xff" c="d"`,
		"x; a=b c; d=e":                         `a="b" d="e"`,
		"x; a=b,c; d=e":                         `a="b" d="e"`,
		"x; a=b/c=d":                            `a="b"`,
		`x; a="b"c; d=e`:                        `a="b" d="e"`,
		"x; a=b; c; d=e":                        `a="b"`,
		"x; a=b; c=; d=e":                       `a="b"`,
		"x; a=b; =c; d=e":                       `a="b"`,
		"x; a=b; c =d; e=f":                     `a="b"`,
		"x; a=b; c= d; e=f":                     `a="b"`,
		"x; a=b; c=@d; e=f":                     `a="b"`,
		"x; a=b; c(=d; e=f":                     `a="b"`,
		`x; a=b; c="d`:                          `a="b"`,
		`x; a=b; c="d\"`:                        `a="b"`,
		`x; a=b; c="d\`:                         `a="b"`,
		`x; a=b; c="`:                           `a="b"`,
		"x; a=b; c":                             `a="b"`,
		`form-data; name="a"; filename="x.txt"`: `name="a" filename="x.txt"`,
	} {
		if got := paramsText([]byte(in)); got != want {
			t.Errorf("%q: %s, want %s", in, got, want)
		}
	}
}

func TestHeaderParamsEndWhereTheCallerSays(t *testing.T) {
	n := 0
	VisitHeaderParams([]byte("x; a=b; c=d; e=f"), func(key, value []byte) bool {
		n++
		return string(key) != "c"
	})
	if n != 2 {
		t.Errorf("%d parameters", n)
	}
}

func TestHeaderParamsDoNotAllocate(t *testing.T) {
	src, n := []byte(`form-data; name="a"; filename="x.txt"`), 0
	allocs := testing.AllocsPerRun(100, func() {
		VisitHeaderParams(src, func(key, value []byte) bool {
			n += len(value)
			return true
		})
	})
	if allocs != 0 || n == 0 {
		t.Errorf("%v allocations", allocs)
	}
}

func FuzzVisitHeaderParams(f *testing.F) {
	for _, s := range []string{"text/html; charset=utf-8", `x; a="b\"c"; d=e`, ";;a=b", `x;a="b\`, "x; a = b"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		params := map[string]string{}
		VisitHeaderParams(src, func(key, value []byte) bool {
			if len(key) == 0 || !bytes.Contains(src, key) || !bytes.Contains(src, value) {
				t.Fatalf("%q: %q=%q", src, key, value)
			}
			params[strings.ToLower(string(key))] = string(value)
			return true
		})
		_, want, err := mime.ParseMediaType(string(src))
		// mime takes any Unicode white space for white space of HTTP
		odd := func(r rune) bool { return r < ' ' || r > '~' }
		if err != nil || bytes.ContainsAny(src, "\\*\" ") || bytes.ContainsFunc(src, odd) {
			return
		}
		for key, value := range want {
			if !ascii.IsToken([]byte(key)) || !ascii.IsToken([]byte(value)) {
				// a token in mail may have braces
				return
			}
		}
		for key, value := range want {
			if params[key] != value {
				t.Fatalf("%q: %q, mime says %q", src, params, want)
			}
		}
	})
}
