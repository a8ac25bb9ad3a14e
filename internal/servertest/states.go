package servertest

import (
	"fmt"
	"net"
	"strings"
	"sync"
)

// States records the calls of a hook for the states of connections.
type States[S fmt.Stringer] struct {
	mu     sync.Mutex
	states map[net.Conn][]S
	order  []net.Conn
}

// Note is the hook.
func (l *States[S]) Note(c net.Conn, state S) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.states == nil {
		l.states = make(map[net.Conn][]S)
	}
	if l.states[c] == nil {
		l.order = append(l.order, c)
	}
	l.states[c] = append(l.states[c], state)
}

// Of returns the states so far of the nth connection, from 0.
func (l *States[S]) Of(n int) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n >= len(l.order) {
		return ""
	}
	var words []string
	for _, s := range l.states[l.order[n]] {
		words = append(words, s.String())
	}
	return strings.Join(words, " ")
}
