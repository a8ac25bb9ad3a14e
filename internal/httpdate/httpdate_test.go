package httpdate

import (
	"errors"
	"net/http"
	"testing"
	"time"
)

var sample = time.Date(1994, time.November, 6, 8, 49, 37, 0, time.UTC)

func TestAppendWritesWhatTheStandardLibraryWrites(t *testing.T) {
	times := []time.Time{
		{},
		sample,
		time.Unix(0, 0),
		time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC),
		time.Date(1999, 12, 31, 23, 59, 59, 999_999_999, time.UTC),
		time.Date(2000, 2, 29, 12, 0, 0, 0, time.UTC),
		time.Date(2026, 1, 1, 0, 30, 0, 0, time.FixedZone("east", 3600)),
		time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC),
		time.Date(9999, 12, 31, 23, 59, 59, 0, time.FixedZone("west", -3600)),
		time.Date(12345, 1, 2, 3, 4, 5, 0, time.UTC),
		time.Date(-5, 1, 2, 3, 4, 5, 0, time.UTC),
	}
	for day := range 366 {
		times = append(times, time.Date(2024, 1, 1+day, day%24, day%60, (day*7)%60, 0, time.UTC))
	}
	for _, tm := range times {
		want := "x" + tm.UTC().Format(http.TimeFormat)
		if got := string(Append([]byte("x"), tm)); got != want {
			t.Errorf("Append(%v) = %q, want %q", tm, got, want)
		}
	}
}

