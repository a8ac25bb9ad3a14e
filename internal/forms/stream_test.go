package forms

import (
	"mime/multipart"
	"strings"
	"testing"

	"github.com/valyala/fasthttp/internal/bodyio"
	"github.com/valyala/fasthttp/internal/servertest"
)

func newTestStream() (*Stream, *multipart.Form) {
	form := &multipart.Form{Value: map[string][]string{"a": {strings.Repeat("x", 1<<20)}}}
	return NewStream(form, "b", func(any) error { return nil }), form
}

// A call may end before the goroutine that sends the form has begun to read.
func TestClosedStreamStartsNothing(t *testing.T) {
	s, _ := newTestStream()
	servertest.Must(t, s.Close())
	if n, err := s.Read(make([]byte, 1)); n != 0 || err != bodyio.ErrClosed {
		t.Errorf("got %d bytes, %v", n, err)
	}
	if s.r != nil {
		t.Error("there is a producer, which nothing ends")
	}
}

// The form belongs to the caller again once the stream was closed, whatever a reader does.
func TestClosedStreamReadsNothing(t *testing.T) {
	for range 20 {
		s, form := newTestStream()
		begun, read := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(read)
			close(begun)
			_, _ = s.Read(make([]byte, 1))
		}()
		servertest.Receive(t, "the beginning of reading", begun)
		servertest.Must(t, s.Close())
		form.Value["a"] = nil
		servertest.Receive(t, "the end of reading", read)
	}
}
