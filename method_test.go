package fasthttp

import (
	"testing"

	"github.com/valyala/fasthttp/internal/ascii"
)

func TestMethodsAreDistinctUpperCaseTokens(t *testing.T) {
	methods := []string{
		MethodGet, MethodHead, MethodPost, MethodPut, MethodPatch,
		MethodDelete, MethodConnect, MethodOptions, MethodTrace, MethodQuery,
	}
	seen := map[string]bool{}
	for _, m := range methods {
		if seen[m] {
			t.Errorf("%q stands for two methods", m)
		}
		seen[m] = true
		for i := range len(m) {
			if !ascii.Is(m[i], ascii.Alpha) || ascii.Upper(m[i]) != m[i] {
				t.Errorf("%q is not in upper case letters", m)
				break
			}
		}
	}
	if len(seen) != 10 {
		t.Errorf("%d methods, want 10", len(seen))
	}
}
