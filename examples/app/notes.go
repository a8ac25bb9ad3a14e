package main

import (
	"fmt"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/valyala/fasthttp"
)

const (
	maxText  = 2000 // characters of a note
	pageSize = 100  // notes in a list
)

// listNotes responds with the latest notes, or with the notes before ID for ?before=ID.
func (a *app) listNotes(c *call) (any, error) {
	before := 0
	if args := c.http.QueryArgs(); args.Has("before") {
		n, err := args.GetUint("before")
		if err != nil {
			return nil, errBadNumber
		}
		before = n
	}
	return a.store.List(c.ctx, before, pageSize)
}

func (a *app) addNote(c *call) (any, error) {
	var body struct {
		Text string `json:"text"`
	}
	if err := receive(c.http, &body); err != nil {
		return nil, err
	}
	if n := utf8.RuneCountInString(body.Text); n == 0 || n > maxText {
		return nil, errBadText
	}
	n, err := a.store.Add(c.ctx, note{Author: c.user, Text: body.Text, Time: time.Now().UTC()})
	if err != nil {
		return nil, err
	}
	a.publish("saved", n)
	c.http.SetStatusCode(fasthttp.StatusCreated)
	c.http.Response.Header.Set(fasthttp.HeaderLocation, fmt.Sprintf("/api/notes/%d", n.ID))
	return n, nil
}

func (a *app) getNote(c *call) (any, error) {
	id, err := c.noteID()
	if err != nil {
		return nil, err
	}
	return a.store.Get(c.ctx, id)
}

func (a *app) removeNote(c *call) (any, error) {
	id, err := c.noteID()
	if err != nil {
		return nil, err
	}
	n, err := a.store.Remove(c.ctx, id, c.mayChange)
	if err != nil {
		return nil, err
	}
	a.pictures.remove(n.Picture)
	a.publish("removed", n)
	c.http.SetStatusCode(fasthttp.StatusNoContent)
	return nil, nil
}

func (c *call) noteID() (int, error) {
	id, err := strconv.Atoi(c.id)
	if err != nil {
		return 0, errNoNote
	}
	return id, nil
}

// mayChange returns an error unless the note is the user's own.
func (c *call) mayChange(n note) error {
	if n.Author != c.user {
		return errNotYours
	}
	return nil
}
