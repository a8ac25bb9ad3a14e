package files

import (
	"strings"
	"testing"

	"github.com/valyala/fasthttp/internal/field"
)

// The tests of the root package compare the conditions of requests with a model of
// RFC 9110.

func TestConditionsOfSeveralFieldLinesAreOneList(t *testing.T) {
	var fields field.List
	for _, tag := range []string{`"a"`, `"b"`} {
		fields.Add("If-None-Match", tag).ID = field.IfNoneMatch
	}
	if got := EvalPreconditions(&fields, Validator{ETag: []byte(`W/"b"`)}); got != notModified {
		t.Errorf("got %v", got)
	}
}

func FuzzEntityTags(f *testing.F) {
	for _, list := range []string{
		"*", `"a"`, `W/"a"`, `"b"`, `"b", "a"`, `"b",W/"a" , "c"`, `"b, \", "a,b"`, `, ,"a"`, `""`, "a", `"a`, `w/"a"`, `"b" nonsense "a" , *`,
	} {
		f.Add(list)
	}
	f.Fuzz(func(t *testing.T, list string) {
		var fields field.List
		fields.Add("If-Match", list).ID = field.IfMatch
		strong := matchesAny(&fields, field.IfMatch, []byte(`"a"`), strongMatch)
		weak := matchesAny(&fields, field.IfMatch, []byte(`"a"`), weakMatch)
		if strong && !weak {
			t.Fatalf("%q matches strongly, and not weakly", list)
		}
		if weak && !strings.Contains(list, `"a"`) && strings.Trim(list, " \t") != "*" {
			t.Fatalf("%q matches", list)
		}
	})
}
