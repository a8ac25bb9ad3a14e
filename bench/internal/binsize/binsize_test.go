package binsize

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/valyala/fasthttp/bench/internal/rig"
)

// TestSameSourceBuiltTwiceHasOneSize builds against this tree only, so it needs no
// other modules.
func TestSameSourceBuiltTwiceHasOneSize(t *testing.T) {
	dir, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "go.mod")); err != nil {
		t.Fatal(err)
	}
	r, err := Measure(t.Context(), dir, rig.Modules{Ours: "go.mod", Upstream: "go.mod"})
	if err != nil {
		t.Fatal(err)
	}
	if r.Ours < 1<<20 || r.Ratio() != 1 || len(r.Versions) != 2 {
		t.Errorf("got %+v", r)
	}
}
