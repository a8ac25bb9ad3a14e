package fasthttp

import (
	"io"
	"strings"
	"testing"
)

// unreadable is a stream that must not be read.
type unreadable struct{ t *testing.T }

func (u unreadable) Read([]byte) (int, error) {
	u.t.Error("the stream was read")
	return 0, io.EOF
}

func TestBodySizeReadsNoStream(t *testing.T) {
	for name, tc := range map[string]struct {
		set  func(resp *Response)
		want int
	}{
		"nothing":         {func(*Response) {}, 0},
		"text":            {func(resp *Response) { resp.SetBodyString("hello") }, 5},
		"appended":        {func(resp *Response) { resp.AppendBodyString("hello"); resp.AppendBodyString("!") }, 6},
		"raw":             {func(resp *Response) { resp.SetBodyRaw([]byte("raw")) }, 3},
		"known size":      {func(resp *Response) { resp.SetBodyStream(unreadable{t}, 7) }, 7},
		"empty stream":    {func(resp *Response) { resp.SetBodyStream(unreadable{t}, 0) }, 0},
		"unknown size":    {func(resp *Response) { resp.SetBodyStream(unreadable{t}, -1) }, -1},
		"until the close": {func(resp *Response) { resp.SetBodyStream(unreadable{t}, -2) }, -1},
		"limited":         {func(resp *Response) { resp.SetBodyStream(&io.LimitedReader{R: unreadable{t}, N: 9}, -1) }, 9},
		"not sent":        {func(resp *Response) { resp.SetBodyString("hello"); resp.SkipBody = true }, 5},
		"reset": {func(resp *Response) {
			resp.SetBodyStream(unreadable{t}, 7)
			resp.ResetBody()
		}, 0},
		"read": {func(resp *Response) {
			resp.SetBodyStream(strings.NewReader("all of it"), -1)
			resp.Body()
		}, 9},
	} {
		var resp Response
		tc.set(&resp)
		if got := resp.BodySize(); got != tc.want {
			t.Errorf("%s: the size is %d, want %d", name, got, tc.want)
		}
	}
}
