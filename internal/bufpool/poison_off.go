//go:build !fasthttp_poison

package bufpool

// Poisons reports whether the program was built with the tag fasthttp_poison.
const Poisons = false

// Poison does nothing: the program was built without the tag fasthttp_poison.
func Poison([]byte) {}
