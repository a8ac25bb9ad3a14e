package ascii

import (
	"math/rand/v2"
	"strconv"
	"testing"
)

func TestShortNumbersAreReadAsTheStandardLibraryReadsThem(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		text := strconv.FormatInt(random.Int64N(1_000_000_000_000_000)>>random.IntN(50), 10)
		if at := random.IntN(len(text) + 2); at <= len(text) {
			text = text[:at] + "." + text[at:]
		}
		want, _ := strconv.ParseFloat(text, 64)
		got, ok := parseShortFloat([]byte(text))
		if !ok || got != want {
			t.Fatalf("%s: %v, %v, want %v", text, got, ok, want)
		}
	}
	for _, text := range []string{"", ".", "1..2", "1e3", "+1", "-1", "1234567890123456", "0.123456789012345", " 1"} {
		if f, ok := parseShortFloat([]byte(text)); ok {
			t.Errorf("%q was read as %v", text, f)
		}
	}
}
