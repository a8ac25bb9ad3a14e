package peers

import (
	"context"
	"testing"

	"github.com/valyala/fasthttp"
)

// onlyHere skips a test if the module is built against the published
// version, which is known to fail it.
func onlyHere(t *testing.T, why string) {
	t.Helper()
	type contextDoer interface {
		DoContext(ctx context.Context, req *fasthttp.Request, resp *fasthttp.Response) error
	}
	if _, ours := any(&fasthttp.Client{}).(contextDoer); !ours {
		t.Skip(why)
	}
}
