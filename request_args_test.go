package fasthttp

import (
	"errors"
	"strings"
	"testing"
)

func argsRequest(body string) *Request {
	req := new(Request)
	req.Header.SetContentType("application/x-www-form-urlencoded; charset=utf-8")
	req.SetBodyString(body)
	return req
}

func TestFormsHaveABoundOfArguments(t *testing.T) {
	for _, tc := range []struct {
		args int
		want error
	}{{0, nil}, {1, nil}, {maxFormArgs, nil}, {maxFormArgs + 1, ErrTooManyFormArgs}, {2 << 20, ErrTooManyFormArgs}} {
		body := strings.TrimSuffix(strings.Repeat("a&", tc.args), "&")
		req := argsRequest(body)
		if req.BodyError() != nil {
			t.Errorf("%d arguments: an error before they are asked for", tc.args)
		}
		args := req.PostArgs()
		want := tc.args
		if tc.want != nil {
			want = 0
		}
		if err := req.BodyError(); !errors.Is(err, tc.want) || args.Len() != want {
			t.Errorf("%d arguments: %d are there, error %v", tc.args, args.Len(), err)
		}
		if tc.want != nil && cap(args.list.Block)+cap(args.list.Entries) > 0 {
			t.Errorf("%d arguments: they take memory", tc.args)
		}
		if string(req.Body()) != body {
			t.Errorf("%d arguments: the body is not there", tc.args)
		}
		copied := new(Request)
		req.CopyTo(copied)
		if copied.PostArgs().Len() != want || !errors.Is(copied.BodyError(), tc.want) {
			t.Errorf("%d arguments: the copy has %d, error %v", tc.args, copied.PostArgs().Len(), copied.BodyError())
		}
		req.SetBodyString("b=c")
		if req.BodyError() != nil || req.PostArgs().Len() != 1 || req.BodyError() != nil {
			t.Errorf("%d arguments: those of the next body are %q, %v", tc.args, req.PostArgs(), req.BodyError())
		}
	}
}

// The memory of a large form is released when its request ends: an idle connection, or a
// context in a pool, keeps none of it.
func TestMemoryOfFormArgumentsIsGivenBack(t *testing.T) {
	for name, body := range map[string]string{
		"many arguments": strings.Repeat("a&", maxFormArgs-1),
		"a large one":    "a=" + strings.Repeat("x", 1<<20),
	} {
		req := argsRequest(body)
		req.PostArgs().Add("more", "of it")
		_ = req.PostArgs().QueryString()
		args := req.PostArgs()
		req.Reset()
		if n := cap(args.list.Block) + cap(args.query); n > maxKeptArgsBytes || cap(args.list.Entries) > maxKeptArgsEntries {
			t.Errorf("%s: %d bytes and %d entries are kept", name, n, cap(args.list.Entries))
		}
	}
	req := argsRequest("a=b")
	args := req.PostArgs()
	req.Reset()
	if cap(args.list.Block) == 0 {
		t.Error("the memory of a small form is not kept")
	}
}
