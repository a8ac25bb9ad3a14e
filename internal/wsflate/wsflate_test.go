package wsflate

import (
	"bytes"
	stdflate "compress/flate"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/valyala/fasthttp/internal/bufpool"
	"github.com/valyala/fasthttp/internal/ws"
)

// messages returns messages of varying sizes, similar to each other.
func messages(n int) (all [][]byte) {
	r := rand.New(rand.NewPCG(1, 2))
	text := []byte(strings.Repeat("the quick brown fox jumps over the lazy dog, ", 40))
	noise := make([]byte, 300)
	for i := range noise {
		noise[i] = byte(r.Uint32())
	}
	for i := range n {
		var m []byte
		for len(m) < []int{0, 1, 125, 5000, 70_000}[i%5] {
			if r.IntN(3) == 0 {
				m = append(m, noise[r.IntN(len(noise)):]...)
			}
			m = append(m, text[r.IntN(len(text)):]...)
		}
		all = append(all, m)
	}
	return all
}

func compress(d *Deflater, p []byte) []byte {
	b := bufpool.Get(0)
	defer bufpool.Put(b)
	d.Compress(b, p)
	return bytes.Clone(b.B)
}

func decompress(i *Inflater, packed []byte, limit int64) ([]byte, error) {
	b := bufpool.Get(0)
	defer bufpool.Put(b)
	err := i.Decompress(b, packed, limit)
	return bytes.Clone(b.B), err
}

func TestMessagesReturnUnchanged(t *testing.T) {
	for _, takeover := range []bool{false, true} {
		for bits := uint8(MinBits); bits <= MaxBits; bits++ {
			for level := int8(MinLevel); level <= MaxLevel; level++ {
				if bits < MaxBits && level > MinLevel {
					break // it has no effect
				}
				t.Run(fmt.Sprintf("takeover=%v/bits=%d/level=%d", takeover, bits, level), func(t *testing.T) {
					d := &Deflater{Level: level, Bits: bits, Takeover: takeover}
					defer d.Release()
					i := &Inflater{Bits: bits, Takeover: takeover}
					defer i.Release()
					for n, m := range messages(6) {
						got, err := decompress(i, compress(d, m), -1)
						if err != nil || !bytes.Equal(got, m) {
							t.Fatalf("message %d of %d bytes: got %d bytes, %v", n, len(m), len(got), err)
						}
					}
				})
			}
		}
	}
}

// With context takeover the messages are one stream of DEFLATE, which any decoder reads, and
// no match is further back than the window.
func TestWindowIsKept(t *testing.T) {
	for bits := uint8(MinBits); bits <= MaxBits; bits++ {
		d := &Deflater{Level: 1, Bits: bits, Takeover: true}
		var stream, want []byte
		for _, m := range messages(15) {
			stream = append(append(stream, compress(d, m)...), tail...)
			want = append(want, m...)
		}
		d.Release()
		stream = append(stream, ending[len(tail):]...)
		got, err := io.ReadAll(stdflate.NewReader(bytes.NewReader(stream)))
		if err != nil || !bytes.Equal(got, want) {
			t.Fatalf("bits %d: the stream has %d bytes, %v, want %d", bits, len(got), err, len(want))
		}
		furthest, matches := measure(t, stream)
		if furthest > 1<<bits || matches == 0 {
			t.Errorf("bits %d: the furthest of %d matches is %d back", bits, matches, furthest)
		}
	}
}

func TestTakeoverMakesSimilarMessagesSmaller(t *testing.T) {
	m := messages(4)[3]
	alone := &Deflater{Level: 1, Bits: MaxBits}
	first, second := compress(alone, m), compress(alone, m)
	if !bytes.Equal(first, second) {
		t.Error("without takeover, a message is not compressed for itself")
	}
	d := &Deflater{Level: 1, Bits: MaxBits, Takeover: true}
	defer d.Release()
	first, second = compress(d, m), compress(d, m)
	if len(second) > len(first)/2 {
		t.Errorf("with takeover, a repeated message has %d bytes, the first one %d", len(second), len(first))
	}
	// after Release the peer can read a message although it has missed others
	d.Release()
	i := &Inflater{Bits: MaxBits, Takeover: true}
	defer i.Release()
	if got, err := decompress(i, compress(d, m), -1); err != nil || !bytes.Equal(got, m) {
		t.Errorf("after Release: %d bytes, %v", len(got), err)
	}
}

