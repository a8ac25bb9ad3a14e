package ws

import (
	"encoding/binary"
	"math"
	"slices"
	"strings"
	"testing"
)

// script is the sequence of bytes that a peer sends. It masks frames if the connection
// under test is a server.
type script struct {
	role Role
	b    []byte
}

func to(r Role) *script { return &script{role: r} }

const key = 0x93a1f007

// frame adds a frame whose first byte is first.
func (s *script) frame(first byte, payload string) *script {
	h := Head{Opcode: Opcode(first & bitsOpcode), Fin: first&bitFin != 0, Masked: s.role == Server, Key: key}
	at := len(s.b)
	s.b = AppendFrame(s.b, h, []byte(payload))
	s.b[at] = first
	return s
}

// raw adds bytes unchanged.
func (s *script) raw(b ...byte) *script {
	s.b = append(s.b, b...)
	return s
}

// head adds the first byte of a frame, a length in the given number of bytes, which may be
// longer than necessary, and a key.
func (s *script) head(first byte, bytes int, length uint64) *script {
	var mask byte
	if s.role == Server {
		mask = bitMask
	}
	switch bytes {
	case 1:
		s.raw(first, mask|byte(length))
	case 2:
		s.raw(first, mask|length16, byte(length>>8), byte(length))
	default:
		s.b = binary.BigEndian.AppendUint64(append(s.b, first, mask|length64), length)
	}
	if s.role == Server {
		s.raw(1, 2, 3, 4)
	}
	return s
}

// First bytes of frames.
const (
	fText     = bitFin | byte(Text)
	fBinary   = bitFin | byte(Binary)
	fEnd      = bitFin | byte(Continuation)
	fClose    = bitFin | byte(Close)
	fPing     = bitFin | byte(Ping)
	fPong     = bitFin | byte(Pong)
	beginText = byte(Text)
	beginBin  = byte(Binary)
	goOn      = byte(Continuation)
)

type rule struct {
	name   string
	in     *script
	events []string
	err    *Error
}

var small = Limits{Message: 100, Fragments: 10, Empty: 3}

func msg(payload string) string               { return showMessage(Text, false, []byte(payload)) }
func bin(payload string) string               { return showMessage(Binary, false, []byte(payload)) }
func packed(o Opcode, payload string) string  { return showMessage(o, true, []byte(payload)) }
func ping(payload string) string              { return showControl(Ping, 0, []byte(payload)) }
func pong(payload string) string              { return showControl(Pong, 0, []byte(payload)) }
func closing(code Code, reason string) string { return showControl(Close, code, []byte(reason)) }
func events(all ...string) []string           { return all }
func closeBody(code Code, reason string) string {
	return string([]byte{byte(code >> 8), byte(code)}) + reason
}

