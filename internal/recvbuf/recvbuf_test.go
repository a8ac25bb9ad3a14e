package recvbuf

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/valyala/fasthttp/internal/bufpool"
)

func receive(b *Buffer, p []byte) {
	for len(p) > 0 {
		n := copy(b.ReadBuffer(), p)
		b.Received(n)
		p = p[n:]
	}
}

// The bytes keep their order, whatever the sizes of writes and reads.
func TestBufferKeepsTheOrder(t *testing.T) {
	for _, size := range []uint32{0, 1, 600, 4 << 10} {
		b := Buffer{Size: size}
		var want []byte
		next := byte(0)
		for range 2000 {
			p := make([]byte, rand.IntN(700))
			for i := range p {
				p[i] = next
				next++
			}
			receive(&b, p)
			want = append(want, p...)
			n := rand.IntN(len(b.Peek()) + 1)
			if rand.IntN(10) == 0 {
				n = len(b.Peek())
			}
			if !bytes.Equal(b.Peek(), want) {
				t.Fatalf("size %d: %d bytes, want %d others", size, len(b.Peek()), len(want))
			}
			b.Discard(n)
			want = want[n:]
			if n := len(b.ReadBuffer()); n < MinSpace {
				t.Fatalf("size %d: room for %d bytes", size, n)
			}
		}
		b.Release()
		if b.Peek() != nil || !b.Empty() {
			t.Error("something is left")
		}
	}
}

func TestBufferHasMemoryOnlyWhileItIsNeeded(t *testing.T) {
	b := Buffer{Size: 4 << 10}
	b.Discard(0)
	if b.Peek() != nil || !b.Empty() {
		t.Error("a buffer has memory before its first byte")
	}
	b.Release()
	small := bufpool.Get(64)
	b.Adopt(small)
	if !b.Empty() {
		t.Error("a buffer adopts a slice that is too small")
	}
	large := bufpool.Get(4 << 10)
	large.B = append(large.B, "a request"...)
	b.Adopt(large)
	if b.Empty() || len(b.Peek()) != 0 {
		t.Errorf("%q was received", b.Peek())
	}
	b.Adopt(bufpool.Get(8 << 10))
	if b.in != large {
		t.Error("a buffer adopts a slice that it does not need")
	}
	b.Release()
	held := bufpool.Get(4 << 10)
	held.B = append(held.B, "answer"...)
	b.Hold(held, len("ans"))
	if string(b.Peek()) != "ans" {
		t.Errorf("%q was received", b.Peek())
	}
	b.Release()
}

// The memory is large while much arrives, and small again after that.
func TestReadBufferUpToFollowsTheTraffic(t *testing.T) {
	const small, large = 4 << 10, 64 << 10
	b := Buffer{Size: small}
	for _, step := range []struct {
		name               string
		room               int
		arrives, discarded int
	}{
		{"at first", small, 100, 100},
		{"after a little", small, 100, 0},
		{"after a part", large - 100, large - 100, large},
		{"after a lot", large, large, large},
		{"after a lot again", large, 100, 100},
		{"after a little again", small, small, small},
		{"after all that fits", large, large, 10},
		{"after a large part", 10, 10, 0},
	} {
		if room := len(b.ReadBufferUpTo(large)); room != step.room {
			t.Fatalf("%s: room for %d bytes, want %d", step.name, room, step.room)
		}
		b.Received(step.arrives)
		b.Discard(step.discarded)
	}
	if room := len(b.ReadBufferUpTo(large)); room < large || len(b.Peek()) != large {
		t.Errorf("after a part of %d bytes, of which %d are kept: room for %d", large, len(b.Peek()), room)
	}
	b.Release()
}
