package wsload

import (
	"bytes"
	"slices"
	"testing"
)

// serverFrame is a frame as a server sends it, with a header of at most 4 bytes.
func serverFrame(first byte, payload []byte) []byte {
	b := []byte{first, byte(len(payload))}
	if len(payload) >= 126 {
		b = []byte{first, 126, byte(len(payload) >> 8), byte(len(payload))}
	}
	return append(b, payload...)
}

func TestAnswersArriveInAnyPieces(t *testing.T) {
	want, wantPong := bytes.Repeat([]byte("0123456789"), 20), []byte("pong")
	in := slices.Concat(
		serverFrame(finBit|opBinary, want),
		serverFrame(opBinary, want[:7]), serverFrame(finBit|opPong, wantPong), serverFrame(opContinuation, nil),
		serverFrame(opContinuation, want[7:150]), serverFrame(finBit|opContinuation, want[150:]),
		serverFrame(finBit|opPing, []byte("hello")),
		serverFrame(finBit|opBinary, want),
	)
	events := []event{message, pong, message, ping, message}
	for size := 1; size <= len(in); size++ {
		var a answers
		var got []event
		for piece := range slices.Chunk(in, size) {
			for len(piece) > 0 {
				n, done, err := a.next(piece, want, wantPong)
				if err != nil {
					t.Fatalf("pieces of %d bytes, after %v: %v", size, got, err)
				}
				if done != nothing {
					got = append(got, done)
				}
				if done == ping && string(a.control) != "hello" {
					t.Errorf("pieces of %d bytes: a ping with %q", size, a.control)
				}
				piece = piece[n:]
			}
		}
		if !slices.Equal(got, events) {
			t.Errorf("pieces of %d bytes: %v, want %v", size, got, events)
		}
	}
}

func FuzzAnswers(f *testing.F) {
	want, wantPong := []byte("payload"), []byte("pong")
	f.Add(serverFrame(finBit|opBinary, want), 3)
	f.Add(slices.Concat(serverFrame(opBinary, want[:3]), serverFrame(finBit|opPong, wantPong), serverFrame(finBit|opContinuation, want[3:])), 1)
	f.Add([]byte{finBit | opBinary, 127, 255, 255, 255, 255, 255, 255, 255, 255}, 5)
	f.Add(serverFrame(finBit|opClose, []byte{3, 232}), 2)
	f.Fuzz(func(t *testing.T, in []byte, at int) {
		// The events and the bytes before the first error do not depend on the pieces.
		read := func(pieces ...[]byte) (got []event, failed bool) {
			var a answers
			for _, piece := range pieces {
				for len(piece) > 0 {
					n, done, err := a.next(piece, want, wantPong)
					if err != nil {
						return got, true
					}
					if n <= 0 || n > len(piece) {
						t.Fatalf("%d of %d bytes were read", n, len(piece))
					}
					if done != nothing {
						got = append(got, done)
					}
					piece = piece[n:]
				}
			}
			return got, false
		}
		at = min(max(0, at), len(in))
		whole, failed := read(in)
		got, failedToo := read(in[:at], in[at:])
		if !slices.Equal(got, whole) || failed != failedToo {
			t.Errorf("%v, failed %v; in two pieces %v, failed %v", whole, failed, got, failedToo)
		}
	})
}

func TestTextsFollowEachOtherAtEveryVariant(t *testing.T) {
	l := Load{Kind: Echo, Size: 40, Depth: 5}
	texts := newTexts(l)
	for first := range 2 * variants {
		out := texts.from(first, l.Depth)
		for i := range l.Depth {
			v := (first + i) % variants
			size := int(out[1] &^ maskBit)
			payload := bytes.Clone(out[6 : 6+size])
			for j := range payload {
				payload[j] ^= out[2+j%4]
			}
			if want := texts.payloads[v]; out[1]&maskBit == 0 || !bytes.Equal(payload, want) {
				t.Fatalf("message %d of those from %d on: %q, want %q", i, first, payload, want)
			}
			out = out[6+size:]
		}
		if len(out) > 0 {
			t.Errorf("%d more bytes", len(out))
		}
	}
	for v := range variants {
		for w := range v {
			if bytes.Equal(texts.payloads[v], texts.payloads[w]) {
				t.Errorf("messages %d and %d are the same", v, w)
			}
		}
	}
}
