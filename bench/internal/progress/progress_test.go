package progress

import (
	"strings"
	"testing"
	"time"
)

func TestLinesTellTheTimeLeft(t *testing.T) {
	var b strings.Builder
	now := time.Unix(0, 0)
	l := NewLines(&b)
	l.now = func() time.Time { return now }
	l.Note("building")
	l.Plan(3, 6)
	for _, weight := range []float64{1, 2, 3} {
		l.Begin("row")
		now = now.Add(2 * time.Second)
		l.End(weight, "5 ns")
	}
	want := "building\n[1/3] row  5 ns  (10s left)\n[2/3] row  5 ns  (4s left)\n[3/3] row  5 ns\n"
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}

func TestRestWithoutWeight(t *testing.T) {
	var r Rest
	if r.Left() != 0 || r.Share() != 0 {
		t.Errorf("got %v, %v", r.Left(), r.Share())
	}
	r.Add(1, time.Second)
	if r.Left() != 0 || r.Share() != 0 {
		t.Errorf("got %v, %v", r.Left(), r.Share())
	}
}

func TestBarTellsTheTimeLeftOfAllParts(t *testing.T) {
	var out strings.Builder
	now := time.Unix(0, 0)
	b := NewBar(&out, false)
	b.now = func() time.Time { return now }
	b.Expect("rows", 60*time.Second)
	b.Expect("sockets", 40*time.Second)
	b.Next()
	b.Plan(2, 4)
	b.Begin("first")
	now = now.Add(60 * time.Second)
	b.End(2, "5 ns") // half of the first part took twice as long as expected
	b.Begin("second")
	now = now.Add(60 * time.Second)
	b.End(2, "FAILED: no")
	b.Next()
	now = now.Add(80 * time.Second)
	b.Next()
	want := `[........................]   0%  1m40s left  rows
[#######.................]  30%  2m20s left  rows: first
second  FAILED: no
[##############..........]  60%  1m20s left  rows: second
[##############..........]  60%  1m20s left  sockets
[########################] 100%  0s left
`
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}

func TestBarIsDrawnInPlaceOnATerminal(t *testing.T) {
	var out strings.Builder
	b := NewBar(&out, true)
	b.Expect("rows", time.Second)
	b.Next()
	b.Note("building")
	b.Next()
	text := out.String()
	if strings.Count(text, "\n") != 2 || !strings.Contains(text, "\r"+strings.Repeat(" ", 10)) || !strings.HasSuffix(text, "100%  0s left\n") {
		t.Errorf("got %q", text)
	}
}
