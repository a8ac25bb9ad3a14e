package fasthttp

import (
	"testing"
	"time"
)

func TestHTTPDateRoundTrip(t *testing.T) {
	tm := time.Date(1994, time.November, 6, 10, 49, 37, 5, time.FixedZone("east", 2*3600))
	text := AppendHTTPDate([]byte("Date: "), tm)
	if got, want := string(text), "Date: Sun, 06 Nov 1994 08:49:37 GMT"; got != want {
		t.Fatalf("AppendHTTPDate gave %q, want %q", got, want)
	}
	got, err := ParseHTTPDate(text[len("Date: "):])
	if err != nil {
		t.Fatal(err)
	}
	if want := tm.Truncate(time.Second); !got.Equal(want) || got.Location().String() != "GMT" {
		t.Errorf("ParseHTTPDate gave %v, want %v in GMT", got, want)
	}
}

func TestParseHTTPDateRefusesOtherFormats(t *testing.T) {
	for _, text := range []string{"", "0", "1994-11-06T08:49:37Z", "Sun, 06 Nov 1994 08:49:37 EST"} {
		if got, err := ParseHTTPDate([]byte(text)); err == nil || !got.IsZero() {
			t.Errorf("ParseHTTPDate(%q) = %v, %v; want an error", text, got, err)
		}
	}
}
