package fasthttp

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"

	"github.com/valyala/fasthttp/internal/bodyio"
	"github.com/valyala/fasthttp/internal/servertest"
)

// chunksIn decodes a chunked body. It returns the content, the sizes of the chunks,
// and the bytes after the last chunk.
func chunksIn(t *testing.T, body string) (content string, sizes []int, rest string) {
	t.Helper()
	for {
		line, tail, ok := strings.Cut(body, "\r\n")
		var size int
		if _, err := fmt.Sscanf(line, "%x", &size); err != nil || !ok {
			t.Fatalf("no chunk: %s", clipped(body))
		}
		if size == 0 {
			return content, sizes, tail
		}
		if len(tail) < size+2 || tail[size:size+2] != "\r\n" {
			t.Fatalf("a chunk of %d: %s", size, clipped(tail))
		}
		content, sizes, body = content+tail[:size], append(sizes, size), tail[size+2:]
	}
}

// onlyReader hides all methods of a reader but Read.
type onlyReader struct{ io.Reader }

func TestBodyStreamOfAKnownSize(t *testing.T) {
	for _, size := range []int{0, 1, 5, 4096, 100_000} {
		text := strings.Repeat("x", size)
		for name, r := range map[string]io.Reader{
			"plain": strings.NewReader(text), "one byte": iotest.OneByteReader(strings.NewReader(text)), "data with EOF": iotest.DataErrReader(strings.NewReader(text)),
			"empty reads": &sleepyReader{r: strings.NewReader(text)}, "no WriteTo": onlyReader{strings.NewReader(text)},
		} {
			stream := &closeCounter{Reader: r}
			m := new(Response)
			m.SetBodyStream(stream, size)
			if !m.IsBodyStream() || m.BodyStream() != io.Reader(stream) || m.Header.ContentLength() != size {
				t.Errorf("%s of %d: stream %v, length %d", name, size, m.IsBodyStream(), m.Header.ContentLength())
			}
			got := m.String()
			if !strings.HasSuffix(got, fmt.Sprintf("Content-Length: %d\r\n\r\n%s", size, text)) || stream.n != 1 || m.IsBodyStream() {
				t.Errorf("%s of %d: %s, closed %d times", name, size, clipped(got), stream.n)
			}
		}
	}
}

func TestBodyStreamOfAnUnknownSizeIsSentInChunks(t *testing.T) {
	text := strings.Repeat("0123456789", 20_000)
	forBothMessages(t, func(t *testing.T, m anyMessage) {
		for name, r := range map[string]io.Reader{
			"plain": strings.NewReader(text), "data with EOF": iotest.DataErrReader(strings.NewReader(text)),
			"empty reads": &sleepyReader{r: strings.NewReader(text[:1000])}, "nothing": strings.NewReader(""),
		} {
			for _, size := range []int{-1, -2} {
				if s, ok := r.(*strings.Reader); ok {
					_, _ = s.Seek(0, io.SeekStart)
				} else if size == -2 {
					continue
				}
				stream := &closeCounter{Reader: r}
				m.SetBodyStream(stream, size)
				got := contentText(t, m)
				body, _, rest := chunksIn(t, got)
				if !strings.HasPrefix(text, body) || len(body) != map[string]int{"nothing": 0, "empty reads": 1000}[name] && body != text || rest != "\r\n" || stream.n != 1 {
					t.Errorf("%s: %s, %q after it, closed %d times", name, clipped(body), rest, stream.n)
				}
			}
		}
	})
}

// Each read from a stream of unknown size makes a chunk, which is flushed.
func TestBodyStreamPiecesAreFlushed(t *testing.T) {
	m := new(Response)
	m.SetBodyStream(&sleepyReader{r: strings.NewReader("0123456789abcdef")}, -1)
	var out bytes.Buffer
	w := bufio.NewWriterSize(&flushChecker{w: &out}, 1<<16)
	if err := m.Write(w); err != nil {
		t.Fatal(err)
	}
	_, body, _ := strings.Cut(out.String(), "\r\n\r\n")
	if want := "7\r\n0123456\r\n7\r\n789abcd\r\n2\r\nef\r\n"; body != want {
		t.Errorf("%q has arrived before the last flush, want %q", body, want)
	}
}

