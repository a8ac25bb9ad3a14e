//go:build !race

package fasthttp

const raceDetector = false
