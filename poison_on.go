//go:build fasthttp_poison

package fasthttp

import "github.com/valyala/fasthttp/internal/bufpool"

// What follows is for programs that are built with the tag fasthttp_poison, to
// find slices that are used after what they belong to was released. All memory
// that such slices can point to is overwritten at that moment. What belongs to
// the application, such as the slice of SetBodyRaw, is not.

func poisonRequest(req *Request) {
	poisonHeader(&req.Header.header)
	poisonBody(&req.body)
	poisonURI(&req.uri)
	poisonArgs(&req.args)
}

func poisonResponse(resp *Response) {
	poisonHeader(&resp.Header.header)
	poisonBody(&resp.body)
}

func poisonHeader(h *header) {
	bufpool.Poison(h.list.Block)
	bufpool.Poison(h.cookies.Block)
	bufpool.Poison(h.trailers.Block)
	for _, text := range h.scratch {
		bufpool.Poison(text)
	}
}

func poisonBody(b *body) {
	if b.buf != nil {
		bufpool.Poison(b.buf.B)
	}
}

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