// rules hold for both roles, with the limits small and without extensions.
func rules(r Role) []rule {
	long := strings.Repeat("x", 100)
	return []rule{
		{"nothing", to(r), nil, nil},
		{"text", to(r).frame(fText, "Hello"), events(msg("Hello")), nil},
		{"binary", to(r).frame(fBinary, "\xff\x00\x80"), events(bin("\xff\x00\x80")), nil},
		{"empty messages", to(r).frame(fText, "").frame(fBinary, "").frame(fText, "").frame(fText, "").frame(fText, ""), events(msg(""), bin(""), msg(""), msg(""), msg("")), nil},
		{"fragments", to(r).frame(beginText, "Hel").frame(goOn, "l").frame(fEnd, "o").frame(fText, "!"), events(msg("Hello"), msg("!")), nil},
		{"empty fragments", to(r).frame(beginBin, "").frame(goOn, "a").frame(goOn, "").frame(fEnd, ""), events(bin("a")), nil},
		{"all fragments empty", to(r).frame(beginText, "").frame(goOn, "").frame(fEnd, ""), events(msg("")), nil},
		{"ping between fragments", to(r).frame(beginText, "a").frame(fPing, "1").frame(goOn, "").frame(fPong, "2").frame(fPing, "").frame(fEnd, "b"), events(ping("1"), pong("2"), ping(""), msg("ab")), nil},
		{"large ping", to(r).frame(fPing, strings.Repeat("p", 125)), events(ping(strings.Repeat("p", 125))), nil},
		{"an unfinished message", to(r).frame(fText, "a").frame(beginText, "b").frame(goOn, "c"), events(msg("a")), nil},
		{"an unfinished frame", to(r).head(fBinary, 1, 20).raw('a', 'b', 'c'), nil, nil},

		{"RSV1", to(r).frame(fText|bitRSV1, "a"), nil, ErrReserved},
		{"RSV2", to(r).frame(fText|0x20, "a"), nil, ErrReserved},
		{"RSV3", to(r).frame(fText, "a").frame(fText|0x10, "a"), events(msg("a")), ErrReserved},
		{"RSV1 of ping", to(r).frame(fPing|bitRSV1, ""), nil, ErrReserved},
		{"RSV is seen in the first byte", to(r).raw(fText | 0x20), nil, ErrReserved},
		{"opcode 3", to(r).frame(bitFin|3, ""), nil, ErrOpcode},
		{"opcode 7", to(r).frame(bitFin|7, ""), nil, ErrOpcode},
		{"opcode 11", to(r).frame(bitFin|11, ""), nil, ErrOpcode},
		{"opcode 15", to(r).raw(bitFin | 15), nil, ErrOpcode},
		{"opcode 3 in a message", to(r).frame(beginText, "a").frame(3, ""), nil, ErrOpcode},
		{"ping in fragments", to(r).frame(byte(Ping), "a").frame(fEnd, "b"), nil, ErrFragmented},
		{"close in fragments", to(r).raw(byte(Close)), nil, ErrFragmented},
		{"ping of 126 bytes", to(r).frame(fPing, strings.Repeat("p", 126)), nil, ErrControlSize},
		{"ping of 65,536 bytes", to(r).head(fPing, 8, 65536), nil, ErrControlSize},
		{"large close", to(r).frame(fClose, closeBody(1000, strings.Repeat("p", 124))), nil, ErrControlSize},
		{"continuation of nothing", to(r).raw(goOn), nil, ErrContinuation},
		{"last continuation of nothing", to(r).frame(fText, "a").frame(fEnd, "a"), events(msg("a")), ErrContinuation},
		{"text in a message", to(r).frame(beginText, "a").frame(fText, "b"), nil, ErrUnfinished},
		{"binary in a message", to(r).frame(beginText, "a").frame(fPing, "").frame(beginBin, "b"), events(ping("")), ErrUnfinished},

		{"length of 16 bits for 125", to(r).head(fBinary, 2, 125), nil, ErrLongLength},
		{"length of 16 bits for 0", to(r).head(fBinary, 2, 0), nil, ErrLongLength},
		{"length of 64 bits for 65,535", to(r).head(fBinary, 8, 65535), nil, ErrLongLength},
		{"length of 64 bits for 0", to(r).head(fBinary, 8, 0), nil, ErrLongLength},
		{"the highest bit of a length", to(r).head(fBinary, 8, 1<<63), nil, ErrLength},
		{"all bits of a length", to(r).head(fBinary, 8, math.MaxUint64), nil, ErrLength},
		{"the largest length", to(r).head(fBinary, 8, math.MaxInt64), nil, ErrMessageSize},
		{"overflow of the size", to(r).frame(beginBin, "abc").head(fEnd, 8, math.MaxInt64), nil, ErrMessageSize},

		{"message at the limit", to(r).frame(fBinary, long), events(bin(long)), nil},
		{"message over the limit", to(r).head(fBinary, 1, 101), nil, ErrMessageSize},
		{"fragments at the limit", to(r).frame(beginBin, long[1:]).frame(fEnd, "a").frame(fBinary, long), events(bin(long[1:]+"a"), bin(long)), nil},
		{"fragments over the limit", to(r).frame(beginBin, long[1:]).head(goOn, 1, 2), nil, ErrMessageSize},
		{"the limit is not for control frames", to(r).frame(beginBin, long[1:]).frame(fPing, long).frame(fEnd, "a"), events(ping(long), bin(long[1:]+"a")), nil},
		{"many fragments", many(to(r).frame(beginBin, "x"), goOn, "x", 8).frame(fEnd, "x"), events(bin(long[:10])), nil},
		{"each message has its own fragments", many(many(to(r).frame(beginBin, ""), goOn, "x", 8).frame(fEnd, "").frame(beginBin, ""), goOn, "x", 8).frame(fEnd, ""), events(bin(long[:8]), bin(long[:8])), nil},
		{"too many fragments", many(to(r).frame(beginBin, "x"), goOn, "x", 9).frame(fEnd, "x"), nil, ErrManyFragments},
		{"many empty fragments", many(to(r).frame(beginBin, "x"), goOn, "", 3).frame(fEnd, "x"), events(bin("xx")), nil},
		{"too many empty fragments", many(to(r).frame(beginBin, "x"), goOn, "", 4), nil, ErrEmptyFragments},
		{"the first fragment counts", many(to(r).frame(beginBin, ""), goOn, "", 3), nil, ErrEmptyFragments},

		{"text of many alphabets", to(r).frame(fText, "κόσμε 日本 \U0001f600\x00\x7f"), events(msg("κόσμε 日本 \U0001f600\x00\x7f")), nil},
		{"text cut in a character", to(r).frame(beginText, "\xe6").frame(goOn, "\x97").frame(goOn, "").frame(fPing, "").frame(fEnd, "\xa5\xf0\x9f\x98\x80"), events(ping(""), msg("日\U0001f600")), nil},
		{"text that ends in a character", to(r).frame(fText, "a\xe6\x97"), nil, ErrText},
		{"fragments that end in a character", to(r).frame(beginText, "a\xe6\x97").frame(fEnd, ""), nil, ErrText},
		{"text that is not UTF-8", to(r).frame(fText, "a\xffb"), nil, ErrText},
		{"text fails before its frame has ended", to(r).frame(fText, "a").head(fText, 1, 90).raw(0xff ^ 1), events(msg("a")), ErrText},
		{"a surrogate", to(r).frame(beginText, "\xed").frame(goOn, "\xa0"), nil, ErrText},
		{"beyond Unicode fails early", to(r).frame(beginText, "\xf4").frame(goOn, "\x90"), nil, ErrText},
		{"the next text begins anew", to(r).frame(fText, "\xe6\x97\xa5").frame(fBinary, "\xe6").frame(fText, "a"), events(msg("日"), bin("\xe6"), msg("a")), nil},

		{"close without code", to(r).frame(fClose, ""), events(closing(1005, "")), nil},
		{"close with a code", to(r).frame(fClose, closeBody(1000, "")), events(closing(1000, "")), nil},
		{"close with a reason", to(r).frame(fClose, closeBody(1001, "日")), events(closing(1001, "日")), nil},
		{"large reason", to(r).frame(fClose, closeBody(4999, long+long[:23])), events(closing(4999, long+long[:23])), nil},
		{"close in a message", to(r).frame(beginText, "a").frame(fClose, ""), events(closing(1005, "")), nil},
		{"whatever follows close", to(r).frame(fClose, "").frame(fText, "a").frame(3, "").raw(255), events(closing(1005, "")), nil},
		{"close with half a code", to(r).frame(fClose, "\x03"), nil, ErrCloseSize},
		{"close with a reason that is not UTF-8", to(r).frame(fClose, closeBody(1000, "\xff")), nil, ErrCloseReason},
		{"close with a reason that ends in a character", to(r).frame(fClose, closeBody(1000, "a\xe6\x97")), nil, ErrCloseReason},
		{"the code is looked at before the reason", to(r).frame(fClose, closeBody(999, "\xff")), nil, ErrCloseCode},
	}
}

