package urlencoded

import (
	"bytes"

	"github.com/valyala/fasthttp/internal/field"
)

// Parse appends the arguments in text to l. The text is copied as one block and
// decoded there, since decoding never makes it longer. There are no errors: a
// percent sign that begins no escape is text, and a pair with empty name and value
// is left out.
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

// Count returns the number of arguments in text, including pairs with empty name and
// value.
func Count(text []byte) int {
	if len(text) == 0 {
		return 0
	}
	return bytes.Count(text, []byte{'&'}) + 1
}

// Append appends the pairs of l in encoded form to dst: in their order, separated by
// '&'. A pair with the flag field.NoValue is written without an equals sign.
func Append(dst []byte, l *field.List) []byte {
	for i := range l.Entries {
		if i > 0 {
			dst = append(dst, '&')
		}
		e := &l.Entries[i]
		dst = AppendArg(dst, l.Bytes(e.Name))
		if e.Flags&field.NoValue == 0 {
			dst = append(dst, '=')
			dst = AppendArg(dst, l.Bytes(e.Value))
		}
	}
	return dst
}

// scanned holds the positions of the parts of an argument.
type scanned struct {
	name    int // the end of the name: at the equals sign, or at end
	value   int // the start of the value
	end     int // the end of the argument
	encoded bool
}

// scan finds the parts of the first argument of b.
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
	s.Len = uint32(len(AppendDecodedArg(b[:0], b)))
}
