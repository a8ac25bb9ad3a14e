//go:build !unix

package websocket

const readsSockets = false

func recv(uintptr, []byte) (n int, err error, again bool) { panic("unreachable") }