func many(s *script, first byte, payload string, n int) *script {
	for range n {
		s.frame(first, payload)
	}
	return s
}

// maskRules are the rules that depend on the role.
var maskRules = map[Role][]rule{
	Server: {
		{"text without a mask", to(Client).frame(fText, "a"), nil, ErrUnmasked},
		{"empty text without a mask", to(Client).frame(fText, ""), nil, ErrUnmasked},
		{"ping without a mask", to(Client).frame(fPing, "a"), nil, ErrUnmasked},
		{"continuation without a mask", &script{b: slices.Concat(to(Server).frame(beginText, "a").b, to(Client).frame(fEnd, "a").b)}, nil, ErrUnmasked},
		{"a key of zeros", to(Server).raw(fText, bitMask|1, 0, 0, 0, 0, 'a'), events(msg("a")), nil},
		{"the key of the RFC", to(Server).raw(0x81, 0x85, 0x37, 0xfa, 0x21, 0x3d, 0x7f, 0x9f, 0x4d, 0x51, 0x58), events(msg("Hello")), nil},
	},
	Client: {
		{"text with a mask", to(Server).frame(fText, "a"), nil, ErrMasked},
		{"empty text with a mask", to(Server).frame(fText, ""), nil, ErrMasked},
		{"close with a mask", to(Server).frame(fClose, ""), nil, ErrMasked},
		{"the frame of the RFC", to(Client).raw(0x81, 0x05, 'H', 'e', 'l', 'l', 'o'), events(msg("Hello")), nil},
	},
}

