//go:build race

package fasthttp

// raceDetector says that a sync.Pool forgets some of what it is given, at
// random, so that allocations cannot be counted.
const raceDetector = true
