// Package urlencoded reads and writes arguments as query strings and forms have them
// (application/x-www-form-urlencoded in the URL standard): pairs of a field.List.
package urlencoded

import (
	"bytes"

	"github.com/valyala/fasthttp/internal/field"
	"github.com/valyala/fasthttp/internal/percent"
)

// Parse appends the arguments in text to l. The text is copied as one block and
// decoded there: nothing grows by being decoded. There are no errors: a percent sign
// that begins no escape is text, and a pair of nothing and nothing is left out.
func Parse(l *field.List, text []byte) {
	at := l.Append(text)
	b := l.Bytes(at)
	for pos := 0; pos < len(b); {
		pair := scan(b[pos:])
		name := field.Span{Off: at.Off + uint32(pos), Len: uint32(pair.name)}
		value := field.Span{Off: name.Off + uint32(pair.value), Len: uint32(pair.end - pair.value)}
		pos += pair.end + 1
		if name.Len+value.Len == 0 {
			continue
		}
		if pair.encoded {
			decode(l, &name)
			decode(l, &value)
		}
		e := field.Entry{Name: name, Value: value}
		if pair.name == pair.end {
			e.Flags = field.NoValue
		}
		l.Entries = append(l.Entries, e)
	}
}

// Count returns how many arguments text has, with those of nothing and nothing.
func Count(text []byte) int {
	if len(text) == 0 {
		return 0
	}
	return bytes.Count(text, []byte{'&'}) + 1
}

// Append appends the pairs of l in encoded form to dst: in their order, separated by
// '&'. One with the flag field.NoValue is written without an equals sign.
func Append(dst []byte, l *field.List) []byte {
	for i := range l.Entries {
		if i > 0 {
			dst = append(dst, '&')
		}
		e := &l.Entries[i]
		dst = percent.AppendArg(dst, l.Bytes(e.Name))
		if e.Flags&field.NoValue == 0 {
			dst = append(dst, '=')
			dst = percent.AppendArg(dst, l.Bytes(e.Value))
		}
	}
	return dst
}

// scanned says where the parts of an argument end and begin.
type scanned struct {
	name    int // where the name ends: at the equals sign, or at end
	value   int // where the value begins
	end     int // where the argument ends
	encoded bool
}

// scan looks for the parts of the first argument of b.
func scan(b []byte) (s scanned) {
	s.name = -1
	for i, c := range b {
		switch c {
		case '=':
			if s.name < 0 {
				s.name, s.value = i, i+1
			}
		case '%', '+':
			s.encoded = true
		case '&':
			return s.ending(i)
		}
	}
	return s.ending(len(b))
}

func (s scanned) ending(end int) scanned {
	s.end = end
	if s.name < 0 {
		s.name, s.value = end, end
	}
	return s
}

func decode(l *field.List, s *field.Span) {
	b := l.Bytes(*s)
	s.Len = uint32(len(percent.AppendDecodedArg(b[:0], b)))
}
