package fasthttp

import (
	"github.com/valyala/fasthttp/internal/field"
	"github.com/valyala/fasthttp/internal/percent"
)

// parseArgs appends the arguments in text to l. The text is copied as one
// block and decoded there: nothing grows by being decoded.
func parseArgs(l *field.List, text []byte) {
	at := l.Append(text)
	b := l.Bytes(at)
	for pos := 0; pos < len(b); {
		pair := scanArg(b[pos:])
		name := field.Span{Off: at.Off + uint32(pos), Len: uint32(pair.name)}
		value := field.Span{Off: name.Off + uint32(pair.value), Len: uint32(pair.end - pair.value)}
		pos += pair.end + 1
		if name.Len+value.Len == 0 {
			continue
		}
		if pair.encoded {
			decodeArg(l, &name)
			decodeArg(l, &value)
		}
		e := field.Entry{Name: name, Value: value}
		if pair.name == pair.end {
			e.Flags = field.NoValue
		}
		l.Entries = append(l.Entries, e)
	}
}

// scannedArg says where the parts of an argument end and begin.
type scannedArg struct {
	name    int // where the name ends: at the equals sign, or at end
	value   int // where the value begins
	end     int // where the argument ends
	encoded bool
}

// scanArg looks for the parts of the first argument of b.
func scanArg(b []byte) (s scannedArg) {
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

func (s scannedArg) ending(end int) scannedArg {
	s.end = end
	if s.name < 0 {
		s.name, s.value = end, end
	}
	return s
}

func decodeArg(l *field.List, s *field.Span) {
	b := l.Bytes(*s)
	s.Len = uint32(len(percent.AppendDecodedArg(b[:0], b)))
}
