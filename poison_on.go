//go:build fasthttp_poison

package fasthttp

import "github.com/valyala/fasthttp/internal/bufpool"

// What follows is for programs that are built with the tag fasthttp_poison, to
// find slices that are used after what they belong to was released. All memory
// that such slices can point to is overwritten at that moment. What belongs to
// the application, such as the slice of SetBodyRaw, is not.

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
