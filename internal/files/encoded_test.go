package files

import (
	"bytes"
	"sync"
	"testing"

	"github.com/valyala/fasthttp/internal/servertest"
)

func TestEncodedContentIsBounded(t *testing.T) {
	var c encodedCache
	key := func(i int) (k encodedKey) {
		k.sum[0], k.sum[1] = byte(i), byte(i>>8)
		return k
	}
	const size = MaxEncodedKept / 16
	for i := range 100 {
		c.make(key(i), func() ([]byte, error) { return make([]byte, size), nil })
		if c.bytes > MaxEncodedKept || c.bytes != len(c.kept)*(size+encodedOverhead) {
			t.Fatalf("%d bytes in %d entries", c.bytes, len(c.kept))
		}
		if _, known := c.get(key(i)); !known {
			t.Fatal("the last one was dropped")
		}
	}
	c.make(key(1000), func() ([]byte, error) { return nil, errChanged })
	if _, known := c.get(key(1000)); known || c.kept[key(1000)] != nil {
		t.Error("a failed result is kept")
	}
	func() {
		defer func() { _ = recover() }()
		c.make(key(1001), func() ([]byte, error) { panic("the encoder") })
	}()
	if c.kept[key(1001)] != nil {
		t.Error("the result of a panic is kept")
	}
	// encoders run one at a time
	begun, end := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		c.make(key(1002), func() ([]byte, error) {
			close(begun)
			<-end
			return []byte("x"), nil
		})
	})
	servertest.Receive(t, "the beginning of the encoding", begun)
	if got := c.make(key(1002), func() ([]byte, error) { panic("twice") }); got != nil {
		t.Errorf("got %q", got)
	}
	if _, known := c.get(key(1002)); known {
		t.Error("it is known too early")
	}
	close(end)
	wg.Wait()
	if got, known := c.get(key(1002)); !known || !bytes.Equal(got, []byte("x")) {
		t.Errorf("got %q, %v", got, known)
	}
}