type flushChecker struct{ w io.Writer }

func (f *flushChecker) Write(p []byte) (int, error) { return f.w.Write(p) }

func TestResponseHeadIsFlushedFirstWhereThatIsWanted(t *testing.T) {
	for _, early := range []bool{false, true} {
		for _, size := range []int{3, -1} {
			var out bytes.Buffer
			w := bufio.NewWriterSize(&out, 1<<16)
			m := new(Response)
			m.ImmediateHeaderFlush = early
			flushed := false
			m.SetBodyStream(servertest.ReadFunc(func(p []byte) (int, error) {
				flushed = flushed || strings.HasSuffix(out.String(), "\r\n\r\n")
				return copy(p, "abc"), io.EOF
			}), size)
			if err := m.Write(w); err != nil && size < 0 {
				t.Fatal(err)
			}
			if flushed != early {
				t.Errorf("ImmediateHeaderFlush %v, size %d: flushed %v", early, size, flushed)
			}
		}
	}
}

func TestBodyStreamThatIsNoWhatItSaid(t *testing.T) {
	boom := errors.New("boom")
	broken := func() io.Reader { return io.MultiReader(strings.NewReader("hel"), iotest.ErrReader(boom)) }
	forBothMessages(t, func(t *testing.T, m anyMessage) {
		for _, tc := range []struct {
			name string
			r    io.Reader
			size int
			want error // nil means any error
		}{
			{"short", strings.NewReader("hello"), 6, io.ErrUnexpectedEOF},
			{"empty", strings.NewReader(""), 1, io.ErrUnexpectedEOF},
			{"long", strings.NewReader("hello"), 4, nil},
			{"long with empty reads", &sleepyReader{r: strings.NewReader("hello")}, 0, nil},
			{"failing", broken(), 5, boom},
			{"failing at the end", broken(), 3, boom},
			{"failing in chunks", broken(), -1, boom},
			{"failing at once", iotest.ErrReader(boom), 0, boom},
			{"failing at once in chunks", iotest.ErrReader(boom), -1, boom},
			{"without end", servertest.ReadFunc(func([]byte) (int, error) { return 0, nil }), 0, io.ErrNoProgress},
		} {
			stream := &closeCounter{Reader: tc.r}
			m.SetBodyStream(stream, tc.size)
			var out bytes.Buffer
			_, err := m.WriteTo(&out)
			if err == nil || tc.want != nil && !errors.Is(err, tc.want) {
				t.Errorf("%s: %v", tc.name, err)
			}
			if stream.n != 1 || m.IsBodyStream() {
				t.Errorf("%s: closed %d times", tc.name, stream.n)
			}
			// the output must not look like a complete message
			if strings.HasSuffix(out.String(), "\r\n0\r\n\r\n") {
				t.Errorf("%s: the message was ended: %q", tc.name, out.String())
			}
		}
	})
}

func TestBodyStreamThatPanics(t *testing.T) {
	boom := errors.New("boom")
	forBothMessages(t, func(t *testing.T, m anyMessage) {
		for _, size := range []int{5, 0, -1} {
			stream := &closeCounter{Reader: servertest.ReadFunc(func([]byte) (int, error) { panic("the stream panics") })}
			m.SetBodyStream(stream, size)
			var out bytes.Buffer
			_, err := m.WriteTo(&out)
			p, ok := errors.AsType[*ErrBodyStreamWritePanic](err)
			if !ok || p.Error() != "panic while writing body stream: the stream panics" || stream.n != 1 {
				t.Errorf("size %d: %v, closed %d times", size, err, stream.n)
			}
			if ok && !strings.Contains(p.Stack(), "body_stream_test.go") {
				t.Errorf("size %d: the stack does not have the stream: %s", size, p.Stack())
			}
			if strings.HasSuffix(out.String(), "\r\n0\r\n\r\n") {
				t.Errorf("size %d: the message was ended: %q", size, out.String())
			}
			m.SetBodyStream(closeFunc{strings.NewReader("hello"), func() error { panic("closing panics") }}, size)
			_, err = m.WriteTo(io.Discard)
			if _, ok := errors.AsType[*ErrBodyStreamWritePanic](err); !ok && size != 0 {
				t.Errorf("size %d: %v", size, err)
			}
			m.SetBodyStream(closeFunc{strings.NewReader("hello"), func() error { return boom }}, max(size, -1))
			if _, err := m.WriteTo(io.Discard); !errors.Is(err, boom) && size != 0 {
				t.Errorf("size %d: the error of Close is lost: %v", size, err)
			}
		}
	})
}

