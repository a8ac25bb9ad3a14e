package websocket

import (
	"bytes"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/valyala/fasthttp/compat/internal/process"
)

// protocols are the subprotocols of every server, in its order of preference.
var protocols = []string{"chat.v2", "chat.v1"}

// service is what every server in Go does with its links. The servers in testdata do the same:
//
//	/echo?id=ID   returns each message, and notes how the peer has closed
//	/parts        returns each message in three fragments
//	/ping         pings with each message as the payload, and sends "ponged" after the pong
//	/close        closes with the code and the reason of the first message, "4000 reason"
//	/seen?id=ID   sends how the peer has closed its link to /echo with that ID
type service struct {
	mu    sync.Mutex
	cond  *sync.Cond
	notes map[string]string
}

func newService() *service {
	s := &service{notes: make(map[string]string)}
	s.cond = sync.NewCond(&s.mu)
	return s
}

// serve returns when the link has ended.
func (s *service) serve(path, query string, l link) {
	values, _ := url.ParseQuery(query)
	id := values.Get("id")
	switch path {
	case "/seen":
		_ = l.write(opText, []byte(s.awaitNote(id)))
		_, _, _ = l.read()
	case "/close":
		_, p, err := l.read()
		if err != nil {
			return
		}
		number, reason, _ := strings.Cut(string(p), " ")
		code, _ := strconv.Atoi(number)
		_ = l.close(code, reason)
	default:
		s.note(id, answerAll(path, l))
	}
}

// answerAll answers each message until there is an error.
func answerAll(path string, l link) error {
	for {
		kind, p, err := l.read()
		if err != nil {
			return err
		}
		switch path {
		case "/parts":
			a, b := len(p)/3, len(p)/2
			err = l.write(kind, p[:a], p[a:b], p[b:])
		case "/ping":
			if err = l.ping(string(p)); err == nil {
				err = l.write(opText, []byte("ponged"))
			}
		default:
			err = l.write(kind, p)
		}
		if err != nil {
			return err
		}
	}
}

func (s *service) note(id string, err error) {
	note := fmt.Sprintf("an error: %v", err)
	if closed, ok := err.(*closedError); ok {
		note = strings.TrimSuffix(fmt.Sprintf("%d %s", closed.code, closed.reason), " ")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notes[id] = note
	s.cond.Broadcast()
}

// awaitNote returns the note, or the reason for its wait if there is none in time.
func (s *service) awaitNote(id string) string {
	late := false
	timer := time.AfterFunc(process.Patience, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		late = true
		s.cond.Broadcast()
	})
	defer timer.Stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.notes[id] == "" && !late {
		s.cond.Wait()
	}
	if note := s.notes[id]; note != "" {
		return note
	}
	return "no note of " + id
}

// payload returns bytes that are valid text of a size, and compress well.
func payload(size int) []byte {
	p := bytes.Repeat([]byte("0123456789 äöü €, "), size/20+1)[:size]
	for i := size - 1; i >= 0 && p[i] >= 0x80; i-- {
		p[i] = '.'
	}
	return p
}
