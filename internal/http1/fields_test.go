package http1

import (
	"strings"
	"testing"

	"github.com/valyala/fasthttp/internal/field"
)

const tchars = "!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// naiveFields parses a field section as RFC 9112 section 5 defines it, line by line,
// without the code of the package. It returns the names and values, one line each, and the
// length of the section: 0 if its end is missing, -1 if it is malformed.
func naiveFields(section string, spaces bool) (said string, n int) {
	rest := section
	for {
		line, behind, found := strings.Cut(rest, "\r\n")
		if !found {
			return "", 0
		}
		rest = behind
		if line == "" {
			return said, len(section) - len(rest)
		}
		name, value, found := strings.Cut(line, ":")
		allowed := tchars
		if spaces && !strings.HasPrefix(name, " ") {
			name, allowed = strings.TrimRight(name, " "), tchars+" "
		}
		if !found || name == "" || strings.Trim(name, allowed) != "" {
			return "", -1
		}
		for _, c := range []byte(value) {
			if c < 0x20 && c != '\t' || c == 0x7f {
				return "", -1
			}
		}
		if strings.Contains(name, " ") {
			said += name + "=" + strings.Trim(value, " \t") + "\n"
			continue
		}
		words := strings.Split(strings.ToLower(name), "-")
		for i, w := range words {
			if w != "" {
				words[i] = strings.ToUpper(w[:1]) + w[1:]
			}
		}
		said += strings.Join(words, "-") + "=" + strings.Trim(value, " \t") + "\n"
	}
}

// FuzzFields compares the parser with naiveFields, in every role.
func FuzzFields(f *testing.F) {
	for _, s := range []string{
		"Host: a\r\n\r\n", "hOST:a\r\nX-y:  b\t \r\nEmpty:\r\nEmpty: \r\n\r\nbehind", "A: b\tc\t\r\n\r\n", "A: \t\r\n\r\n", "A:b\r\n :c\r\n\r\n",
		"--a-b-: c\r\n\r\n", "User-Agent: x\r\nuser-agent: y\r\n\r\n", "A b: c\r\n\r\n", "A: b\x7f\r\n\r\n", "A: b\r\n", "A: b \r\n\r\n", "A: b\rc\r\n\r\n",
		"A : b\r\nx own  : c\r\n\r\n", "Content-Length : 1\r\n\r\n", " a: b\r\n\r\n", " : b\r\n\r\n", "a\t: b\r\n\r\n",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, section string) {
		if strings.Count(section, "\n") > DefaultMaxFields || len(section) > DefaultMaxHead-100 {
			return // over a limit, which naiveFields does not have
		}
		lone := strings.Contains(strings.ReplaceAll(section, "\r\n", ""), "\n")
		for role, start := range map[Role]string{Request: "GET / HTTP/1.1\r\n", Response: "HTTP/1.1 200 OK\r\n", trailers: ""} {
			if role == Response && (lone || strings.Contains(section, "\n ") || strings.Contains(section, "\n\t")) {
				continue // responses may have lone LFs and folds
			}
			want, size := naiveFields(section, role == Response)
			raw := []byte(start + section)
			h := &Head{KeepAll: true}
			fields := &field.List{Block: raw}
			n, err := 0, error(nil)
			if role == trailers {
				n, err = h.ParseTrailers(raw, fields)
			} else {
				n, err = h.Parse(role, raw, fields)
			}
			switch err {
			case error(ErrContentLength), error(ErrDuplicateContentLength), error(ErrTransferEncoding):
				continue
			}
			switch {
			case size < 0 && err == nil:
				t.Fatalf("role %d: %q was accepted", role, raw)
			case size == 0 && n != 0:
				t.Fatalf("role %d: %q has no end, but %d bytes were read", role, raw, n)
			case size > 0 && (n != len(start)+size || err != nil):
				t.Fatalf("role %d: %q: %d, %v, want %d", role, raw, n, err, len(start)+size)
			}
			if size <= 0 {
				continue
			}
			var said strings.Builder
			for i := range fields.Entries {
				said.WriteString(string(fields.Name(i)) + "=" + string(fields.Value(i)) + "\n")
				if id := fields.Entries[i].ID; id != field.Lookup(fields.Name(i)) {
					t.Fatalf("%q: %s has the id %d", raw, fields.Name(i), id)
				}
			}
			if said.String() != want {
				t.Fatalf("role %d: %q:\n%s\nwant\n%s", role, raw, said.String(), want)
			}
		}
	})
}

// Values of every length around machine words, with every end that a
// line can have, and names around the length of the known ones.
func TestFieldLinesOfEveryLength(t *testing.T) {
	for size := range 40 {
		name, value := strings.Repeat("n", size+1), strings.Repeat("v", size)
		for _, space := range []string{"", " ", "\t", "  ", " \t "} {
			for _, behind := range []string{"", " ", "\t", " \t"} {
				section := name + ":" + space + value + behind + "\r\nHost:" + space + value + behind + "\r\n\r\n"
				want, _ := naiveFields(section, false)
				for role, start := range map[Role]string{Request: "GET / HTTP/1.1\r\n", Response: "HTTP/1.1 200 OK\r\n"} {
					raw := []byte(start + section)
					fields := &field.List{Block: raw}
					n, err := (&Head{KeepAll: true}).Parse(role, raw, fields)
					got := ""
					for i := range fields.Entries {
						got += string(fields.Name(i)) + "=" + string(fields.Value(i)) + "\n"
					}
					if n != len(raw) || err != nil || got != want {
						t.Fatalf("%q: %d, %v, %q, want %q", raw, n, err, got, want)
					}
				}
			}
		}
	}
}
