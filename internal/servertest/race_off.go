//go:build !race

package servertest

// RaceDetector tells whether the tests run with the race detector, with which a
// sync.Pool forgets some of what it is given, at random, so that allocations
// cannot be counted.
const RaceDetector = false