func TestPartsOfAMessage(t *testing.T) {
	m := messages(5)[4]
	for _, takeover := range []bool{false, true} {
		d := &Deflater{Level: 6, Bits: MaxBits, Takeover: takeover}
		i := &Inflater{Bits: MaxBits, Takeover: takeover}
		for range 3 {
			b := bufpool.Get(0)
			for rest := m; len(rest) > 0; {
				n := min(len(rest), 7001)
				d.Write(b, rest[:n])
				rest = rest[n:]
			}
			d.End(b)
			i.Begin(b.B)
			bufpool.Put(b)
			var got []byte
			piece := make([]byte, 333)
			for {
				n, err := i.Read(piece)
				got = append(got, piece[:n]...)
				if err != nil {
					if err != io.EOF {
						t.Fatal(err)
					}
					break
				}
			}
			i.End()
			if !bytes.Equal(got, m) {
				t.Fatalf("takeover %v: got %d bytes, want %d", takeover, len(got), len(m))
			}
		}
		d.Release()
		i.Release()
	}
}

// The messages of RFC 7692 section 7.2.3, and a few of other peers.
func TestExamples(t *testing.T) {
	tests := []struct {
		name, packed, want string
		err                error
	}{
		{"one block", "\xf2\x48\xcd\xc9\xc9\x07\x00", "Hello", nil},
		{"no compression", "\x00\x05\x00\xfa\xff\x48\x65\x6c\x6c\x6f\x00", "Hello", nil},
		{"final block", "\xf3\x48\xcd\xc9\xc9\x07\x00\x00", "Hello", nil},
		{"final block without another one", "\xf3\x48\xcd\xc9\xc9\x07\x00", "Hello", nil},
		{"two blocks", "\xf2\x48\x05\x00\x00\x00\xff\xff\xca\xc9\xc9\x07\x00", "Hello", nil},
		{"two final blocks", "\xf3\x48\xcd\xc9\xc9\x07\x00\xf3\x48\xcd\xc9\xc9\x07\x00\x00", "HelloHello", nil},
		{"empty", "\x00", "", nil},
		{"nothing at all", "", "", ws.ErrMalformedData},
		{"reserved type of a block", "\x06", "", ws.ErrMalformedData},
		{"a match before the beginning", "\x4b\x84\x81\x00", "", ws.ErrMalformedData},
		{"the beginning of a block", "\xf2\x48\xcd", "", ws.ErrMalformedData},
		{"many final blocks", strings.Repeat("\x01\x00\x00\xff\xff", maxFinals+1) + "\x00", "", ws.ErrMalformedData},
		{"as many final blocks as may be", strings.Repeat("\x01\x00\x00\xff\xff", maxFinals) + "\x00", "", nil},
	}
	for _, tt := range tests {
		i := &Inflater{Bits: MaxBits}
		got, err := decompress(i, []byte(tt.packed), -1)
		if !errors.Is(err, tt.err) || err == nil && string(got) != tt.want {
			t.Errorf("%s: got %q, %v, want %q, %v", tt.name, got, err, tt.want, tt.err)
		}
		i.Release()
	}
	second := &Inflater{Bits: MaxBits, Takeover: true}
	defer second.Release()
	for n, packed := range []string{"\xf2\x48\xcd\xc9\xc9\x07\x00", "\xf2\x00\x11\x00\x00"} {
		if got, err := decompress(second, []byte(packed), -1); err != nil || string(got) != "Hello" {
			t.Errorf("message %d with takeover: %q, %v", n, got, err)
		}
	}
	without := &Inflater{Bits: MaxBits}
	if _, err := decompress(without, []byte("\xf2\x00\x11\x00\x00"), -1); err != ws.ErrMalformedData {
		t.Errorf("a match in an earlier message without takeover: %v", err)
	}
}

