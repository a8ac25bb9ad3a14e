package main

import (
	"context"
	"io"
	"net/http"
	"slices"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/valyala/fasthttp/examples/grpc/boardpb"
)

const (
	maxNotes  = 10_000
	maxText   = 2_000 // bytes
	maxQueued = 100   // notes that wait for a client of Talk
)

// failure is an error that clients may see. Its code is the same for gRPC and Connect.
type failure struct {
	code codes.Code
	http int
	text string
}

func (e *failure) Error() string { return e.text }

// GRPCStatus makes grpc-go send the code.
func (e *failure) GRPCStatus() *status.Status { return status.New(e.code, e.text) }

var (
	errEmpty   = &failure{codes.InvalidArgument, http.StatusUnprocessableEntity, "a note has an author and a text"}
	errLong    = &failure{codes.InvalidArgument, http.StatusUnprocessableEntity, "the note is too long"}
	errFull    = &failure{codes.ResourceExhausted, http.StatusInsufficientStorage, "the board is full"}
	errSlow    = &failure{codes.ResourceExhausted, http.StatusServiceUnavailable, "the client does not read its notes"}
	errLeaving = &failure{codes.Unavailable, http.StatusServiceUnavailable, "the server ends: connect again"}
)

// board has the notes. The protocols call its methods.
type board struct {
	mu      sync.Mutex
	notes   []*boardpb.Note
	talkers map[*talker]bool
	leaving chan struct{} // closed when the server ends
}

// talker is a call of Talk.
type talker struct {
	notes chan *boardpb.Note // closed if the client is too slow
}

func newBoard() *board {
	return &board{talkers: map[*talker]bool{}, leaving: make(chan struct{})}
}

func (b *board) post(author, text string) (*boardpb.Note, error) {
	if author == "" || text == "" {
		return nil, errEmpty
	}
	if len(author)+len(text) > maxText {
		return nil, errLong
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.notes) == maxNotes {
		return nil, errFull
	}
	note := &boardpb.Note{Id: int64(len(b.notes) + 1), Author: author, Text: text}
	b.notes = append(b.notes, note)
	for t := range b.talkers {
		select {
		case t.notes <- note:
		default:
			delete(b.talkers, t)
			close(t.notes)
		}
	}
	return note, nil
}

func (b *board) list() []*boardpb.Note {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.notes)
}

// leave ends the calls of Talk, which would last for as long as their clients want.
func (b *board) leave() { close(b.leaving) }

func (b *board) join() *talker {
	t := &talker{make(chan *boardpb.Note, maxQueued)}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.talkers[t] = true
	return t
}

// part ends the notes of a talker, unless it was too slow and they have ended.
func (b *board) part(t *talker) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.talkers[t] {
		delete(b.talkers, t)
		close(t.notes)
	}
}

// talk adds the notes of a client, and sends it the notes of all, its own included. When it
// returns, the call ends, and with it a call of receive.
func (b *board) talk(ctx context.Context, receive func() (*boardpb.TalkRequest, error), send func(*boardpb.TalkResponse) error) error {
	t := b.join()
	defer b.part(t)
	received := make(chan error, 1)
	go func() { received <- b.receive(receive) }()
	slow := errSlow
	for {
		select {
		case note, ok := <-t.notes:
			if !ok {
				if slow == nil {
					return nil
				}
				return slow
			}
			if err := send(&boardpb.TalkResponse{Note: note}); err != nil {
				return err
			}
		case err := <-received:
			if err != nil {
				return err
			}
			// the client has said everything: it gets the notes that wait
			slow, received = nil, nil
			b.part(t)
		case <-b.leaving:
			return errLeaving
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// receive adds notes until the client ends its stream.
func (b *board) receive(receive func() (*boardpb.TalkRequest, error)) error {
	for {
		req, err := receive()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if _, err := b.post(req.GetAuthor(), req.GetText()); err != nil {
			return err
		}
	}
}
