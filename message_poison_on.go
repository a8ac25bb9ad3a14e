//go:build fasthttp_poison

package fasthttp

import "github.com/valyala/fasthttp/internal/bufpool"

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
	if h.texts != nil {
		for i := range h.texts.short {
			bufpool.Poison(h.texts.short[i][:])
		}
		bufpool.Poison(h.texts.contentType[:])
	}
}

func poisonBody(b *body) {
	if b.buf != nil {
		bufpool.Poison(b.buf.B)
	}
}