func TestBombsStopAtTheLimit(t *testing.T) {
	d := &Deflater{Level: 9, Bits: MaxBits}
	bomb := compress(d, make([]byte, 8<<20))
	if len(bomb) > 1<<16 {
		t.Fatalf("the bomb has %d bytes", len(bomb))
	}
	if got, err := decompress(&Inflater{Bits: MaxBits}, compress(d, make([]byte, 5000)), math.MaxInt64); err != nil || len(got) != 5000 {
		t.Errorf("with the largest limit: %d bytes, %v", len(got), err)
	}
	for _, limit := range []int64{0, 1, 1000, 1 << 18} {
		i := &Inflater{Bits: MaxBits}
		b := bufpool.Get(0)
		if err := i.Decompress(b, bomb, limit); err != ws.ErrMessageSize {
			t.Errorf("limit %d: %v", limit, err)
		}
		if int64(len(b.B)) > limit+1 || int64(cap(b.B)) > 4*limit+bufpool.MinSize {
			t.Errorf("limit %d: %d bytes in a buffer of %d", limit, len(b.B), cap(b.B))
		}
		bufpool.Put(b)
		small := compress(d, make([]byte, limit))
		if got, err := decompress(i, small, limit); err != nil || int64(len(got)) != limit {
			t.Errorf("a message of the size of the limit, %d: %d bytes, %v", limit, len(got), err)
		}
	}
}

func TestMessagesAllocateNothing(t *testing.T) {
	if underRace {
		t.Skip("under the race detector a sync.Pool drops some values on purpose")
	}
	m := messages(3)[2]
	for _, takeover := range []bool{false, true} {
		d := &Deflater{Level: 1, Bits: MaxBits, Takeover: takeover}
		i := &Inflater{Bits: MaxBits, Takeover: takeover}
		n := testing.AllocsPerRun(500, func() {
			packed, plain := bufpool.Get(0), bufpool.Get(0)
			d.Compress(packed, m)
			if i.Decompress(plain, packed.B, -1) != nil || len(plain.B) != len(m) {
				t.Error("a message was not restored")
			}
			bufpool.Put(packed)
			bufpool.Put(plain)
		})
		if n != 0 {
			t.Errorf("takeover %v: %v allocations", takeover, n)
		}
		d.Release()
		i.Release()
	}
}

// FuzzInflater compares with package compress/flate, for messages without final blocks.
func FuzzInflater(f *testing.F) {
	f.Add([]byte("\xf2\x48\xcd\xc9\xc9\x07\x00"), []byte("\xf2\x00\x11\x00\x00"), false)
	f.Add([]byte("\xf3\x48\xcd\xc9\xc9\x07\x00\x00"), []byte("\xf2\x00\x11\x00\x00"), true)
	f.Add([]byte("\x00\x05\x00\xfa\xff\x48\x65\x6c\x6c\x6f\x00"), []byte(""), true)
	d := &Deflater{Level: 1, Bits: MaxBits}
	f.Add(compress(d, messages(4)[3]), compress(d, messages(3)[2]), true)
	f.Fuzz(func(t *testing.T, first, second []byte, takeover bool) {
		const limit = 1 << 17
		i := &Inflater{Bits: MaxBits, Takeover: takeover}
		defer i.Release()
		var history []byte
		for _, packed := range [][]byte{first, second} {
			got, err := decompress(i, packed, limit)
			if len(got) > limit+1 || err != nil && err != ws.ErrMalformedData && err != ws.ErrMessageSize {
				t.Fatalf("%d bytes, %v", len(got), err)
			}
			src := bytes.NewReader(append(bytes.Clone(packed), ending...))
			want, theirs := io.ReadAll(io.LimitReader(stdflate.NewReaderDict(src, history), limit+1))
			switch {
			case theirs != nil:
				if err == nil {
					t.Fatalf("accepted %q, which compress/flate refuses: %v", packed, theirs)
				}
			case err == nil && src.Len() == 0 && !bytes.Equal(got, want):
				t.Fatalf("got %d bytes, compress/flate %d", len(got), len(want))
			case err == ws.ErrMalformedData && src.Len() == 0 && len(want) <= limit:
				t.Fatalf("refused %q, which compress/flate accepts", packed)
			}
			if err != nil {
				return
			}
			if takeover {
				history = append(history, got...)
			}
		}
	})
}
