package fasthttp

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/valyala/fasthttp/internal/servertest"
)

func TestBoundedStreamReaderGivesWhatIsProduced(t *testing.T) {
	want := strings.Repeat("0123456789", 50_000)
	for _, read := range []func(r io.Reader) ([]byte, error){
		io.ReadAll,
		func(r io.Reader) ([]byte, error) { return io.ReadAll(iotest.OneByteReader(r)) },
		func(r io.Reader) ([]byte, error) {
			var b bytes.Buffer
			_, err := r.(io.WriterTo).WriteTo(&b)
			return b.Bytes(), err
		},
	} {
		r := NewBoundedStreamReader(func(w *bufio.Writer) { _, _ = w.WriteString(want) })
		got, err := read(r)
		if string(got) != want || err != nil {
			t.Errorf("got %d bytes, %v", len(got), err)
		}
		if err := r.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	}
	r := NewBoundedStreamReader(func(*bufio.Writer) {})
	if b, err := io.ReadAll(r); len(b) > 0 || err != nil {
		t.Errorf("nothing is read as %q, %v", b, err)
	}
}

func TestBoundedStreamReaderKeepsWhatWasAcceptedBeforeClose(t *testing.T) {
	accepted, refused := make(chan struct{}), make(chan error, 1)
	r := NewBoundedStreamReader(func(w *bufio.Writer) {
		_, _ = w.WriteString("accepted")
		_ = w.Flush()
		close(accepted)
		for {
			_ = w.WriteByte('x')
			if err := w.Flush(); err != nil {
				refused <- err
				return
			}
		}
	})
	servertest.Receive(t, "the producer's first flush", accepted)
	for range 2 {
		if err := r.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	}
	servertest.Receive(t, "the end of the producer", refused)
	b, err := io.ReadAll(r)
	if !strings.HasPrefix(string(b), "accepted") || err != nil {
		t.Errorf("got %q, %v", b, err)
	}
}

func TestBoundedStreamReaderWaitingInReadIsClosed(t *testing.T) {
	stop := make(chan struct{})
	r := NewBoundedStreamReader(func(*bufio.Writer) { <-stop })
	read := make(chan error, 1)
	go func() {
		_, err := r.Read(make([]byte, 1))
		read <- err
	}()
	_ = r.Close()
	if err := servertest.Receive(t, "the end of Read", read); err != io.EOF {
		t.Errorf("Read: %v", err)
	}
	close(stop)
}

func TestBoundedStreamReaderWhoseProducerFails(t *testing.T) {
	mistake := errors.New("a mistake")
	r := NewBoundedStreamReader(func(w *bufio.Writer) {
		_, _ = w.WriteString("before")
		_ = w.Flush()
		panic(mistake)
	})
	defer r.Close()
	b, err := io.ReadAll(r)
	if string(b) != "before" || !errors.Is(err, mistake) {
		t.Errorf("got %q, %v", b, err)
	}
}

// TestBoundedStreamReaderAsABody checks known failures 19 and 28 for a bounded
// stream: each flush reaches the wire, a client that leaves ends the producer, and a
// panic cuts the message off.
func TestBoundedStreamReaderAsABody(t *testing.T) {
	forEachEngine(t, func(t *testing.T, start starter) {
		goOn, left := make(chan struct{}, 3), make(chan struct{}, 1)
		ts := start(&Server{Handler: func(ctx *RequestCtx) {
			path := string(ctx.Path())
			ctx.SetBodyStream(NewBoundedStreamReader(func(w *bufio.Writer) {
				for i := range 3 {
					fmt.Fprint(w, i)
					_ = w.Flush()
					<-goOn
				}
				switch path {
				case "/panic":
					panic("a mistake")
				case "/endless":
					for {
						if _, err := w.Write(make([]byte, 1000)); err != nil {
							left <- struct{}{}
							return
						}
					}
				}
			}), -1)
		}})
		for _, path := range []string{"/", "/panic", "/endless"} {
			c := ts.Dial()
			c.Get(path)
			if line, err := readHead(c.R); err != nil || !strings.Contains(line, "200") {
				t.Fatalf("%s: %q, %v", path, line, err)
			}
			for i := range 3 {
				want := fmt.Sprintf("1\r\n%d\r\n", i)
				got := make([]byte, len(want))
				if _, err := io.ReadFull(c.R, got); string(got) != want || err != nil {
					t.Fatalf("%s: got %q, %v, want %q", path, got, err, want)
				}
				goOn <- struct{}{}
			}
			switch path {
			case "/":
				got := make([]byte, 5)
				if _, err := io.ReadFull(c.R, got); string(got) != "0\r\n\r\n" || err != nil {
					t.Errorf("the end is %q, %v", got, err)
				}
			case "/panic":
				c.ExpectCut()
			case "/endless":
				_ = c.Close()
				servertest.Receive(t, "the end of the producer", left)
			}
		}
	})
}

// readHead reads a head and returns its first line.
func readHead(r *bufio.Reader) (first string, err error) {
	for {
		line, err := r.ReadString('\n')
		if err != nil || line == "\r\n" {
			return first, err
		}
		if first == "" {
			first = line
		}
	}
}
