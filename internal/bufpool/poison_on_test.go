//go:build fasthttp_poison

package bufpool

import (
	"bytes"
	"testing"
)

// If a program keeps a string of a released buffer, the string changes at once.
func TestReleasedBuffersArePoisoned(t *testing.T) {
	poisoned := func(b []byte) bool {
		b = b[:cap(b)]
		return bytes.Count(b, []byte{poisonByte}) == len(b)
	}
	for _, size := range []int{1, MinSize, MinSize + 1, MaxSize, MaxSize + 1} {
		b := Get(size)
		b.B = append(b.B, "content"...)
		kept := b.B
		Put(b)
		if !poisoned(kept) {
			t.Errorf("a buffer for %d bytes is %q... after Put", size, kept[:7])
		}
	}
	b := Get(1)
	b.B = append(b.B, "content"...)
	kept := b.B
	b.Grow(10 * MinSize)
	if !poisoned(kept) || string(b.B) != "content" {
		t.Errorf("after Grow the old buffer is %q..., the new one %q", kept[:7], b.B)
	}
}