func TestParseReadsTheThreeFormats(t *testing.T) {
	tests := []struct {
		text string
		want time.Time
	}{
		{"Sun, 06 Nov 1994 08:49:37 GMT", sample},
		{"Sunday, 06-Nov-94 08:49:37 GMT", sample},
		{"Sun Nov  6 08:49:37 1994", sample},

		{"Tue, 29 Feb 2000 00:00:00 GMT", time.Date(2000, 2, 29, 0, 0, 0, 0, time.UTC)},
		{"Thu, 06 Nov 0000 08:49:37 GMT", time.Date(0, 11, 6, 8, 49, 37, 0, time.UTC)},
		{"Fri, 31 Dec 9999 23:59:59 GMT", time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)},
		{"Wed Nov 16 08:49:37 1994", sample.AddDate(0, 0, 10)},

		// tolerated
		{"Mon, 06 Nov 1994 08:49:37 GMT", sample},
		{"SUN, 06 NOV 1994 08:49:37 GMT", sample},
		{"sun, 06 nov 1994 08:49:37 GMT", sample},
		{"Sun,  06  Nov 1994  8:49:37  GMT", sample},
		{"Sun, 06 Nov 1994 08:49:37.25 GMT", sample.Add(250 * time.Millisecond)},
		{"Sun, 06 Nov 1994 08:49:37,1234567899 GMT", sample.Add(123456789)},
		{"MONDAY, 06-NOV-94 08:49:37 GMT", sample},
		{"Sunday, 06-Nov-94 08:49:37 UTC", sample},
		{"Sunday, 06-Nov-94 08:49:37.5 GMT", sample.Add(500 * time.Millisecond)},
		{"Sun Nov 6 08:49:37 1994", sample},
		{"Sun Nov 06 8:49:37 1994", sample},
		{"sun nov 6  08:49:37.5 1994", sample.Add(500 * time.Millisecond)},
	}
	for _, tt := range tests {
		got, err := Parse([]byte(tt.text))
		if err != nil || !got.Equal(tt.want) {
			t.Errorf("Parse(%q) = %v, %v; want %v", tt.text, got, err, tt.want)
		}
		if got.Location() != time.UTC {
			t.Errorf("Parse(%q) is not in UTC", tt.text)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for _, text := range []string{
		"",
		"0",
		"-1",
		"Sun",
		"Sun,",
		"Sun, ",
		"1994-11-06T08:49:37Z",
		"06 Nov 1994 08:49:37 GMT",
		"Xyz, 06 Nov 1994 08:49:37 GMT",
		"Xyzday, 06-Nov-94 08:49:37 GMT",
		" Sun, 06 Nov 1994 08:49:37 GMT",
		"Sun, 06 Nov 1994 08:49:37 GMT ",
		"Sun, 06 Nov 1994 08:49:37 GMT\x00",
		"Sun,06 Nov 1994 08:49:37 GMT",
		"Sun, 6 Nov 1994 08:49:37 GMT",
		"Sun, 06 Nov 94 08:49:37 GMT",
		"Sun, 06 Xxx 1994 08:49:37 GMT",
		"Sun, 06 November 1994 08:49:37 GMT",
		"Sun, 06-Nov-1994 08:49:37 GMT",
		"Sun, 06-Nov-94 08:49:37 GMT",
		"Sun, 00 Nov 1994 08:49:37 GMT",
		"Sun, 31 Nov 1994 08:49:37 GMT",
		"Sun, 32 Dec 1994 08:49:37 GMT",
		"Sun, 29 Feb 1900 08:49:37 GMT",
		"Sun, 29 Feb 1994 08:49:37 GMT",
		"Sun, 30 Feb 2000 08:49:37 GMT",
		"Sun, 06 Nov 1994 24:00:00 GMT",
		"Sun, 06 Nov 1994 23:60:00 GMT",
		"Sun, 06 Nov 1994 23:59:60 GMT",
		"Sun, 06 Nov 1994 08:49:7 GMT",
		"Sun, 06 Nov 1994 08:49:37. GMT",
		"Sun, 06 Nov 1994 08:49:37",
		"Sun, 06 Nov 1994 08:49:37 gmt",
		"Sun, 06 Nov 1994 08:49:37 UTC",
		"Sun, 06 Nov 1994 08:49:37 EST",
		"Sun, 06 Nov 1994 08:49:37 +0000",
		"Sun, +6 Nov 1994 08:49:37 GMT",
		"Sun, 06 Nov +994 08:49:37 GMT",
		"Sunday, 06-Nov-94 08:49:37 EST",
		"Sunday, 06-Nov-94 08:49:37 GMT+3",
		"Sunday, 6-Nov-94 08:49:37 GMT",
		"Sunday, 06-Nov-1994 08:49:37 GMT",
		"Sunday, 06-Nov-+4 08:49:37 GMT",
		"Sunday, 31-Feb-94 08:49:37 GMT",
		"Sunday 06-Nov-94 08:49:37 GMT",
		"Tues, 06-Nov-94 08:49:37 GMT",
		"Sunday Nov  6 08:49:37 1994",
		"Sun Nov  6 08:49:37 94",
		"Sun Nov  6 08:49:37 GMT 1994",
		"Sun Nov  6 08:49:37 1994 ",
		"Sun Nov 31 08:49:37 1994",
		"Sun Nov 006 08:49:37 1994",
		"Sun Nov 6 08:49:37 19945",
	} {
		got, err := Parse([]byte(text))
		if !errors.Is(err, ErrMalformed) || !got.IsZero() {
			t.Errorf("Parse(%q) = %v, %v; want ErrMalformed", text, got, err)
		}
	}
}

func TestParseTwoDigitYearIsAtMostFiftyYearsAhead(t *testing.T) {
	tests := []struct {
		now  time.Time
		text string
		year int
	}{
		{time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC), "Sunday, 06-Nov-94 08:49:37 GMT", 1994},
		{time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC), "Sunday, 06-Nov-26 08:49:37 GMT", 2026},
		{time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC), "Sunday, 06-Nov-75 08:49:37 GMT", 2075},
		{time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC), "Sunday, 31-May-76 23:59:59 GMT", 2076},
		{time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC), "Monday, 01-Jun-76 00:00:00 GMT", 2076},
		{time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC), "Monday, 01-Jun-76 00:00:01 GMT", 1976},
		{time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC), "Sunday, 06-Nov-77 08:49:37 GMT", 1977},
		{time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC), "Tuesday, 29-Feb-00 08:49:37 GMT", 2000},
		{time.Date(1999, 6, 1, 0, 0, 0, 0, time.UTC), "Sunday, 06-Nov-00 08:49:37 GMT", 2000},
		{time.Date(1999, 6, 1, 0, 0, 0, 0, time.UTC), "Sunday, 06-Nov-48 08:49:37 GMT", 2048},
		{time.Date(1999, 6, 1, 0, 0, 0, 0, time.UTC), "Sunday, 06-Nov-49 08:49:37 GMT", 1949},
		{time.Date(2090, 6, 1, 0, 0, 0, 0, time.UTC), "Sunday, 06-Nov-10 08:49:37 GMT", 2110},
	}
	for _, tt := range tests {
		got, err := parse([]byte(tt.text), func() time.Time { return tt.now })
		if err != nil || got.Year() != tt.year {
			t.Errorf("in %d, %q is %v, %v; want the year %d", tt.now.Year(), tt.text, got, err, tt.year)
		}
	}
}

