package files

import (
	"bytes"
	"fmt"
	"math"
	"testing"
)

func TestParseByteRange(t *testing.T) {
	for _, tc := range []struct {
		in         string
		length     int
		start, end int
	}{
		{"bytes=0-", 1, 0, 0}, {"bytes=0-0", 1, 0, 0}, {"bytes=0-9", 1, 0, 0}, {"bytes=-5", 1, 0, 0},
		{"bytes=0-", 10, 0, 9}, {"bytes=0-0", 10, 0, 0}, {"bytes=0-9", 10, 0, 9}, {"bytes=5-", 10, 5, 9}, {"bytes=9-", 10, 9, 9},
		{"bytes=9-9", 10, 9, 9}, {"bytes=5-1000", 10, 5, 9}, {"bytes=-5", 10, 5, 9}, {"bytes=-1", 10, 9, 9}, {"bytes=-10", 10, 0, 9}, {"bytes=-100", 10, 0, 9},
		{"bytes=0-99999999999999999999", 10, 0, 9}, {"bytes=-99999999999999999999", 10, 0, 9}, {"Bytes=02-03", 10, 2, 3},
		{"bytes=0-", math.MaxInt, 0, math.MaxInt - 1}, {"bytes=-1", math.MaxInt, math.MaxInt - 1, math.MaxInt - 1},
	} {
		start, end, err := ParseByteRange([]byte(tc.in), tc.length)
		if start != tc.start || end != tc.end || err != nil {
			t.Errorf("%q of %d: %d-%d, %v, want %d-%d", tc.in, tc.length, start, end, err, tc.start, tc.end)
		}
	}
}

func TestParseByteRangeRefuses(t *testing.T) {
	for _, tc := range []struct {
		in     string
		length int
		want   error
	}{
		{"", 10, errRangeUnit}, {"0-1", 10, errRangeUnit}, {"items=0-1", 10, errRangeUnit}, {"byte=0-1", 10, errRangeUnit},
		{"bytes", 10, errRangeSyntax}, {"bytes=", 10, errRangeSyntax}, {"bytes 0-1", 10, errRangeSyntax}, {"bytes = 0-1", 10, errRangeSyntax},
		{"bytesx=0-1", 10, errRangeSyntax}, {"bytes=1", 10, errRangeSyntax}, {"bytes=-", 10, errRangeSyntax}, {"bytes=a-b", 10, errRangeSyntax},
		{"bytes=0 - 1", 10, errRangeSyntax}, {"bytes=+1-2", 10, errRangeSyntax}, {"bytes=-1-2", 10, errRangeSyntax}, {"bytes=1-2-3", 10, errRangeSyntax},
		{"bytes=--1", 10, errRangeSyntax}, {"bytes=0-1,3-4", 10, errRangeSyntax}, {"bytes= 0-1", 10, errRangeSyntax}, {"bytes=0-1 ", 10, errRangeSyntax},
		{"bytes=9-5", 10, errRangeSyntax}, {"bytes=9-5", 1, errRangeSyntax},
		{"bytes=10-", 10, errRangeUnsatisfiable}, {"bytes=10-20", 10, errRangeUnsatisfiable}, {"bytes=-0", 10, errRangeUnsatisfiable},
		{"bytes=99999999999999999999-", 10, errRangeUnsatisfiable}, {"bytes=99999999999999999999-", math.MaxInt, errRangeUnsatisfiable},
		{"bytes=0-", 0, errRangeUnsatisfiable}, {"bytes=0-0", 0, errRangeUnsatisfiable}, {"bytes=-5", 0, errRangeUnsatisfiable}, {"bytes=-0", 0, errRangeUnsatisfiable},
		{"bytes=0-1", -1, errRangeUnsatisfiable}, {"bytes=-1", -1, errRangeUnsatisfiable},
	} {
		start, end, err := ParseByteRange([]byte(tc.in), tc.length)
		if start != 0 || end != 0 || err != tc.want {
			t.Errorf("%q of %d: %d-%d, %v, want %v", tc.in, tc.length, start, end, err, tc.want)
		}
	}
}

func FuzzParseByteRange(f *testing.F) {
	for _, s := range []string{"bytes=0-9", "bytes=-5", "bytes=5-", "bytes=9-5", "bytes=0-1,2-3"} {
		f.Add([]byte(s), 10)
		f.Add([]byte(s), 0)
	}
	f.Fuzz(func(t *testing.T, b []byte, length int) {
		start, end, err := ParseByteRange(b, length)
		if err != nil {
			if start != 0 || end != 0 {
				t.Fatalf("%q of %d: %d-%d, %v", b, length, start, end, err)
			}
			return
		}
		if start < 0 || start > end || end >= length {
			t.Fatalf("%q of %d: %d-%d", b, length, start, end)
		}
		again := fmt.Sprintf("bytes=%d-%d", start, end)
		if s, e, err := ParseByteRange([]byte(again), length); s != start || e != end || err != nil {
			t.Fatalf("%q of %d: %q is %d-%d, %v", b, length, again, s, e, err)
		}
		if bytes.IndexByte(b, ',') >= 0 {
			t.Fatalf("%q is taken for one range", b)
		}
	})
}
