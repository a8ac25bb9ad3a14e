//go:build !race

package websocket

const underRace = false
