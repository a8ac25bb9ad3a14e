package fasthttputil

import (
	"bytes"
	"testing"
)

func TestQueueKeepsOrderAcrossChunks(t *testing.T) {
	sizes := []int{0, 1, smallChunkSize - 1, smallChunkSize, smallChunkSize + 1,
		largeChunkSize - 1, largeChunkSize, largeChunkSize + 1, 3*largeChunkSize + 7}
	for _, readSize := range []int{1, 1000, smallChunkSize, 2*largeChunkSize + 1} {
		var q queue
		var want, got []byte
		for i, size := range sizes {
			p := pattern(size, i)
			q.write(p)
			want = append(want, p...)
		}
		buf := make([]byte, readSize)
		for {
			n := q.read(buf)
			if n == 0 {
				break
			}
			got = append(got, buf[:n]...)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("reads of %d bytes: got %d bytes that differ from the %d written", readSize, len(got), len(want))
		}
	}
}

func TestQueueOwnsWhatWasWritten(t *testing.T) {
	var q queue
	p := []byte("before")
	q.write(p)
	copy(p, "after!")
	buf := make([]byte, 16)
	if n := q.read(buf); string(buf[:n]) != "before" {
		t.Errorf("read %q, want what p held at the time of the write", buf[:n])
	}
}

func TestQueuePacksSmallWritesIntoOneChunk(t *testing.T) {
	var q queue
	for range smallChunkSize {
		q.write([]byte{'x'})
	}
	if q.head == nil || q.head != q.tail {
		t.Error("one-byte writes that fit a small chunk take several chunks")
	}
}

func TestQueueTakesBulkDataInLargeChunks(t *testing.T) {
	var q queue
	q.write(make([]byte, 10*largeChunkSize))
	chunks := 0
	for c := q.head; c != nil; c = c.next {
		chunks++
	}
	if chunks != 10 {
		t.Errorf("%d chunks for 10 times the size of a large one", chunks)
	}
}

func TestDrainedConnHoldsNoBuffer(t *testing.T) {
	for _, size := range []int{1, smallChunkSize, 5 * largeChunkSize} {
		pc := NewPipeConns()
		if _, err := pc.Conn1().Write(make([]byte, size)); err != nil {
			t.Fatal(err)
		}
		if pc.stream1.data.head == nil {
			t.Fatalf("%d bytes: nothing is buffered after a write", size)
		}
		buf := make([]byte, 1000)
		for left := size; left > 0; {
			n, err := pc.Conn2().Read(buf)
			if err != nil {
				t.Fatal(err)
			}
			left -= n
		}
		if q := &pc.stream1.data; q.head != nil || q.tail != nil {
			t.Errorf("%d bytes: a chunk is held after the last byte was read", size)
		}
	}
}

// FuzzQueue runs a random sequence of writes and reads on a queue and on a bytes.Buffer. Each
// pair of input bytes is one step: the operation, and the number of bytes.
func FuzzQueue(f *testing.F) {
	f.Add([]byte{0, 1, 1, 1})
	f.Add([]byte{0, 255, 2, 255, 1, 200, 3, 3, 0, 0, 1, 255, 1, 255})
	f.Add([]byte{2, 16, 2, 16, 3, 8, 0, 1, 3, 255, 3, 255})
	f.Fuzz(func(t *testing.T, steps []byte) {
		if len(steps) > 200 {
			return
		}
		var q queue
		var model bytes.Buffer
		for i := 0; i+1 < len(steps); i += 2 {
			size := int(steps[i+1])
			if steps[i]&2 != 0 {
				size *= 1031
			}
			if steps[i]&1 == 0 {
				p := pattern(size, i)
				q.write(p)
				model.Write(p)
				continue
			}
			got, want := make([]byte, size), make([]byte, size)
			n := q.read(got)
			m, _ := model.Read(want)
			if n != m || !bytes.Equal(got, want) {
				t.Fatalf("step %d: read %d bytes, want %d, or other ones", i, n, m)
			}
		}
		if (q.head == nil) != (model.Len() == 0) {
			t.Fatalf("%d bytes are left, but head is %v", model.Len(), q.head)
		}
	})
}

// pattern returns n bytes that differ between seeds. No chunk size is a multiple of their
// period.
func pattern(n, seed int) []byte {
	p := make([]byte, n)
	for i := range p {
		p[i] = byte((i + 7*seed) % 251)
	}
	return p
}