// compressedRules hold where RSV1 has a meaning.
func compressedRules(r Role) []rule {
	const rsv1 = bitRSV1
	return []rule{
		{"compressed text", to(r).frame(fText|rsv1, "\xff"), events(packed(Text, "\xff")), nil},
		{"compressed fragments", to(r).frame(beginBin|rsv1, "a").frame(fPing, "").frame(fEnd, "b"), events(ping(""), packed(Binary, "ab")), nil},
		{"text that is not compressed is checked", to(r).frame(fText|rsv1, "\xff").frame(fText, "\xff"), events(packed(Text, "\xff")), ErrText},
		{"RSV1 of a continuation", to(r).frame(beginBin|rsv1, "a").frame(fEnd|rsv1, "b"), nil, ErrReserved},
		{"RSV1 of ping", to(r).frame(fPing|rsv1, ""), nil, ErrReserved},
		{"RSV1 of pong", to(r).frame(fPong|rsv1, ""), nil, ErrReserved},
		{"RSV1 of close", to(r).raw(fClose | rsv1), nil, ErrReserved},
		{"RSV1 and RSV2", to(r).raw(fText | rsv1 | 0x20), nil, ErrReserved},
		{"RSV3", to(r).raw(fText | 0x10), nil, ErrReserved},
		{"RSV1 with an unknown opcode", to(r).raw(bitFin | rsv1 | 3), nil, ErrOpcode},
		{"compressed message at its limit", to(r).head(fBinary|rsv1, 2, 100+12+1024), nil, nil},
		{"compressed message over its limit", to(r).head(fBinary|rsv1, 2, 100+12+1025), nil, ErrMessageSize},
		{"compressed fragments over the limit", to(r).frame(beginBin|rsv1, "a").head(fEnd, 2, 100+12+1024), nil, ErrMessageSize},
		{"the limit without compression", to(r).frame(fBinary|rsv1, "a").head(fBinary, 1, 101), events(packed(Binary, "a")), ErrMessageSize},
	}
}

// Each rule holds for bytes that arrive at once, one by one, and in pieces of other sizes,
// and the model has the same rule.
func TestPeersAreHeldToTheRules(t *testing.T) {
	for _, s := range []setup{{role: Server, limits: small}, {role: Client, limits: small}} {
		checkRules(t, s, rules(s.role))
		checkRules(t, s, maskRules[s.role])
		s.ext.Compression = true
		checkRules(t, s, compressedRules(s.role))
		for _, r := range rules(s.role) {
			if r.name != "RSV1" {
				checkRules(t, s, []rule{r})
			}
		}
	}
}

// Without limits, the ranges of the integers are the limits.
func TestPeersWithoutLimits(t *testing.T) {
	for _, r := range []Role{Server, Client} {
		s := setup{r, Extensions{Compression: true}, Limits{Message: -1, Fragments: -1, Empty: -1}}
		large := strings.Repeat("x", DefaultMessage+1)
		checkRules(t, s, []rule{
			{"large message", to(r).frame(fBinary, large), events(bin(large)), nil},
			{"compressed message", to(r).frame(fBinary|bitRSV1, "a"), events(packed(Binary, "a")), nil},
			{"the largest length", to(r).head(fBinary, 8, math.MaxInt64).raw(1, 2, 3), nil, nil},
			{"the largest compressed length", to(r).head(fBinary|bitRSV1, 8, math.MaxInt64).raw(1, 2, 3), nil, nil},
			{"overflow of the size", to(r).frame(beginBin, "a").head(fEnd, 8, math.MaxInt64), nil, ErrMessageSize},
			{"overflow of the compressed size", to(r).frame(beginBin|bitRSV1, "a").head(fEnd, 8, math.MaxInt64), nil, ErrMessageSize},
			{"empty fragments", many(to(r).frame(beginBin, ""), goOn, "", 1000).frame(fEnd, ""), events(bin("")), nil},
		})
	}
	d := setup{role: Client}
	checkRules(t, d, []rule{
		{"the default for messages", to(Client).head(fBinary, 8, DefaultMessage), nil, nil},
		{"more than that", to(Client).head(fBinary, 8, DefaultMessage+1), nil, ErrMessageSize},
		{"the default for empty fragments", many(to(Client).frame(beginBin, "x"), goOn, "", DefaultEmpty), nil, nil},
		{"more empty fragments", many(to(Client).frame(beginBin, "x"), goOn, "", DefaultEmpty+1), nil, ErrEmptyFragments},
		{"the default for fragments", many(to(Client).frame(beginBin, "x"), goOn, "x", DefaultFragments-1), nil, nil},
		{"more fragments", many(to(Client).frame(beginBin, "x"), goOn, "x", DefaultFragments), nil, ErrManyFragments},
	})
	// a larger message may have more of them
	fragments := many(to(Client).frame(beginBin, "x"), goOn, "x", DefaultFragments)
	for _, message := range []int64{-1, DefaultMessage + leastFragment} {
		d.limits.Message = message
		checkRules(t, d, []rule{{"fragments of a larger message", fragments, nil, nil}})
	}
	checkRules(t, d, []rule{{"one more", many(fragments, goOn, "x", 1), nil, ErrManyFragments}})
}

