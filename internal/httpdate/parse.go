package httpdate

import (
	"errors"
	"time"

	"github.com/valyala/fasthttp/internal/ascii"
)

// ErrMalformed is the error of Parse for a text other than an HTTP date.
var ErrMalformed = errors.New("fasthttp: malformed HTTP date")

// Parse parses a date in any of the three formats of RFC 9110 section 5.6.7:
//
//	Sun, 06 Nov 1994 08:49:37 GMT    IMF-fixdate
//	Sunday, 06-Nov-94 08:49:37 GMT   RFC 850, obsolete
//	Sun Nov  6 08:49:37 1994         asctime, obsolete
//
// The result is in UTC. Names of days and months may be in any case, and the name
// of the day need not match the date. Parse accepts more than one space, an hour of
// one digit and a fraction of a second, and UTC for GMT in the second format. It
// rejects any other time zone: the date would be wrong by hours.
//
// A year of two digits means the latest year with these digits for which the date
// is at most 50 years in the future.
//
// Parse does not keep b, and allocates nothing.
func Parse(b []byte) (time.Time, error) {
	if t, ok := ParseUsual(b); ok {
		return t, nil
	}
	return parse(b, time.Now)
}

// ParseUsual parses a date in the format of Append, which nearly every date has. It
// is faster than Parse, and returns false for all other formats.
func ParseUsual(b []byte) (t time.Time, ok bool) {
	if len(b) != Len || b[3] != ',' || b[4] != ' ' || b[7] != ' ' || b[11] != ' ' || b[16] != ' ' ||
		b[19] != ':' || b[22] != ':' || string(b[25:]) != " GMT" {
		return t, false
	}
	month := time.Month(nameIndex(shortMonths, b[8:11]) + 1)
	if month == 0 || nameIndex(shortDays, b[:3]) < 0 {
		return t, false
	}
	var bad uint
	two := func(i int) int {
		tens, units := uint(b[i]-'0'), uint(b[i+1]-'0')
		// adding 246 carries into bit 8 if the byte is not a digit
		bad |= (tens + 246) | (units + 246)
		return int(10*tens + units)
	}
	d := date{day: two(5), month: month, year: 100*two(12) + two(14), hour: two(17), minute: two(20), second: two(23)}
	if bad&0x100 != 0 || d.year == 0 || !d.valid() {
		return t, false
	}
	seconds := 86400*daysBefore(d.year, int(month), d.day) + 3600*d.hour + 60*d.minute + d.second
	return time.Unix(int64(seconds), 0).UTC(), true
}

// nameIndex returns the index of text in names, a sequence of names of three
// letters, or -1.
func nameIndex(names string, text []byte) int {
	for i := 0; i+3 <= len(names); i += 3 {
		if names[i] == text[0] && names[i+1] == text[1] && names[i+2] == text[2] {
			return i / 3
		}
	}
	return -1
}

// daysBefore returns the number of days from 1 January 1970 to a date. It counts
// years from March on, so that a leap day is the last day of a year.
func daysBefore(year, month, day int) int {
	if month <= 2 {
		year--
		month += 12
	}
	return 365*year + year/4 - year/100 + year/400 + (153*(month-3)+2)/5 + day - 1 - 719468
}

func parse(b []byte, now func() time.Time) (time.Time, error) {
	s := scanner{rest: b}
	var d date
	name := s.letters()
	switch {
	case len(name) == 3 && s.skip(','):
		s.imfFixdate(&d)
	case len(name) == 3:
		s.asctime(&d)
	default:
		s.byte(',')
		s.rfc850(&d, now)
	}
	if s.failed || len(s.rest) > 0 || !isDayName(name) || !d.valid() {
		return time.Time{}, ErrMalformed
	}
	return d.time(), nil
}

type date struct {
	year, day            int
	month                time.Month
	hour, minute, second int
	nanosecond           int
}

func (d *date) time() time.Time {
	return time.Date(d.year, d.month, d.day, d.hour, d.minute, d.second, d.nanosecond, time.UTC)
}

// valid reports whether time.Date takes the date as it is, without moving a part of
// it into the next unit. A leap second is not valid either: package time does not
// know leap seconds.
func (d *date) valid() bool {
	return d.hour < 24 && d.minute < 60 && d.second < 60 &&
		d.day >= 1 && d.day <= daysIn(d.month, d.year)
}

func daysIn(m time.Month, year int) int {
	switch m {
	case time.February:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	case time.April, time.June, time.September, time.November:
		return 30
	}
	return 31
}

