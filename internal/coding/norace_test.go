//go:build !race

package coding

const underRace = false
