//go:build !fasthttp_poison

package bufpool

// Poison does nothing: the program was built without the tag fasthttp_poison.
func Poison([]byte) {}