type closeFunc struct {
	io.Reader
	f func() error
}

func (c closeFunc) Close() error { return c.f() }

func TestBodyStreamIsClosedWhereItIsNotWritten(t *testing.T) {
	boom := errors.New("boom")
	forBothMessages(t, func(t *testing.T, m anyMessage) {
		for name, end := range map[string]func(){
			"SetBody": func() { m.SetBodyString("x") }, "SetBodyRaw": func() { m.SetBodyRaw([]byte("x")) }, "AppendBody": func() { m.AppendBodyString("x") },
			"ResetBody": m.ResetBody, "Reset": m.Reset, "CloseBodyStream": func() { _ = m.CloseBodyStream() }, "Body": func() { _ = m.Body() },
			"SetBodyStream": func() { m.SetBodyStream(strings.NewReader(""), 0) }, "SwapBody": func() { _ = m.SwapBody(nil) },
			"a writer that fails": func() { _, _ = m.WriteTo(failingWriter{boom}) },
			"BodyWriteTo":         func() { _ = m.BodyWriteTo(io.Discard) },
		} {
			if req, ok := m.(*Request); ok {
				req.Header.SetMethod("POST")
				req.Header.SetHost("h")
			}
			stream := &closeCounter{Reader: strings.NewReader(strings.Repeat("x", 10_000))}
			m.SetBodyStream(stream, -1)
			end()
			_ = m.CloseBodyStream()
			if stream.n != 1 {
				t.Errorf("%s: closed %d times", name, stream.n)
			}
		}
		if err := m.CloseBodyStream(); err != nil {
			t.Errorf("closing a missing stream: %v", err)
		}
		m.SetBodyStream(&closeCounter{err: boom}, -1)
		checkError(t, "CloseBodyStream", m.CloseBodyStream(), boom)
	})
}

func TestBodyReadsAStreamToItsEnd(t *testing.T) {
	long := strings.Repeat("0123456789", 10_000)
	forBothMessages(t, func(t *testing.T, m anyMessage) {
		for _, size := range []int{len(long), -1, 1 << 40} {
			m.SetBodyStream(iotest.HalfReader(strings.NewReader(long)), size)
			for range 2 {
				if got := string(m.Body()); got != long {
					t.Errorf("size %d: %s", size, clipped(got))
				}
			}
			if m.IsBodyStream() {
				t.Error("it is a stream still")
			}
			if got := contentText(t, m); got != long {
				t.Errorf("size %d: %s is written", size, clipped(got))
			}
		}
	})
}

func TestResponseBodyOfABrokenStreamIsTheError(t *testing.T) {
	var resp Response
	resp.SetBodyStream(io.MultiReader(strings.NewReader("hel"), iotest.ErrReader(errors.New("boom"))), -1)
	for range 2 {
		if got := string(resp.Body()); got != "boom" {
			t.Errorf("%q", got)
		}
	}
}

// countingReader counts its reads. Its WriteTo calls the WriteTo of its reader.
type countingReader struct {
	*strings.Reader
	reads int
}

func (c *countingReader) Read(p []byte) (int, error) {
	c.reads++
	return c.Reader.Read(p)
}

// choosyReader reports by SupportsBodyWriteTo whether its WriteTo may be used.
type choosyReader struct {
	countingReader
	writeTo bool
	wrote   int
}

func (c *choosyReader) SupportsBodyWriteTo() bool { return c.writeTo }

func (c *choosyReader) WriteTo(w io.Writer) (int64, error) {
	c.wrote++
	for _, piece := range []string{"by ", "", "WriteTo"} {
		if _, err := io.WriteString(w, piece); err != nil {
			return 0, err
		}
	}
	return 10, nil
}

