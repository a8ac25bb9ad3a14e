//go:build race

package tlswire

const underRace = true
