//go:build !purego

package field

import (
	"bytes"
	"os"
	"reflect"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/valyala/fasthttp/internal/ascii"
	"golang.org/x/sys/unix"
)

// walkHead is a request line and lines of each kind that AppendLines takes or leaves, so that
// every position in it is the end of one of its prefixes.
const walkHead = "GET / HTTP/1.1\r\n" +
	"Te: a\r\nte: b\r\nHost: example.com\r\nage: 1\r\nX-Forwarded-For: 1\r\nconnection: keep-alive\r\n" +
	"Strict-Transport-Security: a\r\nX-ENVOY-UPSTREAM-SERVICE-TIME: 1\r\nCookie: a=b; c=d\r\nAccept: a\r\n"

// walkTexts are texts of more than 200 bytes, most of which hostile.
func walkTexts() (texts []string) {
	const start = "GET / HTTP/1.1\r\n"
	letters := strings.Repeat("abcdefg", 40)
	texts = append(texts, walkHead+walkHead, start+walkHead[50:]+walkHead, start+letters, start+letters[:30]+": "+letters, start+letters[:31]+": "+letters, start+"accept: "+letters,
		start+strings.Repeat("te: a\r\n", 40), start+strings.Repeat("a: b\r\n", 40), start+strings.Repeat(":", 240), start+strings.Repeat(": ", 120),
		start+strings.Repeat("\r\n", 120), start+strings.Repeat("\x00", 240), start+strings.Repeat("\xff", 240), start+strings.Repeat("Te: \xff\r\n", 40))
	for _, line := range []string{
		"Accept: a\r\n b", "Accept: a\r\n\tb", "Accept: a\rb", "Accept: a\r", "Accept: a\nb", "Accept: a\x00b", "Accept: \x80\xff", "Accept: a\tb", "Accept:\ta", "Accept: a\t",
		"Accept: a ", "Accept: \x7f", "Accept: a\x7f", ": a", " : a", "Accept : a", "Accept\t: a", " Accept: a", "Accept:", "Accept: ", "Accept:a", "Acc\xe5pt: a", "Te\x00: a", "\x00Te: a",
		"t\x00: a", "@ge: a", "\r\n\r\nAccept: a",
	} {
		for _, next := range []string{"te: b\r\n", "Accept-Language: en\r\n"} {
			texts = append(texts, start+strings.Repeat(line+"\r\n"+next, 16))
		}
	}
	return texts
}

// guardedPage returns three pages, and the first byte and the end of the one in the middle.
// The others cannot be accessed.
func guardedPage(t *testing.T) (pages []byte, first, end int) {
	t.Helper()
	size := os.Getpagesize()
	pages, err := unix.Mmap(-1, 0, 3*size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Munmap(pages); err != nil {
			t.Error(err)
		}
	})
	for _, other := range [][]byte{pages[:size], pages[2*size:]} {
		if err := unix.Mprotect(other, unix.PROT_NONE); err != nil {
			t.Fatal(err)
		}
	}
	return pages, size, 2 * size
}

var walkEffects = [256]Effect{Host: 1, Age: 2, Accept: 5, Cookie: EffectCookie, Connection: EffectConnection, Te: 0, XForwardedFor: 9}

// walked is the result of AppendLines for a text.
type walked struct {
	walk    Walk
	entries []Entry
	text    string
}

// walkIn calls AppendLines for b, with room for some entries, and checks that no other entry
// was changed.
func walkIn(t *testing.T, b []byte, w Walk, room int) walked {
	t.Helper()
	defer func() {
		if r := recover(); r != nil {
			t.Fatalf("%q with %d bytes more, from %d on: %v", b, cap(b)-len(b), w.At, r)
		}
	}()
	other := Entry{Name: Span{1, 2}, Value: Span{3, 4}, ID: 5, Flags: 6, Slack: 7}
	entries := slices.Repeat([]Entry{other}, room+3)
	l := List{Entries: entries[1 : 1 : 1+room]}
	w.Text, w.Effects = b, &walkEffects
	l.AppendLines(&w)
	if n := len(l.Entries); entries[0] != other || slices.ContainsFunc(entries[n+1:], func(e Entry) bool { return e != other }) {
		t.Fatalf("%q: entries outside of the %d that were appended were changed: %v", b, n, entries)
	}
	if w.Left == LeftLine {
		w.ID, w.Size, w.Stop = 0, 0, 0
	}
	if w.Left != LeftName {
		// they are in no use, and may be left from a line before
		w.First, w.Last = 0, 0
	}
	w.Text, w.room = nil, 0
	return walked{w, l.Entries, string(b)}
}

