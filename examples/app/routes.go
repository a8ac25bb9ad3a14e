package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/valyala/fasthttp"
)

// endpoint handles a request. It returns a value to send as JSON, nil if there is nothing to
// send or the response is already set, or an error.
type endpoint struct {
	serve func(c *call) (any, error)
	// open is set if it needs no session
	open bool
}

// methods are the endpoints of a path.
type methods map[string]endpoint

// call is a request to an endpoint.
type call struct {
	http *fasthttp.RequestCtx
	ctx  context.Context // ends with the client's connection, or after callTime
	user string          // the name of the session
	id   string          // the part of the path in place of {id}
}

func (a *app) newRoutes() map[string]methods {
	return map[string]methods{
		"/api/session": {
			"GET":    {serve: a.showSession},
			"POST":   {serve: a.logIn, open: true},
			"DELETE": {serve: a.logOut, open: true},
		},
		"/api/notes":      {"GET": {serve: a.listNotes}, "POST": {serve: a.addNote}},
		"/api/notes/{id}": {"GET": {serve: a.getNote}, "DELETE": {serve: a.removeNote}},
		"/api/notes/{id}/picture": {
			"GET":  {serve: a.getPicture},
			"POST": {serve: a.setPicture},
		},
		"/api/events": {"GET": {serve: a.streamEvents}},
	}
}

// path returns the path of a request of which only the head has been read.
func path(h *fasthttp.RequestHeader) string {
	p, _, _ := strings.Cut(string(h.RequestURI()), "?")
	return p
}

// pattern returns the key in routes for a path, and the part of the path in place of {id}.
// Many paths have few keys, so the keys can be labels of metrics.
func pattern(path string) (key, id string) {
	rest, ok := strings.CutPrefix(path, "/api/notes/")
	if !ok || rest == "" {
		return path, ""
	}
	id, rest, more := strings.Cut(rest, "/")
	if more {
		rest = "/" + rest
	}
	return "/api/notes/{id}" + rest, id
}

// route finds the endpoint of a request and sends its result. A path that does not begin with
// /api/ is a file of the page.
func (a *app) route(ctx *fasthttp.RequestCtx) {
	p := string(ctx.Path())
	if !strings.HasPrefix(p, "/api/") {
		a.page(ctx)
		return
	}
	value, err := a.call(ctx, p)
	if err != nil {
		a.fail(ctx, err)
		return
	}
	if value != nil {
		a.send(ctx, value)
	}
}

func (a *app) call(ctx *fasthttp.RequestCtx, path string) (any, error) {
	key, id := pattern(path)
	all, ok := a.routes[key]
	if !ok {
		return nil, errNoPath
	}
	method := string(ctx.Method())
	if ctx.IsHead() {
		// the server leaves out the body
		method = "GET"
	}
	e, ok := all[method]
	if !ok {
		allowed := slices.Sorted(maps.Keys(all))
		return nil, errMethod.with(fasthttp.HeaderAllow, strings.Join(allowed, ", "))
	}
	user, ok := a.sessions.find(string(ctx.Request.Header.Cookie(cookieName)))
	if !ok && !e.open {
		return nil, errNoSession
	}
	within, cancel := within(ctx)
	defer cancel()
	// the next user of the same browser must not see responses to this one
	ctx.Response.Header.Set(fasthttp.HeaderCacheControl, "no-store")
	return e.serve(&call{http: ctx, ctx: within, user: user, id: id})
}

// within returns the context for an endpoint. It ends when the client disconnects, since the
// result is not needed then. Unlike ctx itself, it does not end when the server shuts down:
// requests that have been received are answered.
func within(ctx *fasthttp.RequestCtx) (context.Context, func()) {
	within, cancel := context.WithTimeout(context.Background(), callTime)
	stop := ctx.AfterDisconnect(cancel)
	return within, func() { stop(); cancel() }
}

// send makes value the body of the response, as JSON.
func (a *app) send(ctx *fasthttp.RequestCtx, value any) {
	body, err := json.Marshal(value)
	if err != nil {
		a.fail(ctx, err)
		return
	}
	ctx.SetContentType("application/json")
	ctx.SetBody(append(body, '\n'))
}

// receive decodes the body of a request, which is one JSON value with known names.
func receive(ctx *fasthttp.RequestCtx, value any) error {
	kind, _, _ := strings.Cut(string(ctx.Request.Header.ContentType()), ";")
	if !strings.EqualFold(strings.TrimSpace(kind), "application/json") {
		return errNotJSON
	}
	d := json.NewDecoder(bytes.NewReader(ctx.PostBody()))
	d.DisallowUnknownFields()
	if err := d.Decode(value); err != nil {
		return errBadJSON.because(err)
	}
	if _, err := d.Token(); err != io.EOF {
		return errBadJSON
	}
	return nil
}
