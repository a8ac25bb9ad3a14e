package wire

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"
)

func fromHex(t testing.TB, text string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(text, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// read reads all of b as a stream, which arrives in pieces of the given size, and returns the
// frames as text.
func read(s Stream, limit int, b []byte, piece int) (all []string, left int, err *Error) {
	var r Reader
	r.Init(s, limit)
	var held []byte
	data := -1 // the entry of all to which DATA that has begun belongs
	for {
		n, f, ok, need, err := r.Next(held)
		if err != nil {
			return all, len(held), err
		}
		if need > 0 && need <= len(held)-n {
			panic("needs bytes that it has")
		}
		switch {
		case !ok:
		case f.Type == TypeData:
			if data < 0 {
				data = len(all)
				all = append(all, "0:")
			}
			all[data] += string(f.Payload)
		default:
			all = append(all, fmt.Sprintf("%x:%s", uint64(f.Type), f.Payload))
			if f.TooLarge {
				all[len(all)-1] += "too large"
			}
		}
		if !r.Pending() && ok {
			data = -1
		}
		held = held[n:]
		if ok {
			continue
		}
		if len(b) == 0 {
			return all, len(held), nil
		}
		k := min(piece, len(b))
		held, b = append(held[:len(held):len(held)], b[:k]...), b[k:]
	}
}

func TestVarintsOfTheRFC(t *testing.T) {
	for text, want := range map[string]uint64{
		"c2197c5eff14e88c": 151288809941952652, "9d7f3e7d": 494878333, "7bbd": 15293, "25": 37, "4025": 37,
	} {
		b := fromHex(t, text)
		if n, size := Varint(b); n != want || size != len(b) {
			t.Errorf("%s is %d of %d bytes", text, n, size)
		}
		if n, size := Varint(b[:len(b)-1]); size != 0 {
			t.Errorf("%s cut off is %d", text, n)
		}
	}
	for _, n := range []uint64{0, 63, 64, 16383, 16384, 1<<30 - 1, 1 << 30, maxVarint} {
		if got, size := Varint(AppendVarint(nil, n)); got != n || size == 0 {
			t.Errorf("%d is read as %d", n, got)
		}
	}
}

func TestOrderAndTypesOfFrames(t *testing.T) {
	for _, row := range []struct {
		stream Stream
		bytes  string
		want   string
		code   Code
	}{
		{Request, "01 01 61", "1:a", 0},
		{Request, "01 01 61 00 02 6263 00 01 64 01 01 65", "1:a|0:bc|0:d|1:e", 0},
		{Request, "01 01 61 00 00 01 00", "1:a|1:", 0},
		{Request, "21 02 0000 01 01 61 4040 01 00 00 01 62", "1:a|0:b", 0}, // unknown types
		{Request, "00 01 61", "", FrameUnexpected},
		{Request, "01 01 61 01 01 62 00 01 63", "1:a|1:b", FrameUnexpected},
		{Request, "01 01 61 01 01 62 01 01 63", "1:a|1:b", FrameUnexpected},
		{Request, "01 05 6162636465", "1:too large", 0},
		{Request, "02", "", FrameUnexpected}, {Request, "06", "", FrameUnexpected},
		{Request, "08", "", FrameUnexpected}, {Request, "09", "", FrameUnexpected},
		{Request, "03", "", FrameUnexpected}, {Request, "04", "", FrameUnexpected},
		{Request, "05", "", FrameUnexpected}, {Request, "07", "", FrameUnexpected}, {Request, "0d", "", FrameUnexpected},
		{Response, "01 01 61 05 00", "1:a", IDError},
		{ControlOfClient, "04 00 07 01 00 0d 01 05 21 01 00", "4:|7:\x00|d:\x05", 0},
		{ControlOfClient, "07 01 00", "", MissingSettings}, {ControlOfClient, "21 00", "", 0},
		{ControlOfClient, "04 00 04 00", "4:", FrameUnexpected},
		{ControlOfClient, "04 00 00 00", "4:", FrameUnexpected}, {ControlOfClient, "04 00 01 00", "4:", FrameUnexpected},
		{ControlOfClient, "04 00 05 00", "4:", FrameUnexpected}, {ControlOfClient, "04 00 03 01 00", "4:", IDError},
		{ControlOfClient, "04 00 02 00", "4:", FrameUnexpected},
		{ControlOfClient, "04 4401", "", ExcessiveLoad},
		{ControlOfServer, "04 00 0d 01 00", "4:", FrameUnexpected},
	} {
		if row.stream == ControlOfClient && row.bytes == "21 00" {
			row.code = MissingSettings // a reserved type must not be first, either
		}
		for _, piece := range []int{1, 2, 100} {
			got, _, err := read(row.stream, 4, fromHex(t, row.bytes), piece)
			code := Code(0)
			if err != nil {
				code = err.Code
			}
			if strings.Join(got, "|") != row.want || code != row.code {
				t.Errorf("stream %d, %s in pieces of %d: %q, %v; want %q, %v", row.stream, row.bytes, piece, got, err, row.want, row.code)
			}
		}
	}
}

func TestFramesWithoutContentAreLimited(t *testing.T) {
	for _, idle := range []string{"00 00", "21 00"} {
		b := append([]byte{1, 0}, bytes.Repeat(fromHex(t, idle), maxIdleFrames)...)
		if _, _, err := read(Request, 10, b, 4096); err != nil {
			t.Error(err)
		}
		if _, _, err := read(Request, 10, append(b, fromHex(t, idle)...), 4096); err == nil || err.Code != ExcessiveLoad {
			t.Errorf("%s: %v", idle, err)
		}
		// a tunnel may last for days: each frame with content permits one without
		pairs := append([]byte{1, 0}, bytes.Repeat(fromHex(t, idle+" 00 01 61"), 3*maxIdleFrames)...)
		if _, _, err := read(Request, 10, pairs, 4096); err != nil {
			t.Errorf("%s between content: %v", idle, err)
		}
	}
}

func TestInformationalResponsesMayComeFirst(t *testing.T) {
	var r Reader
	r.Init(Response, 10)
	b := fromHex(t, "01 01 61 01 01 62 00 01 63")
	for i, want := range []Type{TypeHeaders, TypeHeaders, TypeData} {
		n, f, ok, _, err := r.Next(b)
		if err != nil || !ok || f.Type != want {
			t.Fatalf("frame %d: %v, %v, %v", i, f, ok, err)
		}
		if b = b[n:]; i == 0 {
			r.Interim()
		}
	}
}

func TestSettings(t *testing.T) {
	for _, s := range []Settings{{}, {LimitsSections: true}, {TableCapacity: 4096, BlockedStreams: 16, SectionSize: 1 << 20, LimitsSections: true, ExtendedConnect: true}} {
		b := s.Append(nil)
		var got Settings
		if b[0] != byte(TypeSettings) || int(b[1]) != len(b)-2 {
			t.Errorf("the frame is %x", b)
		}
		if err := got.Parse(b[2:]); err != nil || got != s {
			t.Errorf("%+v is read as %+v, %v", s, got, err)
		}
	}
	many := []byte{}
	for i := range maxSettings + 1 {
		many = append(AppendVarint(many, uint64(i*31+33)), 0)
	}
	for text, code := range map[string]Code{
		"06 01 06 01": SettingsError, "21 00 21 00": SettingsError, "02 00": SettingsError, "03 00": SettingsError,
		"04 00": SettingsError, "05 00": SettingsError, "08 02": SettingsError, "06": FrameError, "06 40": FrameError,
		hex.EncodeToString(many): ExcessiveLoad,
	} {
		if err := new(Settings).Parse(fromHex(t, text)); err == nil || err.Code != code {
			t.Errorf("%s: %v, want %v", text, err, code)
		}
	}
}

func TestNumbersAndNames(t *testing.T) {
	if n, err := Number([]byte{0x40, 5}); err != nil || n != 5 {
		t.Error(n, err)
	}
	for _, p := range [][]byte{{}, {0x40}, {5, 5}} {
		if _, err := Number(p); err == nil || err.Code != FrameError {
			t.Errorf("%x: %v", p, err)
		}
	}
	if err := (&Error{IDError, "an id"}); err.Error() != "http3: an id (H3_ID_ERROR)" || Code(7).String() != "the HTTP/3 error 0x7" {
		t.Error(err, Code(7))
	}
	var room [MaxFrameHead]byte
	if unused := PutFrame(room[:], TypeData, 70); !bytes.Equal(room[unused:], []byte{0, 0x40, 70}) {
		t.Errorf("%x from %d on", room, unused)
	}
}

// FuzzReader reads the same bytes at once and in pieces.
func FuzzReader(f *testing.F) {
	f.Add(uint8(0), []byte("\x01\x01a\x00\x02bc\x21\x01x\x01\x01d"), uint8(3))
	f.Add(uint8(2), []byte("\x04\x02\x06\x01\x07\x01\x00"), uint8(1))
	f.Fuzz(func(t *testing.T, s uint8, b []byte, piece uint8) {
		stream := Stream(s % 4)
		whole, left, err := read(stream, 40, b, max(len(b), 1))
		pieces, leftInPieces, errInPieces := read(stream, 40, b, int(piece)+1)
		if strings.Join(whole, "|") != strings.Join(pieces, "|") || (err == nil) != (errInPieces == nil) || err == nil && left != leftInPieces {
			t.Fatalf("at once %q, %d, %v; in pieces %q, %d, %v", whole, left, err, pieces, leftInPieces, errInPieces)
		}
		if left > maxControl+2*MaxFrameHead && err == nil {
			t.Fatalf("%d bytes wait", left)
		}
		var settings Settings
		if settings.Parse(b) == nil {
			var again Settings
			if err := again.Parse(settings.Append(nil)[2:]); err == nil && again != settings {
				t.Fatalf("%+v is read as %+v", settings, again)
			}
		}
	})
}
