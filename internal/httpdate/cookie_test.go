package httpdate

import (
	"testing"
	"time"
)

func TestParseCookieTakesWordsInAnyOrder(t *testing.T) {
	want := time.Date(2009, time.November, 10, 23, 0, 5, 0, time.UTC)
	for _, in := range []string{
		"Tue, 10 Nov 2009 23:00:05 GMT", "Tuesday, 10-Nov-09 23:00:05 GMT", "Tue Nov 10 23:00:05 2009", "Tue, 10-Nov-2009 23:00:05 GMT",
		"tue, 10 nov 2009 23:00:05 gmt", "Tue, 10 Nov 2009 23:00:05", "10 november 2009 23:0:5", "23:00:05 2009 Nov 10th",
		"Wed, 10-Nov-2009 23:00:05 PST", "Tue, 10 Nov 2009 23:00:05.123 GMT", "2009/Nov/10 23:00:05",
	} {
		got, ok := ParseCookie([]byte(in))
		if !ok || !got.Equal(want) {
			t.Errorf("%q: %v, %v", in, got, ok)
		}
	}
	for in, year := range map[string]int{"70": 1970, "99": 1999, "00": 2000, "69": 2069, "1601": 1601, "9999": 9999, "100": 0, "1600": 0, "12345": 0, "7": 0} {
		got, ok := ParseCookie([]byte("01 Jan " + in + " 00:00:00"))
		if ok != (year != 0) || ok && got.Year() != year {
			t.Errorf("year %q: %v, %v", in, got, ok)
		}
	}
	for _, in := range []string{
		"", "0", "foo", "Tue, 10 Nov 2009", "10 2009 23:00:05", "Nov 2009 23:00:05", "10 Nov 23:00:05", "10 Nov 2009 24:00:00",
		"10 Nov 2009 23:60:00", "10 Nov 2009 23:00:60", "31 Nov 2009 23:00:00", "29 Feb 2009 00:00:00", "0 Nov 2009 00:00:00",
		"32 Jan 2009 00:00:00", "10 Nov 2009 23:00", "10 Nov 2009 123:00:00", "10 No 2009 23:00:00",
	} {
		if got, ok := ParseCookie([]byte(in)); ok {
			t.Errorf("%q: %v", in, got)
		}
	}
}

func FuzzParseCookie(f *testing.F) {
	for _, s := range []string{"Tue, 10 Nov 2009 23:00:05 GMT", "Tuesday, 10-Nov-09 23:00:05 GMT", "Tue Nov 10 23:00:05 2009", "1:2:3 4 feb 70", "::"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		got, ok := ParseCookie(src)
		if !ok {
			return
		}
		again, ok := ParseCookie(Append(nil, got))
		if !ok || !again.Equal(got) {
			t.Fatalf("%q: %v, then %v, %v", src, got, again, ok)
		}
	})
}