func TestBodyWriteToIsUsedWhereTheStreamAllowsIt(t *testing.T) {
	forBothMessages(t, func(t *testing.T, m anyMessage) {
		plain := &countingReader{Reader: strings.NewReader("read")}
		m.SetBodyStream(plain, -1)
		if got := contentText(t, m); got != "4\r\nread\r\n0\r\n\r\n" || plain.reads == 0 {
			t.Errorf("%q, %d reads", got, plain.reads)
		}
		willing := &choosyReader{countingReader: countingReader{Reader: strings.NewReader("read")}, writeTo: true}
		m.SetBodyStream(willing, -1)
		if got := contentText(t, m); got != "3\r\nby \r\n7\r\nWriteTo\r\n0\r\n\r\n" || willing.reads > 0 || willing.wrote != 1 {
			t.Errorf("%q, %d reads, %d writes", got, willing.reads, willing.wrote)
		}
		m.SetBodyStream(willing, -1)
		if got := string(m.Body()); got != "by WriteTo" {
			t.Errorf("Body gives %q", got)
		}
		unwilling := &choosyReader{countingReader: countingReader{Reader: strings.NewReader("read")}}
		m.SetBodyStream(unwilling, -1)
		if got := contentText(t, m); got != "4\r\nread\r\n0\r\n\r\n" || unwilling.wrote > 0 {
			t.Errorf("%q, %d writes", got, unwilling.wrote)
		}
		unwilling = &choosyReader{countingReader: countingReader{Reader: strings.NewReader("read")}}
		m.SetBodyStream(unwilling, -1)
		var out bytes.Buffer
		if err := m.BodyWriteTo(&out); err != nil || out.String() != "read" || unwilling.wrote > 0 {
			t.Errorf("BodyWriteTo: %v, %q, %d writes", err, out.String(), unwilling.wrote)
		}
	})
}