// checkWalk checks the lines that were taken by the rules for usual ones.
func checkWalk(t *testing.T, text string, from int, got walked) {
	t.Helper()
	if !ascii.EqualFoldString([]byte(text), got.text) {
		t.Fatalf("%q became %q", text, got.text)
	}
	at, entries, lines := from, got.entries, 0
	for ; at < got.walk.At; lines++ {
		name, rest, _ := strings.Cut(got.text[at:], ": ")
		value, rest, _ := strings.Cut(rest, "\r\n")
		id, normal := LookupForm([]byte(name))
		if id == Unknown || !normal || value == "" || value[0] <= ' ' || value[len(value)-1] <= ' ' ||
			rest == "" || rest[0] == ' ' || rest[0] == '\t' || strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			t.Fatalf("%q: the line at %d was taken", text, at)
		}
		span := Span{uint32(at + len(name) + len(": ")), uint32(len(value))}
		if effect := walkEffects[id]; effect >= 1 && effect <= Slots {
			if got.walk.Slots[effect-1] != span {
				t.Fatalf("%q: %v in the slot of the line at %d", text, got.walk.Slots, at)
			}
		} else if effect > EffectConnection || effect == EffectConnection && value != "keep-alive" ||
			len(entries) == 0 || entries[0] != (Entry{Name: Span{uint32(at), uint32(len(name))}, Value: span, ID: id}) {
			t.Fatalf("%q: %v after the line at %d", text, entries, at)
		} else {
			entries = entries[1:]
		}
		at = int(span.Off+span.Len) + len("\r\n")
	}
	if at != got.walk.At || len(entries) != 0 || lines != got.walk.Lines {
		t.Fatalf("%q: %+v, position %d after %d lines", text, got, at, lines)
	}
}

// AppendLines reads no byte after the capacity of a text or before its start, writes none
// after its length, and its result does not depend on the bytes after the length.
func TestAppendLinesStaysInMemory(t *testing.T) {
	if !Wide {
		t.Skip("this processor has no wide instructions that are used")
	}
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	pages, first, end := guardedPage(t)
	heap := make([]byte, 1024)
	taken := 0
	for i, text := range walkTexts() {
		for n := range 201 {
			for _, spare := range []int{0, 1, 2, 3, 6, 8, 29, 31, 32, 33, 35, 36, 64} {
				walk := Walk{At: min(16, n), Until: n, KeepNames: i%7 == 6}
				room := (n + spare) % 9
				after := walkHead[n%16:][:spare]

				b := pages[end-n-spare : end-spare : end]
				copy(b, text)
				copy(b[n:n+spare], after)
				got := walkIn(t, b, walk, room)
				if string(b[n:n+spare]) != after {
					t.Fatalf("%q: the bytes after it were changed", b)
				}
				checkWalk(t, text[:n], walk.At, got)
				taken += got.walk.Lines

				b = heap[: n : n+spare]
				copy(b, text)
				copy(b[n:n+spare], bytes.Repeat([]byte("\xff"), spare))
				if want := walkIn(t, b, walk, room); !reflect.DeepEqual(got, want) {
					t.Fatalf("%q with %d bytes more: %+v, want %+v", text[:n], spare, got, want)
				}
			}
		}
		for at := range 40 {
			b := pages[first : first+100 : first+200]
			copy(b, text[16:])
			walkIn(t, b, Walk{At: at, Until: 100}, 9)
		}
	}
	if taken < 15_000 {
		t.Errorf("%d lines were taken", taken)
	}
}

// However large the memory after a text is, it is not searched for the end of a value.
func TestAppendLinesReadsLittleAfterTheText(t *testing.T) {
	if !Wide {
		t.Skip("this processor has no wide instructions that are used")
	}
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	pages, _, end := guardedPage(t)
	for i := range pages[end-400 : end] {
		pages[end-400+i] = 'v'
	}
	for _, text := range walkTexts() {
		for n := range 201 {
			// the rest of the capacity cannot be read
			b := pages[end-32-n : end-32 : end+1000]
			copy(b, text)
			walkIn(t, b, Walk{At: min(16, n), Until: n}, 100)
		}
	}
}

// AppendLines takes a line if the byte after it is there, and 32 bytes of memory, and if it
// begins before Until.
func TestAppendLinesTakesUsualLines(t *testing.T) {
	if !Wide {
		t.Skip("this processor has no wide instructions that are used")
	}
	for n := range 100 {
		text := "GET / HTTP/1.1\r\nTe: " + strings.Repeat("v", n+1) + "\r\n"
		for _, until := range []int{15, 16, 17} {
			got := walkIn(t, append(make([]byte, 0, 200), text+"\r"...), Walk{At: 16, Until: until}, 1)
			if checkWalk(t, text+"\r", 16, got); got.walk.At == len(text) != (until > 16) {
				t.Errorf("%q was taken up to %d, before %d", text, got.walk.At, until)
			}
		}
	}
}

// The loop trusts these sizes: the one of an entry is in its arithmetic, and it changes eight
// bytes at the start of a line with a short name.
func TestSizesForAppendLines(t *testing.T) {
	if size := reflect.TypeFor[Entry]().Size(); size != entrySize {
		t.Errorf("an entry has %d bytes, not %d", size, entrySize)
	}
	for id := Unknown + 1; id < numIDs; id++ {
		if len(id.String()) < 2 {
			t.Errorf("%v is too short", id)
		}
	}
}

// AppendLines does not compare the size of a name of at most 16 bytes: names with equal ends
// and another size must have another slot, also those that end in the zeros of a short name.
func TestNamesWithEqualEndsHaveOtherSlots(t *testing.T) {
	for id := Unknown + 1; id < numIDs; id++ {
		w, size := ends[id], len(id.String())
		for other := range 32 {
			if other != size && slots[w.slot(other)] == id {
				t.Errorf("a name of %d bytes with the ends of %s has its slot", other, id)
			}
		}
	}
}
