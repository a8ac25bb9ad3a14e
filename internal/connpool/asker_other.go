//go:build !linux

package connpool

const canRoundTrip = false

func (a *RoundTripper) doStep(uintptr) bool { return true }