func TestDatesAllocateNothing(t *testing.T) {
	buf := make([]byte, 0, 64)
	texts := [][]byte{
		[]byte("Sun, 06 Nov 1994 08:49:37 GMT"),
		[]byte("Sunday, 06-Nov-94 08:49:37 GMT"),
		[]byte("Sun Nov  6 08:49:37 1994"),
		[]byte("yesterday"),
	}
	n := testing.AllocsPerRun(100, func() {
		buf = Append(buf[:0], sample)
		for _, text := range texts {
			Parse(text)
			ParseCookie(text)
		}
	})
	if n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
}

// FuzzParse checks that package time accepts the same dates as Parse, with the same
// meaning except for the century of a year of two digits, and that the date stays
// the same in a round trip.
func FuzzParse(f *testing.F) {
	for _, text := range []string{
		"Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
		"Sun,  06 Nov 1994 8:49:37.5 GMT", "Sunday, 29-Feb-00 08:49:37 UTC", "sun nov 16 08:49:37,5 1994",
		"Sun, 29 Feb 2100 08:49:37 GMT", "Sun", "",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := Parse(b)
		if err != nil {
			return
		}
		want, layout := reference(string(b))
		if layout == time.RFC850 {
			if centuries := got.Year() - want.Year(); centuries%100 != 0 {
				t.Fatalf("Parse(%q) = %v, want %v in any century", b, got, want)
			}
			want = want.AddDate(got.Year()-want.Year(), 0, 0)
		}
		if layout == "" || !got.Equal(want) {
			t.Fatalf("Parse(%q) = %v, want %v", b, got, want)
		}
		again, err := Parse(Append(nil, got))
		if err != nil || !again.Equal(got.Truncate(time.Second)) {
			t.Fatalf("%v is read back as %v, %v", got, again, err)
		}
	})
}

func reference(text string) (t time.Time, layout string) {
	for _, layout := range []string{http.TimeFormat, time.RFC850, time.ANSIC} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, layout
		}
	}
	return time.Time{}, ""
}

// FuzzEveryTime checks that every second of four-digit years can be formatted, and
// parsed from each format.
func FuzzEveryTime(f *testing.F) {
	for _, second := range []int64{0, -1, 784111777, 951782400, 253402300799, -62167219200} {
		f.Add(second)
	}
	f.Fuzz(func(t *testing.T, second int64) {
		tm := time.Unix(second, 0).UTC()
		if tm.Year() < 0 || tm.Year() > 9999 || second > 1<<40 || second < -(1<<40) {
			t.Skip("the year has no four digits")
		}
		imf := Append(nil, tm)
		if string(imf) != tm.Format(http.TimeFormat) || len(imf) != Len {
			t.Fatalf("Append(%v) = %q", tm, imf)
		}
		for _, text := range []string{string(imf), tm.Format(time.ANSIC)} {
			if got, err := Parse([]byte(text)); err != nil || !got.Equal(tm) {
				t.Fatalf("Parse(%q) = %v, %v", text, got, err)
			}
		}
		short := tm.Format("Monday, 02-Jan-06 15:04:05 GMT")
		got, err := parse([]byte(short), func() time.Time { return tm })
		if err != nil || !got.Equal(tm) {
			t.Fatalf("Parse(%q) = %v, %v", short, got, err)
		}
	})
}

func BenchmarkAppend(b *testing.B) {
	buf := make([]byte, 0, 64)
	b.ReportAllocs()
	for b.Loop() {
		buf = Append(buf[:0], sample)
	}
}

func BenchmarkParse(b *testing.B) {
	text := []byte("Sun, 06 Nov 1994 08:49:37 GMT")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse(text); err != nil {
			b.Fatal(err)
		}
	}
}

// ParseUsual must agree with parse, for every day of 800 years and for every byte at
// every position.
func TestUsualDatesAreReadLikeAllOthers(t *testing.T) {
	check := func(b []byte) {
		t.Helper()
		got, ok := ParseUsual(b)
		want, err := parse(b, time.Now)
		if ok && (err != nil || !got.Equal(want) || got.Location() != want.Location()) {
			t.Fatalf("%q: %v, want %v, %v", b, got, want, err)
		}
	}
	b := make([]byte, 0, Len)
	for day := time.Date(1600, 1, 1, 1, 2, 3, 0, time.UTC); day.Year() < 2400; day = day.Add(24 * time.Hour) {
		b = Append(b[:0], day)
		if _, ok := ParseUsual(b); !ok {
			t.Fatalf("%q is not read", b)
		}
		check(b)
	}
	for i := range b {
		kept := b[i]
		for c := range 256 {
			b[i] = byte(c)
			check(b)
		}
		b[i] = kept
	}
}
