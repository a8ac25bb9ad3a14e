package http1

import (
	"strings"
	"testing"
)

func TestTargetsHaveNoFragment(t *testing.T) {
	for _, target := range []string{
		"/#", "/x#/../admin", "/?#", "/?a=b#c", "//#", "*#", "http://a/#", "http://a#", "http://a/x?y#z", "#", "/" + strings.Repeat("x", 100) + "#",
	} {
		for _, method := range []string{"GET", "OPTIONS", "CONNECT"} {
			if err := CheckTarget([]byte(method), []byte(target)); err != error(ErrTarget) {
				t.Errorf("%s %s: %v", method, target, err)
			}
		}
	}
	for _, target := range []string{"/", "/%23", "/?%23", "http://a/%23?%23"} {
		if err := CheckTarget([]byte("GET"), []byte(target)); err != nil {
			t.Errorf("%s: %v", target, err)
		}
	}
}
