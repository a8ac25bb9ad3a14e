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
