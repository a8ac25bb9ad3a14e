//go:build fasthttp_poison

package fasthttp

import "github.com/valyala/fasthttp/internal/bufpool"

// With the tag fasthttp_poison, Release functions overwrite all memory that slices of the
// released object can point to. So a program that uses such a slice too late is found.
// Memory of the application, such as the slice of SetBodyRaw, is not overwritten.

func poisonURI(u *URI) {
	bufpool.Poison(u.text.Memory())
	bufpool.Poison(u.full)
	bufpool.Poison(u.shown)
	bufpool.Poison(u.target)
	poisonArgs(&u.args)
}

func poisonArgs(a *Args) {
	bufpool.Poison(a.list.Block)
	bufpool.Poison(a.query)
}

func poisonCookie(c *Cookie) {
	for _, text := range [][]byte{c.set.Name, c.set.Value, c.set.Domain, c.set.Path, c.text} {
		bufpool.Poison(text)
	}
}
