package traffic

import (
	"strconv"
	"time"
)

// The sizes of the bodies of Answers.
const (
	leastAnswer = 20
	mostAnswer  = 2000
)

// Answers returns responses of an API, with JSON of 20 to 2000 bytes. Every few responses the
// date advances by a second.
func Answers() [][]byte {
	s := newSource(4)
	return spread(answers, func(i int) []byte {
		body := s.object(s.between(leastAnswer+20, mostAnswer-8))
		if s.chance(10) {
			body = body[:0]
			body = append(body, `{"id":`+s.number(100_000, 999_999)+`,"ok":1}`...)
		}
		m := &message{b: []byte("HTTP/1.1 200 OK\r\n")}
		m.add("Server", "shop/2.4", "Date", date(begin.Add(time.Duration(i/8)*time.Second)))
		m.add("Content-Type", s.pick("application/json", "application/json; charset=utf-8"))
		m.add("Content-Length", strconv.Itoa(len(body)))
		m.add("Cache-Control", s.pick("no-store", "private, max-age=60", "public, max-age=3600, stale-while-revalidate=60"))
		m.add("ETag", s.pick(`"`+s.hex(32)+`"`, `W/"`+s.hex(8)+`"`), "X-Request-Id", s.uuid())
		if s.chance(30) {
			m.add("Set-Cookie", "session="+s.token(s.between(16, 64))+"; Path=/; Secure; HttpOnly; SameSite=Lax")
		}
		if s.chance(25) {
			m.add("Vary", "Accept-Encoding, Origin")
		}
		return m.end(body)
	}, sameFields)
}

// Call is a request that a client makes.
type Call struct {
	URL  string
	ID   string // for X-Request-Id
	Body []byte // of a POST
}

// Calls returns requests of API clients.
func Calls() []Call {
	s := newSource(5)
	all := make([]Call, calls)
	for i := range all {
		all[i] = Call{
			URL:  "http://api.example.com" + s.target(),
			ID:   s.uuid(),
			Body: s.object(s.between(leastPost, mostPost-8)),
		}
	}
	return all
}
