package http1

import (
	"errors"
	"strings"
	"testing"

	"github.com/valyala/fasthttp/internal/field"
)

// A limit counts the same bytes however a head arrives: a head rejected whole is
// rejected in pieces, and vice versa.
func TestLimitsDoNotDependOnHowAHeadArrives(t *testing.T) {
	limits := Limits{Line: 40, Head: 100, Fields: 3}
	line := func(n int) string { return "GET /" + strings.Repeat("a", n-len("GET / HTTP/1.1")) + " HTTP/1.1\r\n" }
	head := func(n int) string {
		const start, end = "GET / HTTP/1.1\r\nA: ", "\r\n\r\n"
		return start + strings.Repeat("b", n-len(start)-len(end)) + end
	}
	for _, c := range []struct {
		name string
		role Role
		raw  string
		err  error
	}{
		{"a line of 39 bytes", Request, line(39) + "\r\n", nil},
		{"a line of 40 bytes", Request, line(40) + "\r\n", nil},
		{"a line of 41 bytes", Request, line(41) + "\r\n", ErrLongRequestLine},
		{"a line of 42 bytes", Request, line(42) + "\r\n", ErrLongRequestLine},
		{"a head of 99 bytes", Request, head(99), nil},
		{"a head of 100 bytes", Request, head(100), nil},
		{"a head of 101 bytes", Request, head(101), ErrLongHead},
		{"three fields", Request, line(20) + "A: b\r\nA: b\r\nA: b\r\n\r\n", nil},
		{"four fields", Request, line(20) + "A: b\r\nA: b\r\nA: b\r\nA: b\r\n\r\n", ErrManyFields},
		// the limit of a line applies to requests only: a client cannot respond with
		// 414
		{"a status line of 60 bytes", Response, "HTTP/1.1 200 " + strings.Repeat("x", 47) + "\r\n\r\n", nil},
		{"a status line of 101 bytes", Response, "HTTP/1.1 200 " + strings.Repeat("x", 88) + "\r\n\r\n", ErrLongHead},
	} {
		for step := 1; step <= len(c.raw); step++ {
			h := &Head{Limits: limits}
			fields := new(field.List)
			var n int
			var err error
			for size := step; ; size = min(size+step, len(c.raw)) {
				n, err = h.Parse(c.role, []byte(c.raw[:size]), fields)
				if n != 0 || err != nil || size == len(c.raw) {
					break
				}
			}
			if !errors.Is(err, c.err) || c.err == nil && (err != nil || n != len(c.raw)) {
				t.Errorf("%s, in pieces of %d bytes: %d, %v, want %v", c.name, step, n, err, c.err)
			}
		}
	}
}

func TestAPeerThatNeverEndsALineIsRefused(t *testing.T) {
	for _, c := range []struct {
		role Role
		raw  string
		err  error
	}{
		{Request, strings.Repeat("A", 42), ErrLongRequestLine},
		{Request, "GET /" + strings.Repeat("a", 37), ErrLongRequestLine},
		{Request, "GET / HTTP/1.1\r\n" + strings.Repeat("a", 85), ErrLongHead},
		{Request, "GET / HTTP/1.1\r\nA: " + strings.Repeat("b", 82), ErrLongHead},
		{Response, "HTTP/1.1 200 " + strings.Repeat("x", 88), ErrLongHead},
	} {
		h := &Head{Limits: Limits{Line: 40, Head: 100}}
		if n, err := h.Parse(c.role, []byte(c.raw), new(field.List)); n != 0 || !errors.Is(err, c.err) {
			t.Errorf("%q: %d, %v, want %v", c.raw, n, err, c.err)
		}
	}
}
