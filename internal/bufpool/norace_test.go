//go:build !race

package bufpool

const underRace = false
