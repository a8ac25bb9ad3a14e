package main

import (
	"bufio"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/valyala/fasthttp"
)

// application is the state that requests share.
type application struct {
	sessions *sessions
	files    fasthttp.RequestHandler
	uploads  string
	backend  string
	client   fasthttp.Client
	items    sync.Map
	requests int
	mu       sync.Mutex
}

// over is closed when the handler of /slow may end, which is after its response.
var over = make(chan struct{})

// handle is the router, with the middleware of every handler.
func (a *application) handle(ctx *fasthttp.RequestCtx) {
	a.mu.Lock()
	a.requests++
	number := a.requests
	a.mu.Unlock()
	ctx.Response.Header.Set("X-Request", strconv.Itoa(number))
	p := string(ctx.Path())
	switch {
	case p == "/":
		ctx.SetContentType("text/html; charset=utf-8")
		ctx.WriteString("<p>hello</p>")
	case p == "/about":
		ctx.SetBodyString(strings.Repeat("about us. ", 100))
	case strings.HasPrefix(p, "/hello/"):
		a.hello(ctx, strings.TrimPrefix(p, "/hello/"))
	case p == "/login":
		a.only(ctx, fasthttp.MethodPost, a.login)
	case p == "/logout":
		a.only(ctx, fasthttp.MethodPost, a.logout)
	case p == "/private":
		a.private(ctx)
	case p == "/upload":
		a.only(ctx, fasthttp.MethodPost, a.upload)
	case strings.HasPrefix(p, "/uploaded/"):
		ctx.SendFile(filepath.Join(a.uploads, path.Base(p)))
	case strings.HasPrefix(p, "/api/items/"):
		a.item(ctx, strings.TrimPrefix(p, "/api/items/"))
	case strings.HasPrefix(p, "/static/"):
		a.files(ctx)
	case strings.HasPrefix(p, "/proxy/"):
		a.proxy(ctx, strings.TrimPrefix(p, "/proxy"))
	case p == "/stream":
		n := ctx.QueryArgs().GetUintOrZero("n")
		ctx.SetBodyStreamWriter(func(w *bufio.Writer) {
			for i := range n {
				fmt.Fprintf(w, "line %d\n", i)
				if w.Flush() != nil {
					return
				}
			}
		})
	case p == "/slow":
		fasthttp.TimeoutHandler(func(*fasthttp.RequestCtx) { <-over }, 20*time.Millisecond, "too slow")(ctx)
	case p == "/old":
		ctx.Redirect("/hello/you?"+ctx.QueryArgs().String(), fasthttp.StatusMovedPermanently)
	case p == "/stats":
		ctx.SetContentType("text/plain")
		fmt.Fprintf(ctx, "%d requests, %d sessions", number, a.sessions.count())
	default:
		ctx.Error("no such page", fasthttp.StatusNotFound)
	}
}

func (a *application) only(ctx *fasthttp.RequestCtx, method string, h fasthttp.RequestHandler) {
	if string(ctx.Method()) != method {
		ctx.Error("method not allowed", fasthttp.StatusMethodNotAllowed)
		ctx.Response.Header.Set(fasthttp.HeaderAllow, method)
		return
	}
	h(ctx)
}

func (a *application) hello(ctx *fasthttp.RequestCtx, name string) {
	times, err := ctx.QueryArgs().GetUint("times")
	switch {
	case errors.Is(err, fasthttp.ErrNoArgValue):
		times = 1
	case err != nil:
		ctx.Error("times is no number", fasthttp.StatusBadRequest)
		return
	}
	greeting := string(ctx.FormValue("greeting"))
	if greeting == "" {
		greeting = "hello"
	}
	for range times {
		fmt.Fprintf(ctx, "%s, %s\n", greeting, name)
	}
}

func (a *application) login(ctx *fasthttp.RequestCtx) {
	if string(ctx.FormValue("password")) != "secret & safe" {
		ctx.Error("wrong password", fasthttp.StatusForbidden)
		return
	}
	cookie := fasthttp.AcquireCookie()
	defer fasthttp.ReleaseCookie(cookie)
	cookie.SetKey("session")
	cookie.SetValue(a.sessions.begin(string(ctx.PostArgs().Peek("user"))))
	cookie.SetPath("/")
	cookie.SetHTTPOnly(true)
	cookie.SetSameSite(fasthttp.CookieSameSiteLaxMode)
	ctx.Response.Header.SetCookie(cookie)
	ctx.SetBodyString("welcome")
}

