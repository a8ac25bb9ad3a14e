// Command jsonapi keeps notes, in memory, and serves them as JSON:
//
//	GET    /notes       all of them
//	POST   /notes       adds one: {"text": "..."}
//	GET    /notes/ID    one of them
//	PUT    /notes/ID    changes one
//	DELETE /notes/ID    removes one
//
// The response to an error is {"error": "..."} with a suitable status.
package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/valyala/fasthttp"
)

func main() {
	addr := flag.String("addr", ":8080", "the TCP address to listen on")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *addr, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// run serves addr until ctx ends.
func run(ctx context.Context, addr string, stdout io.Writer) error {
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	server := &fasthttp.Server{
		Handler:            new(notes).serve,
		Name:               "jsonapi",
		MaxRequestBodySize: 64 << 10,
		// a slow client must not be able to hold a connection forever
		ReadTimeout:  10 * time.Second,
		WriteTimeout: 10 * time.Second,
		IdleTimeout:  time.Minute,
	}
	fmt.Fprintf(stdout, "jsonapi listens on %s\n", ln.Addr())
	return server.Run(ctx, ln)
}

// note is a note, as it is stored and sent.
type note struct {
	ID   int    `json:"id"`
	Text string `json:"text"`
}

// maxNotes is how many notes there may be: they are in memory.
const maxNotes = 10_000

// notes is the store. Handlers run concurrently, so it has a lock.
type notes struct {
	mu   sync.RWMutex
	last int
	all  map[int]note
}

// statusError is an error that clients may see, with its status.
type statusError struct {
	code int
	text string
}

func (e *statusError) Error() string { return e.text }

var (
	errNoPath  = &statusError{fasthttp.StatusNotFound, "there is nothing here"}
	errNoNote  = &statusError{fasthttp.StatusNotFound, "there is no such note"}
	errFull    = &statusError{fasthttp.StatusInsufficientStorage, "there is no room for more notes"}
	errUnknown = &statusError{fasthttp.StatusInternalServerError, "something went wrong"}
)

// serve is the handler: it routes the request and sends the result.
func (n *notes) serve(ctx *fasthttp.RequestCtx) {
	value, err := n.route(ctx)
	respond(ctx, value, err)
}

// respond sends a value, or the error if that is not nil.
func respond(ctx *fasthttp.RequestCtx, value any, err error) {
	if err == nil {
		send(ctx, value)
		return
	}
	e, ok := errors.AsType[*statusError](err)
	if !ok {
		// log the text only: it may name files, hosts and users
		ctx.Logger().Printf("%v", err)
		e = errUnknown
	}
	ctx.SetStatusCode(e.code)
	send(ctx, map[string]string{"error": e.text})
}

// send sets the body of the response to value, as JSON.
func send(ctx *fasthttp.RequestCtx, value any) {
	if value == nil {
		return
	}
	ctx.SetContentType("application/json")
	if err := json.NewEncoder(ctx).Encode(value); err != nil {
		ctx.Error(err.Error(), fasthttp.StatusInternalServerError)
	}
}

// route executes the request, and returns the value to send.
func (n *notes) route(ctx *fasthttp.RequestCtx) (any, error) {
	path := string(ctx.Path())
	if path == "/notes" {
		switch {
		case ctx.IsGet() || ctx.IsHead():
			return n.list(), nil
		case ctx.IsPost():
			return n.add(ctx)
		}
		return nil, notAllowed(ctx, "GET, HEAD, POST")
	}
	text, ok := strings.CutPrefix(path, "/notes/")
	if !ok {
		return nil, errNoPath
	}
	id, err := strconv.Atoi(text)
	if err != nil {
		return nil, errNoNote
	}
	switch {
	case ctx.IsGet() || ctx.IsHead():
		return n.get(id)
	case ctx.IsPut():
		return n.change(ctx, id)
	case ctx.IsDelete():
		ctx.SetStatusCode(fasthttp.StatusNoContent)
		return nil, n.remove(id)
	}
	return nil, notAllowed(ctx, "GET, HEAD, PUT, DELETE")
}

func notAllowed(ctx *fasthttp.RequestCtx, allowed string) error {
	ctx.Response.Header.Set(fasthttp.HeaderAllow, allowed)
	return &statusError{fasthttp.StatusMethodNotAllowed, "the method must be one of " + allowed}
}

// decode reads the text of a note from the body of a request.
func decode(ctx *fasthttp.RequestCtx) (text string, err error) {
	kind, _, _ := strings.Cut(string(ctx.Request.Header.ContentType()), ";")
	if !strings.EqualFold(strings.TrimSpace(kind), "application/json") {
		return "", &statusError{fasthttp.StatusUnsupportedMediaType, "the body must be application/json"}
	}
	var body struct {
		Text *string `json:"text"`
	}
	d := json.NewDecoder(bytes.NewReader(ctx.PostBody()))
	d.DisallowUnknownFields()
	if err := d.Decode(&body); err != nil {
		return "", &statusError{fasthttp.StatusBadRequest, "the body is wrong: " + err.Error()}
	}
	if _, err := d.Token(); err != io.EOF {
		return "", &statusError{fasthttp.StatusBadRequest, "the body has more than one value"}
	}
	if body.Text == nil || *body.Text == "" {
		return "", &statusError{fasthttp.StatusUnprocessableEntity, "a note must have a text"}
	}
	return *body.Text, nil
}

func (n *notes) list() []note {
	n.mu.RLock()
	defer n.mu.RUnlock()
	all := make([]note, 0, len(n.all))
	for _, one := range n.all {
		all = append(all, one)
	}
	slices.SortFunc(all, func(a, b note) int { return cmp.Compare(a.ID, b.ID) })
	return all
}

func (n *notes) add(ctx *fasthttp.RequestCtx) (any, error) {
	text, err := decode(ctx)
	if err != nil {
		return nil, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.all == nil {
		n.all = make(map[int]note)
	}
	if len(n.all) >= maxNotes {
		return nil, errFull
	}
	n.last++
	one := note{n.last, text}
	n.all[one.ID] = one
	ctx.SetStatusCode(fasthttp.StatusCreated)
	ctx.Response.Header.Set(fasthttp.HeaderLocation, fmt.Sprintf("/notes/%d", one.ID))
	return one, nil
}

func (n *notes) get(id int) (any, error) {
	n.mu.RLock()
	defer n.mu.RUnlock()
	one, ok := n.all[id]
	if !ok {
		return nil, errNoNote
	}
	return one, nil
}

func (n *notes) change(ctx *fasthttp.RequestCtx, id int) (any, error) {
	text, err := decode(ctx)
	if err != nil {
		return nil, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if _, ok := n.all[id]; !ok {
		return nil, errNoNote
	}
	n.all[id] = note{id, text}
	return n.all[id], nil
}

func (n *notes) remove(id int) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if _, ok := n.all[id]; !ok {
		return errNoNote
	}
	delete(n.all, id)
	return nil
}
