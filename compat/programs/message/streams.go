package main

import (
	"errors"
	"io"
	"strings"
)

var errStream = errors.New("the stream broke")

// stream makes the body streams that the operations name.
func stream(kind string) io.Reader {
	switch kind {
	case "empty":
		return strings.NewReader("")
	case "hello":
		return strings.NewReader("hello")
	case "one-by-one":
		return &chopped{r: strings.NewReader("hello world"), n: 1}
	case "long":
		return strings.NewReader(strings.Repeat("0123456789", 20))
	case "big":
		return strings.NewReader(strings.Repeat("x", 10000))
	case "broken":
		return io.MultiReader(strings.NewReader("hel"), failing{})
	case "broken-at-once":
		return failing{}
	case "eof-with-data":
		return &eofWithData{s: "hello"}
	case "empty-reads":
		return &emptyReads{r: strings.NewReader("hello")}
	case "closer":
		return &closer{Reader: strings.NewReader("hello")}
	case "limited":
		return &io.LimitedReader{R: strings.NewReader("hello world"), N: 5}
	case "panics":
		return panicking{}
	}
	panic("unknown stream " + kind)
}

// chopped returns at most n bytes per call.
type chopped struct {
	r io.Reader
	n int
}

func (c *chopped) Read(p []byte) (int, error) { return c.r.Read(p[:min(c.n, len(p))]) }

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errStream }

type panicking struct{}

func (panicking) Read([]byte) (int, error) { panic("stream panic") }

// eofWithData returns its only bytes together with io.EOF.
type eofWithData struct{ s string }

func (e *eofWithData) Read(p []byte) (int, error) {
	n := copy(p, e.s)
	e.s = e.s[n:]
	if e.s == "" {
		return n, io.EOF
	}
	return n, nil
}

// emptyReads returns nothing, without an error, on every other call.
type emptyReads struct {
	r    io.Reader
	turn bool
}

func (e *emptyReads) Read(p []byte) (int, error) {
	e.turn = !e.turn
	if e.turn {
		return 0, nil
	}
	return e.r.Read(p)
}

// closer counts how often it was closed.
type closer struct {
	io.Reader
	closed int
}

func (c *closer) Close() error { c.closed++; return nil }

// streams returns a call of Stream for each kind of stream with each size.
func streams() (calls []op) {
	for _, kind := range []string{"empty", "hello", "one-by-one", "long", "big", "broken", "broken-at-once", "eof-with-data", "empty-reads", "closer", "limited", "panics"} {
		for _, size := range []string{"-1", "-2", "0", "3", "5", "11", "200", "10000"} {
			calls = append(calls, op{"Stream", kind, size})
		}
	}
	return calls
}
