package main

import (
	"slices"
	"sync"
	"time"

	"github.com/valyala/fasthttp/bench/internal/serving"
)

// socket has the calls of gorilla/websocket, which others took over. P is the type of
// messages that are prepared for several sockets.
type socket[P any] interface {
	ReadMessage() (int, []byte, error)
	WriteMessage(int, []byte) error
	WritePreparedMessage(P) error
	SetWriteDeadline(time.Time) error
	Close() error
}

// echo returns each message.
func echo[P any](c socket[P]) {
	for {
		kind, p, err := c.ReadMessage()
		if err != nil {
			return
		}
		if err := c.WriteMessage(kind, p); err != nil {
			return
		}
	}
}

// member is a socket of the group. The library allows one writer.
type member[P any] struct {
	writing sync.Mutex
	socket[P]
}

func (m *member[P]) send(message P) {
	m.writing.Lock()
	defer m.writing.Unlock()
	_ = m.SetWriteDeadline(time.Now().Add(serving.GroupWriteTime))
	if m.WritePreparedMessage(message) != nil {
		_ = m.Close()
	}
}

// broadcast sends each message of a socket to all of the group.
func broadcast[P any](all *group[*member[P]], c socket[P], prepare func(int, []byte) (P, error)) {
	m := &member[P]{socket: c}
	all.join(m)
	defer all.leave(m)
	for {
		kind, p, err := c.ReadMessage()
		if err != nil {
			return
		}
		message, err := prepare(kind, p)
		if err != nil {
			return
		}
		all.each(func(m *member[P]) { m.send(message) })
	}
}

// group has the sockets of serving.GroupPath.
type group[M comparable] struct {
	mu      sync.RWMutex
	members []M
}

func (g *group[M]) join(m M) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.members = append(g.members, m)
}

func (g *group[M]) leave(m M) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if i := slices.Index(g.members, m); i >= 0 {
		last := len(g.members) - 1
		g.members[i] = g.members[last]
		g.members = g.members[:last]
	}
}

// each calls send for every member. A member to which send cannot write is closed by send, and
// leaves when its reader notices that.
func (g *group[M]) each(send func(M)) {
	g.mu.RLock()
	defer g.mu.RUnlock()
	for _, m := range g.members {
		send(m)
	}
}
