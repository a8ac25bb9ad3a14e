//go:build !race

package tlswire

const underRace = false
