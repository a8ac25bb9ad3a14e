package ascii

import (
	"math"
	"strconv"
	"strings"
	"testing"
)

func TestParseUintTakesDigitsOnly(t *testing.T) {
	largest := strconv.Itoa(math.MaxInt)
	for text, want := range map[string]int{
		"0":                                   0,
		"7":                                   7,
		"0012":                                12,
		largest:                               math.MaxInt,
		strings.Repeat("0", 30) + largest:     math.MaxInt,
		strconv.Itoa(math.MaxInt/10) + "0":    math.MaxInt / 10 * 10,
		strconv.FormatUint(math.MaxInt-1, 10): math.MaxInt - 1,
	} {
		if n, ok := ParseUint([]byte(text)); n != want || !ok {
			t.Errorf("%q: %d, %v", text, n, ok)
		}
	}
	for _, text := range []string{
		"", "+1", "-1", "-0", " 1", "1 ", "1_0", "0x1", "1e3", "1.0", "1,1", "\x00", "1\x00", "٣", "a", "/", ":",
		strconv.FormatUint(math.MaxInt+1, 10),
		strconv.FormatUint(math.MaxInt+3, 10),
		"21000000000000000000", "18446744073709551616", "99999999999999999999999999",
		largest + "0",
	} {
		if n, ok := ParseUint([]byte(text)); n != 0 || ok {
			t.Errorf("%q: %d, %v", text, n, ok)
		}
	}
}

func FuzzParseUint(f *testing.F) {
	for _, s := range []string{"", "0", "9223372036854775807", "9223372036854775808", "-1", "1_0", "18446744073709551617"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		want, err := strconv.ParseUint(text, 10, strconv.IntSize-1)
		n, ok := ParseUint([]byte(text))
		if ok != (err == nil) || ok && n != int(want) || !ok && n != 0 {
			t.Fatalf("%q: %d, %v; strconv: %d, %v", text, n, ok, want, err)
		}
	})
}

func numbers() (all []uint64) {
	for shift := range 64 {
		n := uint64(1) << shift
		all = append(all, n-1, n, n+1)
	}
	for n := uint64(1); n < math.MaxUint64/10; n *= 10 {
		all = append(all, n*10-1, n*10)
	}
	return append(all, math.MaxUint64)
}

func TestNumbersAreWrittenAsStrconvDoes(t *testing.T) {
	for _, n := range numbers() {
		if got, want := string(AppendHex([]byte("x"), n)), "x"+strconv.FormatUint(n, 16); got != want {
			t.Errorf("AppendHex: %s, want %s", got, want)
		}
		if n > math.MaxInt {
			continue
		}
		if got, want := string(AppendUint([]byte("x"), int(n))), "x"+strconv.FormatUint(n, 10); got != want {
			t.Errorf("AppendUint: %s, want %s", got, want)
		}
	}
}

func TestAppendUintRefusesNegativeNumbers(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	AppendUint(nil, -1)
}

func TestHexDigits(t *testing.T) {
	for i := range 256 {
		c := byte(i)
		want := byte(NoHex)
		if n, err := strconv.ParseUint(string(rune(c)), 16, 8); err == nil && c < 0x80 {
			want = byte(n)
		}
		if got := HexValue(c); got != want {
			t.Errorf("HexValue(%q) = %d, want %d", c, got, want)
		}
		if got, want := HexUpper(c), strings.ToUpper(strconv.FormatUint(uint64(c&15), 16))[0]; got != want {
			t.Errorf("HexUpper(%d) = %q, want %q", c, got, want)
		}
	}
}

func TestNumbersDoNotAllocate(t *testing.T) {
	dst := make([]byte, 0, 64)
	allocs := testing.AllocsPerRun(100, func() {
		b := AppendUint(dst, math.MaxInt)
		if n, ok := ParseUint(b); n != math.MaxInt || !ok {
			t.Error(n, ok)
		}
		AppendHex(dst, math.MaxUint64)
	})
	if allocs != 0 {
		t.Errorf("%v allocations", allocs)
	}
}
