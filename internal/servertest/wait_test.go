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

// endedTest is a test that has ended.
type endedTest struct {
	testing.TB
	failed bool
}

func (e endedTest) Failed() bool          { return e.failed }
func (e endedTest) Fatalf(string, ...any) { panic("Fail in goroutine after the test has completed") }

// A goroutine that outlives its test ends nothing but itself if the failure of the test is known.
func TestFailuresAfterAFailedTestAreQuiet(t *testing.T) {
	for _, failed := range []bool{true, false} {
		returned := false
		var panicked any
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			defer func() { panicked = recover() }()
			fatalf(endedTest{t, failed}, "never came: %s", "anything")
			returned = true
		}()
		Receive(t, "the end of the goroutine", ended)
		if returned || (panicked == nil) != failed {
			t.Errorf("failed %v: returned %v, panic %v", failed, returned, panicked)
		}
	}
}
