package connpool

// openPolicy controls whether connections are opened one after the other. If one connection
// accepts many users, callers that arrive while the first one is being opened wait for it,
// rather than open one each.
type openPolicy uint8

const (
	openConcurrently openPolicy = iota // callers open connections at any time, up to Max
	openSerially                       // only one connection is being opened
	// dialFailing is inTurn after a connection could not be opened: the waiting callers all
	// try at once, since each of them may have to wait as long for an answer.
	dialFailing
)

// OpenSerially makes the pool let callers open connections one after the other, or at any
// time. The opening of a shared connection ends when HasRoom is called for it.
func (p *Pool[C]) OpenSerially(on bool) {
	p.mu.Lock()
	switch {
	case !on:
		p.policy, p.opening = openConcurrently, 0
	case p.policy == openConcurrently:
		p.policy = openSerially
	}
	p.admit()
	p.mu.Unlock()
}

// mayOpen reports whether a caller may open a connection now.
func (p *Pool[C]) mayOpen() bool {
	return p.open < p.Max && (p.policy != openSerially || p.opening == 0)
}

// beginOpen takes a place for a connection that will be opened.
func (p *Pool[C]) beginOpen() {
	p.open++
	if p.policy != openConcurrently {
		p.opening++
	}
}

// opened records that a connection was opened in turn, and dropped that opening failed.
func (p *Pool[C]) opened() {
	p.opening = max(p.opening-1, 0)
	if p.policy == dialFailing {
		p.policy = openSerially
	}
}

func (p *Pool[C]) openFailed() {
	p.opening = max(p.opening-1, 0)
	if p.policy == openSerially && p.waiting.n > 0 {
		p.policy = dialFailing
	}
}
