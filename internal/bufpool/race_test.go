//go:build race

package bufpool

const underRace = true
