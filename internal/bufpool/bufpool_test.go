package bufpool

import (
	"bytes"
	"sync"
	"testing"
)

func TestGetHasRoom(t *testing.T) {
	tests := []struct{ n, capacity int }{
		{-1, MinSize},
		{0, MinSize},
		{1, MinSize},
		{1024, 1024},
		{1025, 2048},
		{4096, 4096},
		{4097, 8192},
		{1<<20 - 1, 1 << 20},
		{1 << 20, 1 << 20},
		{1<<20 + 1, 1<<20 + 1},
	}
	for _, tt := range tests {
		b := Get(tt.n)
		if len(b.B) != 0 || cap(b.B) != tt.capacity {
			t.Errorf("Get(%d) has length %d and capacity %d, want 0 and %d", tt.n, len(b.B), cap(b.B), tt.capacity)
		}
		Put(b)
	}
}

// Get never returns a buffer that is smaller than its class, whatever the capacity
// of the buffers that were put.
func TestBuffersGoBackToAClassTheyCanServe(t *testing.T) {
	for _, capacity := range []int{1, MinSize - 1, MinSize, 1500, 2047, 2048, 2049, 3 << 10, 1<<20 - 1, MaxSize, MaxSize + 1, 5 << 20} {
		Put(&Buffer{B: make([]byte, capacity)})
		for n := 1; n <= MaxSize; n *= 2 {
			b := Get(n)
			if cap(b.B) < n || len(b.B) != 0 {
				t.Fatalf("after Put of %d bytes, Get(%d) has length %d and capacity %d", capacity, n, len(b.B), cap(b.B))
			}
		}
	}
	if got := classOf(2047); got != 0 {
		t.Errorf("2047 bytes belong to class %d, want 0", got)
	}
	if got := classOf(2048); got != 1 {
		t.Errorf("2048 bytes belong to class %d, want 1", got)
	}
}

func TestClassesRunFromMinToMax(t *testing.T) {
	if got := classFor(MinSize); got != 0 {
		t.Errorf("MinSize is in class %d", got)
	}
	if got := classFor(MaxSize); got != len(pools)-1 || got != classOf(MaxSize) {
		t.Errorf("MaxSize is in class %d, want the last, %d", got, len(pools)-1)
	}
	for n := 1; n <= MaxSize; n += 333 {
		if size := MinSize << classFor(n); size < n || n > MinSize && size/2 >= n {
			t.Errorf("%d bytes get a buffer of %d", n, size)
		}
	}
}

func TestPutOfNothing(t *testing.T) {
	Put(nil)
	Put(&Buffer{})
	Put(&Buffer{B: make([]byte, 0, MaxSize+1)})
	if b := Get(1); cap(b.B) < MinSize {
		t.Errorf("Get(1) has capacity %d", cap(b.B))
	}
}

func TestGrowKeepsContent(t *testing.T) {
	b := Get(1)
	b.B = append(b.B, "in the beginning"...)
	before := &b.B[0]
	b.Grow(MinSize - len(b.B))
	if &b.B[0] != before {
		t.Error("Grow moved content that had room")
	}
	for _, n := range []int{MinSize, 10 * MinSize, MaxSize, 2 * MaxSize} {
		b.Grow(n)
		if cap(b.B)-len(b.B) < n {
			t.Errorf("Grow(%d) made room for %d", n, cap(b.B)-len(b.B))
		}
		if string(b.B) != "in the beginning" {
			t.Fatalf("after Grow(%d) the content is %q", n, b.B)
		}
	}
}

func TestGrowDoublesAtLeast(t *testing.T) {
	b := Get(3000)
	b.B = b.B[:cap(b.B)]
	b.Grow(1)
	if cap(b.B) < 2*4096 {
		t.Errorf("the capacity went from 4096 to %d", cap(b.B))
	}
}

func TestBuffersAreNotShared(t *testing.T) {
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			want := bytes.Repeat([]byte{byte(i)}, 3000)
			for range 200 {
				b := Get(100)
				b.B = append(b.B, want[:500]...)
				b.Grow(2500)
				b.B = append(b.B, want[500:]...)
				if !bytes.Equal(b.B, want) {
					t.Errorf("buffer of %d was written to by another", i)
				}
				Put(b)
			}
		})
	}
	wg.Wait()
}

func TestSteadyStateAllocatesNothing(t *testing.T) {
	if underRace {
		t.Skip("under the race detector a sync.Pool drops some values on purpose")
	}
	n := testing.AllocsPerRun(1000, func() {
		b := Get(4096)
		b.B = append(b.B, "content"...)
		b.Grow(10_000)
		Put(b)
	})
	if n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
}

func BenchmarkGetPut(b *testing.B) {
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			Put(Get(4096))
		}
	})
}

func TestWriteTakesEverything(t *testing.T) {
	b := Get(MinSize)
	defer Put(b)
	var want []byte
	for range 3 {
		piece := bytes.Repeat([]byte("piece "), MinSize/8)
		want = append(want, piece...)
		if n, err := b.Write(piece); n != len(piece) || err != nil {
			t.Errorf("took %d of %d bytes, %v", n, len(piece), err)
		}
	}
	if !bytes.Equal(b.B, want) {
		t.Errorf("B has %d bytes, want %d", len(b.B), len(want))
	}
	// a Buffer from elsewhere can be written to, too
	var own Buffer
	if n, err := own.Write([]byte("own")); n != 3 || err != nil || string(own.B) != "own" {
		t.Errorf("%d, %v, %q", n, err, own.B)
	}
}