// inWindow adds the century to a year of two digits.
func (d *date) inWindow(now time.Time) {
	limit := now.AddDate(50, 0, 0)
	century := limit.Year() / 100 * 100
	d.year += century
	if d.time().After(limit) {
		d.year -= 100
	}
}

// scanner reads a date from left to right. The first mismatch sets failed; the
// results of all later calls are meaningless.
type scanner struct {
	rest   []byte
	failed bool
}

func (s *scanner) imfFixdate(d *date) {
	s.spaces()
	d.day = s.digits(2)
	s.spaces()
	d.month = s.month()
	s.spaces()
	d.year = s.digits(4)
	s.spaces()
	s.clock(d)
	s.spaces()
	s.literal("GMT")
}

func (s *scanner) rfc850(d *date, now func() time.Time) {
	s.spaces()
	d.day = s.digits(2)
	s.byte('-')
	d.month = s.month()
	s.byte('-')
	d.year = s.digits(2)
	s.spaces()
	s.clock(d)
	s.spaces()
	if len(s.rest) > 0 && s.rest[0] == 'U' {
		s.literal("UTC")
	} else {
		s.literal("GMT")
	}
	if !s.failed {
		d.inWindow(now())
	}
}

func (s *scanner) asctime(d *date) {
	s.spaces()
	d.month = s.month()
	s.spaces()
	d.day = s.oneOrTwoDigits()
	s.spaces()
	s.clock(d)
	s.spaces()
	d.year = s.digits(4)
}

func (s *scanner) clock(d *date) {
	d.hour = s.oneOrTwoDigits()
	s.byte(':')
	d.minute = s.digits(2)
	s.byte(':')
	d.second = s.digits(2)
	if len(s.rest) >= 2 && (s.rest[0] == '.' || s.rest[0] == ',') && ascii.Is(s.rest[1], ascii.Digit) {
		s.rest = s.rest[1:]
		d.nanosecond = s.fraction()
	}
}

// fraction reads digits after a decimal point as nanoseconds. It ignores digits
// after the ninth.
func (s *scanner) fraction() int {
	n, unit := 0, int(time.Second/10)
	for len(s.rest) > 0 && ascii.Is(s.rest[0], ascii.Digit) {
		n += unit * int(s.rest[0]-'0')
		unit /= 10
		s.rest = s.rest[1:]
	}
	return n
}

func (s *scanner) skip(c byte) bool {
	if len(s.rest) == 0 || s.rest[0] != c {
		return false
	}
	s.rest = s.rest[1:]
	return true
}

func (s *scanner) byte(c byte) {
	if !s.skip(c) {
		s.failed = true
	}
}

// spaces reads one space or more.
func (s *scanner) spaces() {
	s.byte(' ')
	for s.skip(' ') {
	}
}

func (s *scanner) literal(text string) {
	if len(s.rest) < len(text) || string(s.rest[:len(text)]) != text {
		s.failed = true
		return
	}
	s.rest = s.rest[len(text):]
}

func (s *scanner) letters() []byte {
	n := 0
	for n < len(s.rest) && ascii.Is(s.rest[n], ascii.Alpha) {
		n++
	}
	word := s.rest[:n]
	s.rest = s.rest[n:]
	return word
}

func (s *scanner) digits(count int) int {
	if len(s.rest) < count {
		s.failed = true
		return 0
	}
	n, ok := ascii.ParseUint(s.rest[:count])
	if !ok {
		s.failed = true
		return 0
	}
	s.rest = s.rest[count:]
	return n
}

func (s *scanner) oneOrTwoDigits() int {
	if len(s.rest) >= 2 && ascii.Is(s.rest[1], ascii.Digit) {
		return s.digits(2)
	}
	return s.digits(1)
}

func (s *scanner) month() time.Month {
	if len(s.rest) >= 3 {
		for i := 0; i < len(shortMonths); i += 3 {
			if ascii.EqualFoldString(s.rest[:3], shortMonths[i:i+3]) {
				s.rest = s.rest[3:]
				return time.Month(i/3 + 1)
			}
		}
	}
	s.failed = true
	return 0
}

// isDayName reports whether b names a day of the week, in three letters or in
// full.
func isDayName(b []byte) bool {
	for day := time.Sunday; day <= time.Saturday; day++ {
		name := day.String()
		if ascii.EqualFoldString(b, name) || ascii.EqualFoldString(b, name[:3]) {
			return true
		}
	}
	return false
}