func (a *application) logout(ctx *fasthttp.RequestCtx) {
	a.sessions.end(string(ctx.Request.Header.Cookie("session")))
	ctx.Response.Header.DelClientCookie("session")
	ctx.SetStatusCode(fasthttp.StatusNoContent)
}

func (a *application) private(ctx *fasthttp.RequestCtx) {
	name, visits, ok := a.sessions.visit(string(ctx.Request.Header.Cookie("session")))
	if !ok {
		ctx.Error("log in first", fasthttp.StatusUnauthorized)
		return
	}
	ctx.SetUserValue("name", name)
	fmt.Fprintf(ctx, "%v, visit %d", ctx.UserValue("name"), visits)
}

func (a *application) upload(ctx *fasthttp.RequestCtx) {
	form, err := ctx.MultipartForm()
	if err != nil {
		ctx.Error("no form", fasthttp.StatusBadRequest)
		return
	}
	for _, file := range form.File["files"] {
		if err := fasthttp.SaveMultipartFile(file, filepath.Join(a.uploads, filepath.Base(file.Filename))); err != nil {
			ctx.Error("cannot save it", fasthttp.StatusInternalServerError)
			return
		}
		fmt.Fprintf(ctx, "%s: %d bytes\n", file.Filename, file.Size)
	}
	fmt.Fprintf(ctx, "comment: %s\n", ctx.FormValue("comment"))
}

func (a *application) item(ctx *fasthttp.RequestCtx, id string) {
	number, err := strconv.Atoi(id)
	if err != nil {
		ctx.Error(`{"error":"no number"}`, fasthttp.StatusBadRequest)
		ctx.SetContentType("application/json")
		return
	}
	ctx.SetContentType("application/json")
	if ctx.IsPut() {
		a.items.Store(number, string(ctx.PostBody()))
		ctx.SetStatusCode(fasthttp.StatusCreated)
		return
	}
	item, ok := a.items.Load(number)
	if !ok {
		ctx.SetStatusCode(fasthttp.StatusNotFound)
		return
	}
	ctx.SetBodyString(item.(string))
}

// proxy forwards a request.
func (a *application) proxy(ctx *fasthttp.RequestCtx, target string) {
	req, resp := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
	defer fasthttp.ReleaseRequest(req)
	defer fasthttp.ReleaseResponse(resp)
	ctx.Request.CopyTo(req)
	req.SetRequestURI(a.backend + target + "?" + string(ctx.QueryArgs().QueryString()))
	req.Header.Del("Connection")
	if err := a.client.DoTimeout(req, resp, time.Minute); err != nil {
		ctx.Error("backend does not answer", fasthttp.StatusBadGateway)
		return
	}
	ctx.SetStatusCode(resp.StatusCode())
	ctx.SetContentTypeBytes(resp.Header.ContentType())
	ctx.SetBody(resp.Body())
}

func backendHandler(ctx *fasthttp.RequestCtx) {
	if string(ctx.Path()) != "/echo" {
		ctx.NotFound()
		return
	}
	fmt.Fprintf(ctx, "%s %s own=%s body=%s", ctx.Method(), ctx.RequestURI(), ctx.Request.Header.Peek("X-Own"), ctx.PostBody())
}

// sessions has the logged-in users.
type sessions struct {
	mu   sync.Mutex
	byID map[string]*session
}

type session struct {
	name   string
	visits int
}

func newSessions() *sessions { return &sessions{byID: map[string]*session{}} }

// begin returns the name of a new session. A real application would generate it randomly.
func (s *sessions) begin(name string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := fmt.Sprintf("session-%d", len(s.byID)+1)
	s.byID[id] = &session{name: name}
	return id
}

func (s *sessions) end(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.byID, id)
}

func (s *sessions) visit(id string) (name string, visits int, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := s.byID[id]
	if found == nil {
		return "", 0, false
	}
	found.visits++
	return found.name, found.visits, true
}

func (s *sessions) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.byID)
}
