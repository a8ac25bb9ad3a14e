//go:build race

package servertest

// RaceDetector reports whether the tests run with the race detector. With it a
// sync.Pool drops some of its values at random, so that allocations cannot be
// counted.
const RaceDetector = true
