package heads

import (
	"fmt"
	"strings"

	"github.com/valyala/fasthttp/compat/internal/ops"
)

// hostile has strings that must not escape from their place in a head.
var hostile = []string{
	"", " ", "a\r\nX: y", "a\nX: y", "a\rX: y", "a\r\n\r\nbody", "a\x00b", "\x00", "\r", "\n", "\r\n",
	" lead", "trail ", "\ttab\t", "a\tb", "a  b", "\x01\x1f\x7f", "\x80\xff", "é", "日本", "a:b", "a;b", "a,b", "a=b", "\"q\"", "\\", "(c)", "{}", "a/b?c#d", "%0d%0a", "%00", "\r\n folded", "\r\n\tfolded", "a\u0085b", "a\u2028b",
	strings.Repeat("x", 300),
}

// Hostile passes every hostile string to every setter: to the setters of all fields, to those that own
// returns, and to Set with each of the names.
func (p *Program[H, P]) Hostile(own func(s string) []ops.Sequence, names ...string) {
	for i, s := range hostile {
		label := fmt.Sprintf("%d-%s", i, s)
		if len(s) > 20 {
			label = fmt.Sprintf("%d-long", i)
		}
		rows := []ops.Sequence{
			{"name", []op{{"Set", s, "v"}}},
			{"name-add", []op{{"Add", "a" + s, "v"}}},
			{"value", []op{{"Set", "Foo", s}}},
			{"value-add", []op{{"Add", "Foo", s}, {"Add", "Foo", s}}},
			{"canonical", []op{{"SetCanonical", s, s}}},
			{"no-normalise", []op{{"DisableNormalizing"}, {"Set", "x" + s, s}}},
		}
		rows = append(rows, own(s)...)
		for _, name := range names {
			rows = append(rows, ops.Sequence{ID: "Set " + name, Ops: []op{{"Set", name, s}}})
		}
		for _, row := range rows {
			p.Brief("hostile/"+row.ID+"/"+label, row.Ops)
		}
	}
}

// Setters returns a call of each of the setters.
func Setters(s string, names ...string) (rows []ops.Sequence) {
	for _, name := range names {
		rows = append(rows, ops.Sequence{ID: name, Ops: []op{{name, s}}})
	}
	return rows
}

// Special sets, adds, sets again and deletes every well-known name. own returns more calls with a
// name and two values for it.
func (p *Program[H, P]) Special(names []string, own func(n, v1, v2 string) []ops.Sequence) {
	for _, n := range names {
		v1, v2 := "v1", "v2"
		switch n {
		case "Content-Length":
			v1, v2 = "11", "22"
		case "Connection":
			v1, v2 = "keep-alive", "close"
		case "Transfer-Encoding":
			v1, v2 = "chunked", "identity"
		}
		lower, upper := strings.ToLower(n), strings.ToUpper(n)
		p.Sequence("special/"+n, []op{
			{"Set", n, v1}, {"Peek", n}, {"Set", lower, v2}, {"Peek", upper}, {"Add", n, v1}, {"PeekAll", n}, {"Len"}, {"Del", lower}, {"Peek", n},
		})
		p.Brief("special-raw/"+n, []op{{"DisableNormalizing"}, {"Add", lower, v1}, {"Add", n, v2}, {"Peek", n}, {"PeekAll", lower}, {"Del", n}})
		for _, row := range own(n, v1, v2) {
			p.Brief(row.ID+"/"+n, row.Ops)
		}
	}
}
