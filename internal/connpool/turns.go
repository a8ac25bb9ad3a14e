package connpool

// turns controls whether connections are opened one after the other. If one connection
// accepts many users, callers that arrive while the first one is being opened wait for it,
// rather than open one each.
type turns uint8

const (
	atOnce turns = iota // callers open connections at any time, up to Max
	inTurn              // only one connection is being opened
	// inTroubles is inTurn after a connection could not be opened: the waiting callers all
	// try at once, since each of them may have to wait as long for an answer.
	inTroubles
)

// OpenInTurn makes the pool let callers open connections one after the other, or at any
// time. The opening of a shared connection ends when HasRoom is called for it.
func (p *Pool[C]) OpenInTurn(on bool) {
	p.mu.Lock()
	switch {
	case !on:
		p.turns, p.opening = atOnce, 0
	case p.turns == atOnce:
		p.turns = inTurn
	}
	p.admit()
	p.mu.Unlock()
}

// mayOpen reports whether a caller may open a connection now.
func (p *Pool[C]) mayOpen() bool {
	return p.open < p.Max && (p.turns != inTurn || p.opening == 0)
}

// beginOpen takes a place for a connection that will be opened.
func (p *Pool[C]) beginOpen() {
	p.open++
	if p.turns != atOnce {
		p.opening++
	}
}

// opened records that a connection was opened in turn, and dropped that opening failed.
func (p *Pool[C]) opened() {
	p.opening = max(p.opening-1, 0)
	if p.turns == inTroubles {
		p.turns = inTurn
	}
}

func (p *Pool[C]) dropped() {
	p.opening = max(p.opening-1, 0)
	if p.turns == inTurn && p.waiting.n > 0 {
		p.turns = inTroubles
	}
}
