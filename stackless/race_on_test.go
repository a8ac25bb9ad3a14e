//go:build race

package stackless

// raceEnabled reports whether the race detector is on, which makes sync.Pool drop items at
// random. Tests of allocations need to know that.
const raceEnabled = true
