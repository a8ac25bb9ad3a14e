package main

import (
	"crypto/rand"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/valyala/fasthttp"
)

const (
	// cookieName begins with a prefix for which browsers ensure that this host has set the
	// cookie, over TLS.
	cookieName = "__Host-session"

	idleTime    = 30 * time.Minute // a session ends after this time without a request,
	sessionTime = 12 * time.Hour   // and after that in any case
	maxSessions = 100_000
	maxName     = 40
)

// session is the session of a user.
type session struct {
	name      string
	idle, end time.Time
}

func (s session) over(now time.Time) bool { return now.After(s.idle) || now.After(s.end) }

// sessions has the sessions by the value of their cookie, which cannot be guessed. Clients
// store nothing else, so a session ends when it is removed here.
type sessions struct {
	mu  sync.Mutex
	all map[string]session
}

func newSessions() *sessions { return &sessions{all: make(map[string]session)} }

// begin starts a session and returns the value of its cookie.
func (s *sessions) begin(name string) (string, error) {
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.all) >= maxSessions {
		return "", errBusy
	}
	id := rand.Text()
	s.all[id] = session{name, now.Add(idleTime), now.Add(sessionTime)}
	return id, nil
}

// find returns the name of the user of a session, and extends the session by idleTime.
func (s *sessions) find(id string) (name string, ok bool) {
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	one, ok := s.all[id]
	if !ok || one.over(now) {
		return "", false
	}
	one.idle = now.Add(idleTime)
	s.all[id] = one
	return one.name, true
}

func (s *sessions) end(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, id)
}

// sweep removes expired sessions.
func (s *sessions) sweep() {
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, one := range s.all {
		if one.over(now) {
			delete(s.all, id)
		}
	}
}

func (s *sessions) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.all)
}

// user is a user, as it is received and sent.
type user struct {
	Name string `json:"name"`
}

func (a *app) showSession(c *call) (any, error) { return user{c.user}, nil }

// logIn begins a session. It accepts every name: this is where a real service checks a
// password, or the signature of an identity provider.
func (a *app) logIn(c *call) (any, error) {
	var u user
	if err := receive(c.http, &u); err != nil {
		return nil, err
	}
	if n := utf8.RuneCountInString(u.Name); n == 0 || n > maxName {
		return nil, errBadName
	}
	// another user may know the previous cookie
	a.sessions.end(string(c.http.Request.Header.Cookie(cookieName)))
	id, err := a.sessions.begin(u.Name)
	if err != nil {
		return nil, err
	}
	setCookie(c.http, id, sessionTime)
	c.http.SetStatusCode(fasthttp.StatusCreated)
	return u, nil
}

func (a *app) logOut(c *call) (any, error) {
	a.sessions.end(string(c.http.Request.Header.Cookie(cookieName)))
	setCookie(c.http, "", 0)
	c.http.SetStatusCode(fasthttp.StatusNoContent)
	return nil, nil
}

// setCookie has the browser keep the value for a time, or forget it if that is 0.
func setCookie(ctx *fasthttp.RequestCtx, value string, keep time.Duration) {
	c := fasthttp.AcquireCookie()
	defer fasthttp.ReleaseCookie(c)
	c.SetKey(cookieName)
	c.SetValue(value)
	c.SetPath("/")
	c.SetSecure(true)
	c.SetHTTPOnly(true)
	c.SetSameSite(fasthttp.CookieSameSiteLaxMode)
	if keep > 0 {
		c.SetMaxAge(int(keep.Seconds()))
	} else {
		c.SetExpire(fasthttp.CookieExpireDelete)
	}
	ctx.Response.Header.SetCookie(c)
}
