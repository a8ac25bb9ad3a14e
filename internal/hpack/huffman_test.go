package hpack

import (
	"bytes"
	"math/rand/v2"
	"testing"

	xnet "golang.org/x/net/http2/hpack"
)

func decoded(t testing.TB, code []byte) (string, bool) {
	t.Helper()
	// the bytes before the text must remain, and the bytes after the room must not be
	// touched
	room := 3 + huffmanRoom(len(code))
	buf := bytes.Repeat([]byte{'#'}, room+8)
	got, ok := decodeHuffman(buf[:3:room], code)
	if string(buf[:3]) != "###" || string(buf[room:]) != "########" {
		t.Fatalf("%x: written outside of the room: %q", code, buf)
	}
	if !ok {
		return "", false
	}
	return string(got[3:]), true
}

func encoded(dst, text []byte) []byte {
	return appendHuffman(dst, text, huffmanSize(text, &codes), &codes)
}

func TestHuffmanCodesAreThoseOfTheStandard(t *testing.T) {
	for c := range 256 {
		text := []byte{byte(c)}
		got, want := encoded(nil, text), xnet.AppendHuffmanString(nil, string(text))
		if !bytes.Equal(got, want) {
			t.Errorf("%#x: %x, want %x", c, got, want)
		}
	}
}

func TestHuffmanDecodesEveryPairOfBytes(t *testing.T) {
	for a := range 256 {
		for b := range 256 {
			text := []byte{byte(a), byte(b)}
			if got, ok := decoded(t, encoded(nil, text)); !ok || got != string(text) {
				t.Fatalf("%x: %x, %v", text, got, ok)
			}
		}
	}
}

func TestHuffmanRefusesMalformedCodes(t *testing.T) {
	for _, c := range []struct {
		name, code, text string
		ok               bool
	}{
		{"nothing", "", "", true},
		{"no padding", "\x00\x00\x00\x00\x00", "00000000", true},
		{"padding of seven bits", "\x00\x2e\x7f", "00:", true},
		{"three bits of padding", "\x07", "0", true},
		{"padding with a zero", "\x06", "", false},
		{"padding of zeros", "\x00", "", false},
		{"only padding", "\xff", "", false},
		{"padding of 15 bits", "\x00\x2e\x7f\xff", "", false},
		{"padding of eight bits", "\xf8\xff", "", false},
		{"the end of the string", "\xff\xff\xff\xfc", "", false},
		{"the end of the string, behind text", "\x00\x00\x00\x00\x00\xff\xff\xff\xfc", "", false},
		{"the end of the string, before text", "\xff\xff\xff\xfc\x00\x00\x00\x00\x00\x00\x00\x00\x00", "", false},
		{"the end of the string, first of the last 64 bits", "00\x00\x02\xff\xff\xff\xff0000", "", false},
		{"a cut code of 30 bits", "\xff\xff\xff", "", false},
		{"thirty bits", "\xff\xff\xff\xf3", "\n", true},
	} {
		x, err := xnet.HuffmanDecodeToString([]byte(c.code))
		got, ok := decoded(t, []byte(c.code))
		if ok != (err == nil) || got != x {
			t.Errorf("%s: %q, %v; x/net %q, %v", c.name, got, ok, x, err)
		}
		if ok != c.ok || ok && got != c.text {
			t.Errorf("%s: %q, %v", c.name, got, ok)
		}
	}
}

func TestHuffmanOfRandomTextOfAllLengths(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for n := range 300 {
		text := make([]byte, n)
		for i := range text {
			if text[i] = byte(r.Uint32()); n%3 > 0 {
				text[i] = text[i]%95 + ' '
			}
		}
		code := encoded([]byte("x"), text)[1:]
		if len(code) != huffmanSize(text, &codes) {
			t.Errorf("%q: %d bytes, huffmanSize says %d", text, len(code), huffmanSize(text, &codes))
		}
		if want := xnet.AppendHuffmanString(nil, string(text)); !bytes.Equal(code, want) {
			t.Errorf("%q: %x, want %x", text, code, want)
		}
		if got, ok := decoded(t, code); !ok || got != string(text) {
			t.Errorf("%q became %q, %v", text, got, ok)
		}
	}
}

func FuzzHuffman(f *testing.F) {
	for _, s := range []string{"", "\xff", "\x07", "\xf8\xff", "\xff\xff\xff\xfc", "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"} {
		f.Add([]byte(s))
	}
	f.Add(xnet.AppendHuffmanString(nil, "Mozilla/5.0 (X11; Linux x86_64) \x00\x80\xff"))
	f.Fuzz(func(t *testing.T, code []byte) {
		want, err := xnet.HuffmanDecodeToString(code)
		got, ok := decoded(t, code)
		if ok != (err == nil) || got != want {
			t.Fatalf("%x: %q, %v; x/net: %q, %v", code, got, ok, want, err)
		}
		if ok && !bytes.Equal(encoded(nil, []byte(got)), code) {
			t.Fatalf("%x: %q has another code", code, got)
		}
		back, ok := decoded(t, encoded(nil, code))
		if !ok || back != string(code) {
			t.Fatalf("%x became %x, %v", code, back, ok)
		}
	})
}
