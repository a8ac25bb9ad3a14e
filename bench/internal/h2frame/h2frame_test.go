package h2frame

import (
	"bytes"
	"slices"
	"testing"
)

func TestFramesArriveInAnyPieces(t *testing.T) {
	text := AppendSettings(nil, SettingPush, 0)
	text = Append(text, Data, EndStream, 7, bytes.Repeat([]byte("x"), 300))
	text = AppendWindow(text, 1<<20)
	want := []Frame{{Settings, 0, 0, []byte{0, 2, 0, 0, 0, 0}}, {Data, EndStream, 7, bytes.Repeat([]byte("x"), 300)}, {Window, 0, 0, []byte{0, 16, 0, 0}}}
	for size := 1; size <= len(text); size++ {
		var r Reader
		var got []Frame
		for piece := range slices.Chunk(text, size) {
			if err := r.Feed(piece, func(f Frame) error {
				f.Payload = bytes.Clone(f.Payload)
				got = append(got, f)
				return nil
			}); err != nil {
				t.Fatal(err)
			}
		}
		if !slices.EqualFunc(got, want, func(a, b Frame) bool {
			return a.Kind == b.Kind && a.Flags == b.Flags && a.Stream == b.Stream && bytes.Equal(a.Payload, b.Payload)
		}) {
			t.Errorf("pieces of %d bytes: %v", size, got)
		}
	}
	var r Reader
	frames := 0
	feed := func() { _ = r.Feed(text, func(Frame) error { frames++; return nil }) }
	if n := testing.AllocsPerRun(100, feed); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestStatusMayFollowChangesOfTheTable(t *testing.T) {
	for fields, want := range map[string]bool{"\x88": true, "\x20\x88\x0f": true, "\x3f\xe1\x1f\x88": true, "\x8d": false, "": false, "\x20": false} {
		if IsOK([]byte(fields)) != want {
			t.Errorf("%x: %v", fields, !want)
		}
	}
}
