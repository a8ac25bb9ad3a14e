//go:build !linux

package connpool

const canAsk = false

func (a *Asker) talk(uintptr) bool { return true }
