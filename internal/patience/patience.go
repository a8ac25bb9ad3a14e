// Package patience has the limits of connecting that apply if a program sets none. Tests extend
// them: a machine may stand still for longer than that, and nothing but their purpose should
// fail because of it. It imports nothing of this module.
package patience

import "time"

// The limits of programs.
const (
	DefaultDial      = 3 * time.Second  // fasthttp.DefaultDialTimeout
	DefaultHandshake = 10 * time.Second // of TLS
)

// Dial and Handshake are the limits that apply. They change only before connections are made.
var (
	Dial      = DefaultDial
	Handshake = DefaultHandshake
)

// Extend makes limits longer that are shorter than least.
func Extend(least time.Duration) {
	Dial, Handshake = max(Dial, least), max(Handshake, least)
}
