package fasthttp

import (
	"math"
	"strconv"
	"testing"

	"github.com/valyala/fasthttp/internal/ascii"
)

func TestParseUintTakesDigitsOnly(t *testing.T) {
	for in, want := range map[string]int{
		"0": 0, "7": 7, "007": 7, "1234567890": 1234567890, strconv.Itoa(math.MaxInt): math.MaxInt,
	} {
		if n, err := ParseUint([]byte(in)); n != want || err != nil {
			t.Errorf("%q: %d, %v", in, n, err)
		}
		if got := string(AppendUint([]byte("<"), want)); got != "<"+strconv.Itoa(want) {
			t.Errorf("%d is written as %q", want, got)
		}
	}
	for in, want := range map[string]error{
		"": ascii.ErrNoDigits, "-1": ascii.ErrNotDecimal, "+1": ascii.ErrNotDecimal, " 1": ascii.ErrNotDecimal, "1 ": ascii.ErrNotDecimal,
		"1.5": ascii.ErrNotDecimal, "0x1": ascii.ErrNotDecimal, "1_0": ascii.ErrNotDecimal, "1e3": ascii.ErrNotDecimal,
		"9223372036854775808": ascii.ErrTooLarge, "99999999999999999999": ascii.ErrTooLarge, "٣": ascii.ErrNotDecimal,
	} {
		if n, err := ParseUint([]byte(in)); n != -1 || err != want {
			t.Errorf("%q: %d, %v, want %v", in, n, err, want)
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

func TestParseUfloat(t *testing.T) {
	for in, want := range map[string]float64{
		"0": 0, "1": 1, "+1": 1, "1.": 1, ".5": .5, "0.1": .1, "123.456": 123.456, "1e3": 1000, "1E+3": 1000, "1e-3": .001,
		"1.e1": 10, "007": 7, "99999999999999999999": 1e20, "0.30000000000000004": 0.30000000000000004,
		"1e-400": 0, "1e22": 1e22, "1e23": 1e23, "9223372036854775808": 9223372036854775808,
	} {
		if f, err := ParseUfloat([]byte(in)); f != want || err != nil {
			t.Errorf("%q: %v, %v", in, f, err)
		}
	}
	for in, want := range map[string]error{
		"": ascii.ErrNoDecimal, ".": ascii.ErrNoDecimal, "e1": ascii.ErrNoDecimal, ".e1": ascii.ErrNoDecimal, "1e": ascii.ErrNoDecimal, "1e+": ascii.ErrNoDecimal,
		"1ee2": ascii.ErrNoDecimal, "1.5.2": ascii.ErrNoDecimal, " 1": ascii.ErrNoDecimal, "1 ": ascii.ErrNoDecimal, "abc": ascii.ErrNoDecimal,
		"0x1p4": ascii.ErrNoDecimal, "inf": ascii.ErrNoDecimal, "Infinity": ascii.ErrNoDecimal, "nan": ascii.ErrNoDecimal, "1_0": ascii.ErrNoDecimal,
		"-1": ascii.ErrNegative, "-0": ascii.ErrNegative, "--1": ascii.ErrNegative, "1e400": ascii.ErrTooLarge,
	} {
		if f, err := ParseUfloat([]byte(in)); f != -1 || err != want {
			t.Errorf("%q: %v, %v, want %v", in, f, err, want)
		}
	}
}

func TestNumbersDoNotAllocate(t *testing.T) {
	dst := make([]byte, 0, 32)
	n := testing.AllocsPerRun(100, func() {
		dst = AppendUint(dst[:0], 1234567890)
		_, _ = ParseUint(dst)
		_, _ = ParseUfloat(dst)
		_, _ = ParseUint([]byte("x"))
		_, _ = ParseUfloat([]byte("x"))
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func FuzzParseNumbers(f *testing.F) {
	for _, s := range []string{"", "0", "12", "1.5e3", "-1", "9223372036854775808", "1_0", "inf"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		n, err := ParseUint(b)
		want, wantErr := strconv.ParseUint(string(b), 10, strconv.IntSize-1)
		if (err == nil) != (wantErr == nil) || err == nil && n != int(want) {
			t.Errorf("%q: %d, %v; strconv says %d, %v", b, n, err, want, wantErr)
		}
		if err != nil && n != -1 {
			t.Errorf("%q: %d with an error", b, n)
		}
		x, err := ParseUfloat(b)
		if err != nil && x != -1 || err == nil && !(x >= 0 && x <= math.MaxFloat64) {
			t.Errorf("%q: %v, %v", b, x, err)
		}
		if wantErr == nil && (err != nil || x != float64(want)) {
			t.Errorf("%q: %v, %v, want %d", b, x, err, want)
		}
	})
}
