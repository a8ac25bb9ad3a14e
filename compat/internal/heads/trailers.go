package heads

import "strings"

// trailers has trailer sections.
var trailers = []Head{
	{"none", "\r\n"},
	{"one", "Foo: bar\r\n\r\n"},
	{"two", "Foo: bar\r\nBaz: qux\r\n\r\nrest"},
	{"dup", "Foo: bar\r\nFoo: qux\r\n\r\n"},
	{"unannounced", "Other: x\r\n\r\n"},
	{"forbidden", "Content-Length: 5\r\n\r\n"},
	{"forbidden-te", "Transfer-Encoding: chunked\r\n\r\n"},
	{"forbidden-host", "Host: x\r\n\r\n"},
	{"bad-name", "Fo o: x\r\n\r\n"},
	{"nocolon", "Foo\r\n\r\n"},
	{"empty-name", ": x\r\n\r\n"},
	{"fold", "Foo: a\r\n b\r\n\r\n"},
	{"lf", "Foo: a\n\n"},
	{"cut", "Foo: a\r\n"},
	{"cut-2", "Foo"},
	{"empty", ""},
	{"nul", "Foo: a\x00b\r\n\r\n"},
	{"many", strings.Repeat("Foo: x\r\n", 150) + "\r\n"},
	{"long", "Foo: " + strings.Repeat("x", 5000) + "\r\n\r\n"},
}
