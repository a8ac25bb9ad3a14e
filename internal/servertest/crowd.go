package servertest

import (
	"sync"
	"sync/atomic"
	"testing"
)

// Crowd is a group of goroutines that have much to do together, such as thousands of calls. A slow
// machine may take longer for all of it than a test waits for one event.
type Crowd struct {
	all   sync.WaitGroup
	steps atomic.Int64
}

// Go calls f on a goroutine of the crowd. Its end is a step.
func (c *Crowd) Go(f func()) {
	c.all.Go(func() {
		defer c.Step()
		f()
	})
}

// Step records that the crowd makes progress.
func (c *Crowd) Step() { c.steps.Add(1) }

// Wait waits until all goroutines have ended, as long as there is a step in each Patience.
func (c *Crowd) Wait(t testing.TB, what string) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.all.Wait()
	}()
	for steps := c.steps.Load(); !received(done, new(struct{})); {
		was := steps
		if steps = c.steps.Load(); steps == was {
			t.Fatalf("%s: nothing happens after %d steps:\n%s", what, steps, Stacks())
		}
	}
}
