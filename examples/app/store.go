package main

import (
	"context"
	"sync"
	"time"
)

// note is a note, as it is stored and sent.
type note struct {
	ID      int       `json:"id"`
	Author  string    `json:"author"`
	Text    string    `json:"text"`
	Time    time.Time `json:"time"`
	Picture string    `json:"picture,omitempty"` // the name of its file
}

// store keeps notes. A real service implements it with a database: each method takes the
// context of the request, and may be called by many goroutines at once.
type store interface {
	// List returns up to limit notes, the latest first. If before is not 0, it returns notes
	// before that ID only.
	List(ctx context.Context, before, limit int) ([]note, error)
	Get(ctx context.Context, id int) (note, error)
	// Add stores a note and returns it with its ID.
	Add(ctx context.Context, n note) (note, error)
	// Update calls change with the current note, which change may modify; if change returns an
	// error, the note stays as it was. Update returns the note before and after the change.
	Update(ctx context.Context, id int, change func(*note) error) (before, after note, err error)
	// Remove removes a note if check returns nil for it, and returns it.
	Remove(ctx context.Context, id int, check func(note) error) (note, error)
	Count() int
}

// maxNotes is how many notes a memory has room for.
const maxNotes = 10_000

// memory is a store that forgets everything at the end of the program.
type memory struct {
	mu   sync.RWMutex
	last int
	all  map[int]note
}

func newMemory() *memory { return &memory{all: make(map[int]note)} }

// List implements store.
func (m *memory) List(ctx context.Context, before, limit int) ([]note, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if before <= 0 || before > m.last {
		before = m.last + 1
	}
	list := make([]note, 0, min(limit, len(m.all)))
	for id := before - 1; id > 0 && len(list) < limit; id-- {
		if n, ok := m.all[id]; ok {
			list = append(list, n)
		}
	}
	return list, ctx.Err()
}

// Get implements store.
func (m *memory) Get(ctx context.Context, id int) (note, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	n, ok := m.all[id]
	if !ok {
		return note{}, errNoNote
	}
	return n, ctx.Err()
}

// Add implements store.
func (m *memory) Add(ctx context.Context, n note) (note, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return note{}, err
	}
	if len(m.all) >= maxNotes {
		return note{}, errFull
	}
	m.last++
	n.ID = m.last
	m.all[n.ID] = n
	return n, nil
}

// Update implements store.
func (m *memory) Update(ctx context.Context, id int, change func(*note) error) (before, after note, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return note{}, note{}, err
	}
	before, ok := m.all[id]
	if !ok {
		return note{}, note{}, errNoNote
	}
	after = before
	if err := change(&after); err != nil {
		return note{}, note{}, err
	}
	m.all[id] = after
	return before, after, nil
}

// Remove implements store.
func (m *memory) Remove(ctx context.Context, id int, check func(note) error) (note, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return note{}, err
	}
	n, ok := m.all[id]
	if !ok {
		return note{}, errNoNote
	}
	if err := check(n); err != nil {
		return note{}, err
	}
	delete(m.all, id)
	return n, nil
}

// Count implements store.
func (m *memory) Count() int {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return len(m.all)
}
