package fasthttp

// receiveStream has the rest of the body read as it arrives, after the part of it that is in
// memory. end says that all of it has come.
func (x *h2Exchange) receiveStream(end bool) {
	req := &x.ctx.Request
	content := newH2Content(x, end)
	x.h.mu.Lock()
	x.content = content
	x.h.mu.Unlock()
	if len(req.body.bytes()) == 0 {
		// the body may have a buffer from an earlier request
		req.setSource(content, req.Header.contentLength)
		return
	}
	x.readOn(content)
}

// formParsed implements serverTransport.
func (x *h2Exchange) formParsed() {
	limit := drainLimit
	x.content.Drain(&limit)
}
