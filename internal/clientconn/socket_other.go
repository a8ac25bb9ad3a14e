//go:build !linux

package clientconn

const hasRawCalls = false

// doStep and write are not called: package net does all reading and writing.

func (a *roundTripper) doStep(uintptr) bool { return true }

func (p *asyncWriter) write(uintptr) bool { return true }
