package fasthttp

import (
	"testing"

	"github.com/valyala/fasthttp/internal/servertest"
)

func TestSizesThatTestsKnowAreThoseOfTheServer(t *testing.T) {
	for name, sizes := range map[string][2]int{
		"drainLimit":        {drainLimit, servertest.DrainLimit},
		"flushSize":         {flushSize, servertest.FlushSize},
		"copyLimit":         {copyLimit, servertest.CopyLimit},
		"defaultBodyMemory": {defaultBodyMemory, servertest.DefaultBodyMemory},
		"uncountedBody":     {uncountedBody, servertest.UncountedBody},
	} {
		if sizes[0] != sizes[1] {
			t.Errorf("%s is %d, tests take it for %d", name, sizes[0], sizes[1])
		}
	}
}
