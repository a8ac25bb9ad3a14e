package servertest

import (
	"bytes"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
)

// Bubble is synctest.Test, but a test that leaves goroutines behind, or hangs, fails by itself:
// the panic of synctest.Test would end the process, with all other tests. The goroutines stay.
func Bubble(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	defer func() {
		t.Helper()
		p := recover()
		if p == nil {
			return
		}
		err, ok := p.(error)
		if !ok || !strings.HasPrefix(err.Error(), "deadlock: ") {
			panic(p)
		}
		t.Fatalf("%v\n\n%s", err, bubbleStacks())
	}()
	synctest.Test(t, test)
}

// bubbleStacks returns the stacks of goroutines that wait in bubbles.
func bubbleStacks() []byte {
	all := make([]byte, 1<<20)
	all = all[:runtime.Stack(all, true)]
	var in [][]byte
	for stack := range bytes.SplitSeq(all, []byte("\n\n")) {
		head, _, _ := bytes.Cut(stack, []byte("\n"))
		if bytes.Contains(head, []byte("synctest bubble")) {
			in = append(in, stack)
		}
	}
	return bytes.Join(in, []byte("\n\n"))
}