func TestStreamReaderGivesWhatIsWritten(t *testing.T) {
	for name, read := range map[string]func(io.Reader) ([]byte, error){
		"ReadAll": io.ReadAll, "one byte": func(r io.Reader) ([]byte, error) { return io.ReadAll(iotest.OneByteReader(r)) },
		"WriteTo": func(r io.Reader) ([]byte, error) {
			var out bytes.Buffer
			_, err := r.(io.WriterTo).WriteTo(&out)
			return out.Bytes(), err
		},
	} {
		var want strings.Builder
		r := NewStreamReader(func(w *bufio.Writer) {
			for i := range 30_000 {
				line := fmt.Sprintf("line %d\n", i)
				want.WriteString(line)
				if _, err := w.WriteString(line); err != nil {
					t.Error(err)
				}
				if i%1000 == 0 {
					_ = w.Flush()
				}
			}
		})
		got, err := read(r)
		if err != nil || string(got) != want.String() {
			t.Errorf("%s: %v, %d of %d bytes", name, err, len(got), want.Len())
		}
		if n, err := r.Read(make([]byte, 1)); n > 0 || err != io.EOF {
			t.Errorf("%s: after the end %d, %v", name, n, err)
		}
		if err := r.Close(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if n, err := r.Read(make([]byte, 1)); n > 0 || err == nil {
			t.Errorf("%s: after Close %d, %v", name, n, err)
		}
	}
}

func TestStreamReaderHoldsTheProducerBack(t *testing.T) {
	var written atomic.Int64
	done := make(chan error, 1)
	r := NewStreamReader(func(w *bufio.Writer) {
		piece := make([]byte, 1000)
		for {
			if _, err := w.Write(piece); err != nil {
				done <- err
				return
			}
			written.Add(int64(len(piece)))
		}
	})
	total := 0
	buf := make([]byte, 10_000)
	for range 100 {
		n, err := r.Read(buf)
		if err != nil {
			t.Fatal(err)
		}
		total += n
		// the pipe holds at most two windows: one being filled, one being read
		if ahead := int(written.Load()) - total; ahead > 2*bodyio.Window+10_000 {
			t.Fatalf("the producer is %d bytes ahead", ahead)
		}
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if err := servertest.Receive(t, "the end of the producer", done); err == nil {
		t.Error("the producer was not told")
	}
}

func TestStreamReaderClosedBeforeItIsRead(t *testing.T) {
	done := make(chan struct{})
	r := NewStreamReader(func(w *bufio.Writer) {
		defer close(done)
		for {
			if _, err := w.Write(make([]byte, 4096)); err != nil {
				return
			}
		}
	})
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	servertest.Receive(t, "the end of the producer", done)
	if err := r.Close(); err != nil {
		t.Errorf("closing twice: %v", err)
	}
}

func TestStreamReaderSeesFlushedBytesBeforeTheEnd(t *testing.T) {
	next := make(chan struct{}, 2)
	r := NewStreamReader(func(w *bufio.Writer) {
		for _, piece := range []string{"one", "two"} {
			_, _ = w.WriteString(piece)
			_ = w.Flush()
			<-next
		}
	})
	buf := make([]byte, 100)
	for _, want := range []string{"one", "two"} {
		if n, err := r.Read(buf); err != nil || string(buf[:n]) != want {
			t.Errorf("%q, %v", buf[:n], err)
		}
		next <- struct{}{}
	}
	if n, err := r.Read(buf); n > 0 || err != io.EOF {
		t.Errorf("%d, %v", n, err)
	}
	_ = r.Close()
}

func TestStreamReaderTellsOfPanics(t *testing.T) {
	for _, flush := range []bool{false, true} {
		r := NewStreamReader(func(w *bufio.Writer) {
			_, _ = w.WriteString("before")
			if flush {
				_ = w.Flush()
			}
			panic("the producer panics")
		})
		got, err := io.ReadAll(r)
		p, ok := errors.AsType[*ErrBodyStreamWritePanic](err)
		if !ok || !strings.Contains(p.Error(), "the producer panics") {
			t.Errorf("%v", err)
		}
		if flush && string(got) != "before" {
			t.Errorf("%q", got)
		}
		_ = r.Close()
	}
}

func TestBodyStreamWriter(t *testing.T) {
	forBothMessages(t, func(t *testing.T, m anyMessage) {
		m.SetBodyStreamWriter(func(w *bufio.Writer) {
			for range 3 {
				_, _ = w.WriteString("piece ")
				_ = w.Flush()
			}
		})
		if !m.IsBodyStream() {
			t.Error("it is no stream")
		}
		if body, _, rest := chunksIn(t, contentText(t, m)); body != "piece piece piece " || rest != "\r\n" {
			t.Errorf("%q, %q", body, rest)
		}
		m.SetBodyStreamWriter(func(*bufio.Writer) { panic("the producer panics") })
		_, err := m.WriteTo(io.Discard)
		if _, ok := errors.AsType[*ErrBodyStreamWritePanic](err); !ok {
			t.Errorf("%v", err)
		}
		ended := make(chan struct{})
		m.SetBodyStreamWriter(func(w *bufio.Writer) {
			defer close(ended)
			for {
				if _, err := w.Write(make([]byte, 1000)); err != nil {
					return
				}
			}
		})
		boom := errors.New("boom")
		if _, err := m.WriteTo(failingWriter{boom}); !errors.Is(err, boom) {
			t.Errorf("%v", err)
		}
		servertest.Receive(t, "the end of the producer", ended)
	})
}

func TestStreamsAreWrittenWithoutAllocating(t *testing.T) {
	content := strings.NewReader("")
	stream := onlyReader{content}
	var r io.Reader = &stream
	out := bufio.NewWriter(io.Discard)
	var resp Response
	var req Request
	for _, size := range []int{10, -1} {
		checkAllocs(t, fmt.Sprint("response of size ", size), func() {
			content.Reset("0123456789")
			resp.SetBodyStream(r, size)
			if err := resp.Write(out); err != nil {
				t.Fatal(err)
			}
			resp.Reset()
		})
		checkAllocs(t, fmt.Sprint("request of size ", size), func() {
			content.Reset("0123456789")
			req.SetRequestURI("http://a.test/")
			req.SetBodyStream(r, size)
			if err := req.Write(out); err != nil {
				t.Fatal(err)
			}
			req.Reset()
		})
	}
}
