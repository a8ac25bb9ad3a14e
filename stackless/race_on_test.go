//go:build race

package stackless

// raceEnabled tells the allocation tests that the race detector is on: it makes
// sync.Pool forget what it holds at random.
const raceEnabled = true
