package fasthttp

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/valyala/fasthttp/internal/bodyio"
	"github.com/valyala/fasthttp/internal/servertest"
)

func TestStreamReaderGivesWhatIsProduced(t *testing.T) {
	const total = 300_000
	produce := func(w *bufio.Writer) {
		for i := range total / 10 {
			fmt.Fprintf(w, "%09d\n", i)
			if i%100 == 0 {
				_ = w.Flush()
			}
		}
	}
	var want bytes.Buffer
	buf := bufio.NewWriter(&want)
	produce(buf)
	_ = buf.Flush()

	for _, size := range []int{1, 7, 1000, 4096, 1 << 20} {
		r := NewStreamReader(produce)
		var got bytes.Buffer
		_, err := io.CopyBuffer(struct{ io.Writer }{&got}, struct{ io.Reader }{r}, make([]byte, size))
		if err != nil || !bytes.Equal(got.Bytes(), want.Bytes()) {
			t.Errorf("reads of %d bytes: %d bytes, %v", size, got.Len(), err)
		}
		for range 2 {
			if n, err := r.Read(make([]byte, 1)); n != 0 || err != io.EOF {
				t.Errorf("after the end: %d, %v", n, err)
			}
		}
		if err := r.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	}
	r := NewStreamReader(produce)
	var got bytes.Buffer
	if n, err := r.(io.WriterTo).WriteTo(&got); n != total || err != nil || !bytes.Equal(got.Bytes(), want.Bytes()) {
		t.Errorf("WriteTo: %d, %v", n, err)
	}
	_ = r.Close()

	r = NewStreamReader(func(w *bufio.Writer) { _, _ = w.WriteString("abcdef") })
	if err := iotest.TestReader(r, []byte("abcdef")); err != nil {
		t.Error(err)
	}
	_ = r.Close()
}

func TestStreamReaderOfNothing(t *testing.T) {
	r := NewStreamReader(func(*bufio.Writer) {})
	if b, err := io.ReadAll(r); len(b) > 0 || err != nil {
		t.Errorf("got %q, %v", b, err)
	}
	if n, err := r.Read(nil); n != 0 || err != nil {
		t.Errorf("empty Read: %d, %v", n, err)
	}
}

func TestStreamReaderSeesEachFlush(t *testing.T) {
	goOn := make(chan struct{}, 3)
	r := NewStreamReader(func(w *bufio.Writer) {
		for i := range 3 {
			fmt.Fprintf(w, "%d", i)
			_ = w.Flush()
			<-goOn
		}
	})
	defer r.Close()
	for i := range 3 {
		b := make([]byte, 10)
		n, err := r.Read(b)
		if string(b[:n]) != fmt.Sprint(i) || err != nil {
			t.Errorf("got %q, %v, want %d", b[:n], err, i)
		}
		goOn <- struct{}{}
	}
	if _, err := r.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("got %v in the end", err)
	}
}

func TestCloseEndsTheProducer(t *testing.T) {
	for name, write := range map[string]func(w *bufio.Writer) error{
		"waiting": func(w *bufio.Writer) error {
			_, err := w.Write(make([]byte, 10*bodyio.Window))
			return err
		},
		"flushing": func(w *bufio.Writer) error {
			for {
				_ = w.WriteByte('x')
				if err := w.Flush(); err != nil {
					return err
				}
			}
		},
	} {
		failed := make(chan error, 1)
		r := NewStreamReader(func(w *bufio.Writer) { failed <- write(w) })
		if _, err := io.ReadFull(r, make([]byte, 10)); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := r.Close(); err != nil {
				t.Errorf("Close: %v", err)
			}
		}
		if err := servertest.Receive(t, name+": end of the producer", failed); err == nil {
			t.Errorf("%s: the producer was not told", name)
		}
		// the bytes that the reader holds can be read, then reading fails
		if _, err := io.Copy(io.Discard, r); err == nil {
			t.Errorf("%s: a stream that was closed ends in order", name)
		}
	}
}

func TestProducerThatPanics(t *testing.T) {
	for name, value := range map[string]any{"a string": "a mistake", "an error": errors.New("a mistake"), "an abort": http.ErrAbortHandler} {
		r := NewStreamReader(func(w *bufio.Writer) {
			_, _ = w.WriteString("before")
			_ = w.Flush()
			panic(value)
		})
		b, err := io.ReadAll(r)
		panicked, ok := errors.AsType[*ErrBodyStreamWritePanic](err)
		if string(b) != "before" || !ok || !strings.Contains(panicked.Error(), fmt.Sprint(value)) {
			t.Errorf("%s: got %q, %v", name, b, err)
		}
		if cause, isError := value.(error); isError && !errors.Is(err, cause) {
			t.Errorf("%s: %v does not wrap it", name, err)
		}
		_ = r.Close()
	}
}

func TestProducerThatEndsItsGoroutine(t *testing.T) {
	r := NewStreamReader(func(w *bufio.Writer) {
		_, _ = w.WriteString("before")
		_ = w.Flush()
		runtime.Goexit()
	})
	defer r.Close()
	if b, err := io.ReadAll(r); string(b) != "before" || err == nil {
		t.Errorf("got %q, %v, want an error", b, err)
	}
}

func TestStreamReadersLeaveNoGoroutine(t *testing.T) {
	before := runtime.NumGoroutine()
	for range 50 {
		r := NewStreamReader(func(w *bufio.Writer) {
			for {
				if _, err := w.WriteString("x"); err != nil {
					return
				}
			}
		})
		_, _ = io.ReadFull(r, make([]byte, 100))
		_ = r.Close()
	}
	servertest.Eventually(t, "as many goroutines as before", func() bool { return runtime.NumGoroutine() <= before })
}

// The error of a stream that panics does not have the stack, so the server logs it.
func TestServerLogsWhereAStreamPanics(t *testing.T) {
	forEachEngine(t, func(t *testing.T, start starter) {
		log := &servertest.Log{}
		ts := start(&Server{Logger: log, Handler: func(ctx *RequestCtx) {
			ctx.SetBodyStream(servertest.ReadFunc(func([]byte) (int, error) { panic("a mistake") }), -1)
		}})
		ts.Dial().Send(servertest.Get("/"))
		log.WaitFor(t, "cannot write the response", "panic while writing body stream: a mistake\n", "stream_test.go")
	})
}
