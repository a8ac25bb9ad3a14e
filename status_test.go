package fasthttp

import (
	"net/http"
	"slices"
	"testing"
)

// The standard library has other texts for some codes, and one more code.
var statusTextsUnlikeNetHTTP = map[int]string{
	StatusNonAuthoritativeInfo: "Non-Authoritative Information",
	http.StatusTooEarly:        "Unknown Status Code",
}

func TestStatusMessageOfEveryCode(t *testing.T) {
	for code := range 1001 {
		want, special := statusTextsUnlikeNetHTTP[code]
		if !special {
			want = http.StatusText(code)
		}
		if want == "" {
			want = "Unknown Status Code"
		}
		if got := StatusMessage(code); got != want {
			t.Errorf("StatusMessage(%d) = %q, want %q", code, got, want)
		}
	}
}

func TestStatusMessageOutOfRange(t *testing.T) {
	for _, code := range []int{-1 << 62, -1, 512, 600, 999, 1 << 62} {
		if got := StatusMessage(code); got != "Unknown Status Code" {
			t.Errorf("StatusMessage(%d) = %q", code, got)
		}
	}
}

func TestStatusCodeIsRedirectOnlyWhereLocationIsFollowed(t *testing.T) {
	redirects := []int{301, 302, 303, 307, 308}
	for code := -1; code < 1000; code++ {
		if got, want := StatusCodeIsRedirect(code), slices.Contains(redirects, code); got != want {
			t.Errorf("StatusCodeIsRedirect(%d) = %v, want %v", code, got, want)
		}
	}
}

func TestStatusMessageAllocatesNothing(t *testing.T) {
	n := testing.AllocsPerRun(100, func() {
		for code := range 600 {
			if StatusMessage(code) == "" {
				t.Fatal("empty text")
			}
		}
	})
	if n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
}