func checkRules(t *testing.T, s setup, all []rule) {
	t.Helper()
	for _, r := range all {
		var want error
		if r.err != nil {
			want = r.err
		}
		if o := s.model(r.in.b); !slices.Equal(o.events, r.events) || o.err != want {
			t.Errorf("role %d, %s: the model has %v, want %q, %v", s.role, r.name, o, r.events, want)
		}
		steps := []int{len(r.in.b) + 1, 997, 64, 7, 3, 2, 1}
		if len(r.in.b) > 64<<10 {
			steps = steps[:2]
		}
		for _, step := range steps {
			if o := s.feed(t, r.in.b, step); !slices.Equal(o.events, r.events) || o.err != want {
				t.Errorf("role %d, %s, %d bytes at a time: %v, want %q, %v", s.role, r.name, step, o, r.events, want)
			}
		}
	}
}

// Feed detects a fault in a frame as soon as the bytes that show it have arrived.
func TestFaultsAreFoundEarly(t *testing.T) {
	for _, tt := range []struct {
		name string
		in   *script
		at   int // the number of bytes that show it
		err  *Error
	}{
		{"RSV", to(Server).frame(fText|0x20, "a"), 1, ErrReserved},
		{"opcode", to(Server).frame(bitFin|3, "a"), 1, ErrOpcode},
		{"fragment of ping", to(Server).frame(byte(Ping), "a"), 1, ErrFragmented},
		{"continuation", to(Server).frame(fEnd, "a"), 1, ErrContinuation},
		{"no mask", to(Client).frame(fText, "a"), 2, ErrUnmasked},
		{"large ping", to(Server).head(fPing, 2, 200), 2, ErrControlSize},
		{"large message", to(Server).head(fText, 1, 101), 2, ErrMessageSize},
		{"long length", to(Server).head(fText, 2, 100), 4, ErrLongLength},
		{"highest bit", to(Server).head(fText, 8, 1<<63), 10, ErrLength},
		{"text", to(Server).frame(fText, "ab\xf4\x90cd"), 2 + maskSize + 4, ErrText},
	} {
		s := setup{role: Server, limits: small}
		if o := s.feed(t, tt.in.b[:tt.at-1], 1); o.err != nil {
			t.Errorf("%s: %d bytes are an error: %v", tt.name, tt.at-1, o.err)
		}
		if o := s.feed(t, tt.in.b[:tt.at], 1); o.err != tt.err {
			t.Errorf("%s: %d bytes are no error: %v, want %v", tt.name, tt.at, o.err, tt.err)
		}
	}
}

// All possible codes, in frames from a peer and in frames for it.
func TestCodesOfCloseFrames(t *testing.T) {
	for code := range Code(math.MaxUint16) {
		if code.OnWire() != modelOnWire(code) {
			t.Errorf("%d: %v", code, code.OnWire())
		}
		o := setup{role: Client}.feed(t, to(Client).frame(fClose, closeBody(code, "")).b, 10)
		if (o.err == nil) != modelOnWire(code) || o.err != nil && o.err != ErrCloseCode {
			t.Errorf("received %d: %v", code, o.err)
		}
	}
}

// Lengths around the limits of their encodings, in both directions.
func TestLengthsOfFrames(t *testing.T) {
	for _, size := range []int{0, 1, 124, 125, 126, 127, 128, 65535, 65536, 65537, 1 << 20} {
		payload := strings.Repeat("a", size)
		head := 2
		switch {
		case size > 65535:
			head = 10
		case size > 125:
			head = 4
		}
		for _, r := range []Role{Server, Client} {
			in := to(r).frame(fBinary, payload).b
			want := head
			if r == Server {
				want += maskSize
			}
			if len(in)-size != want {
				t.Errorf("the head for %d bytes has %d, want %d", size, len(in)-size, want)
			}
			for _, step := range []int{1, 1000, len(in)} {
				if o := (setup{role: r}).feed(t, in, step); o.err != nil || len(o.events) != 1 || o.events[0] != bin(payload) {
					t.Errorf("role %d: a message of %d bytes, %d at a time: %d events, %v", r, size, step, len(o.events), o.err)
				}
			}
		}
	}
}
