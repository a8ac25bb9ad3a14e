//go:build race

package wsflate

const underRace = true
