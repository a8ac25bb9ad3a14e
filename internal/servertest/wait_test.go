package servertest

import (
	"testing"
	"time"
)

// A machine that freezes for longer than Patience makes no test fail.
func TestPatienceIsThatOfAMachineThatRuns(t *testing.T) {
	Bubble(t, func(t *testing.T) {
		looks := 0
		if !holdsInTime(func() bool {
			looks++
			time.Sleep(10 * Patience) // nothing runs meanwhile
			return looks == 3
		}) {
			t.Errorf("given up after %d looks", looks)
		}
		begun := time.Now()
		if holdsInTime(func() bool { return false }) {
			t.Error("what never holds is seen")
		}
		if took := time.Since(begun); took < Patience || took > 2*Patience {
			t.Errorf("given up after %v", took)
		}
		begun = time.Now()
		if received(make(chan int), new(int)) || time.Since(begun) != Patience {
			t.Errorf("a value that nobody sends: given up after %v", time.Since(begun))
		}
		c := make(chan int)
		go func() {
			time.Sleep(Patience / 2)
			c <- 7
		}()
		if v := Receive(t, "a value", c); v != 7 {
			t.Errorf("received %d", v)
		}
	})
}
