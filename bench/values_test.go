package bench

import (
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/valyala/fasthttp/bench/internal/cputime"
)

const (
	queryText  = "q=red+shoes&size=42&brand=caf%C3%A9&page=3&sort=price&dir=asc"
	cookieText = "session=5f2b9c1d7a3e; max-age=3600; domain=example.com; path=/shop; HttpOnly; secure; SameSite=Lax"
	uriHost    = "shop.example.com"
	uriText    = "/catalogue/red%20shoes/../boots/?size=42&sort=price#reviews"
	uriFull    = "http://shop.example.com/catalogue/boots/?size=42&sort=price#reviews"
)

// loop measures work, which reports whether its result is right. Figures of two builds are
// comparable, figures of two rows are not.
func loop(b *testing.B, work func() bool) {
	b.Helper()
	if !work() {
		b.Fatal("the result is wrong")
	}
	b.ReportAllocs()
	begin := cputime.Used()
	for b.Loop() {
		if !work() {
			b.Fatal("the result is wrong")
		}
	}
	reportCPU(b, cputime.Used()-begin)
}

// work is the work of a row on a value, which reports whether its result is right.
type work[T any] struct {
	name string
	do   func(T) bool
}

// looped returns rows that loop on a new value each.
func looped[T any](value func(*testing.B) T, all []work[T]) (rows []row) {
	for _, w := range all {
		rows = append(rows, row{w.name, func(b *testing.B) {
			v := value(b)
			loop(b, func() bool { return w.do(v) })
		}})
	}
	return rows
}

// query is a parsed query with a buffer.
type query struct {
	fasthttp.Args
	dst []byte
}

func argsRows() []row {
	parsed := func(*testing.B) *query {
		q := new(query)
		q.Parse(queryText)
		return q
	}
	return looped(parsed, []work[*query]{
		{"ArgsParse", func(q *query) bool {
			q.Parse(queryText)
			return q.Len() == 6
		}},
		{"ArgsPeek", func(q *query) bool { return len(q.Peek("sort")) == len("price") }},
		{"ArgsSet", func(q *query) bool {
			q.Set("sort", "date")
			return q.Len() == 6
		}},
		// fills an empty list with four pairs
		{"ArgsAdd", func(q *query) bool {
			q.Reset()
			q.Add("q", "red shoes")
			q.Add("size", "42")
			q.Add("size", "43")
			q.Add("page", "3")
			return q.Len() == 4
		}},
		{"ArgsDel", func(q *query) bool {
			q.Del("sort")
			q.Add("sort", "price")
			return q.Len() == 6
		}},
		{"ArgsAppend", func(q *query) bool {
			q.dst = q.AppendBytes(q.dst[:0])
			return len(q.dst) == len(queryText)
		}},
		{"ArgsQueryString", func(q *query) bool { return len(q.QueryString()) == len(queryText) }},
		// copies all keys and values, as a program that forwards them does
		{"ArgsAll", func(q *query) bool {
			q.dst = q.dst[:0]
			for key, value := range q.All() {
				q.dst = append(append(q.dst, key...), value...)
			}
			return len(q.dst) == len("qred shoessize42brandcafépage3sortpricedirasc")
		}},
		{"ArgsGetUint", func(q *query) bool {
			n, err := q.GetUint("size")
			return err == nil && n == 42
		}},
	})
}

func uriRows() []row {
	host, text, full := []byte(uriHost), []byte(uriText), []byte(uriFull)
	plain := []byte("/catalogue/boots/?size=42&sort=price")
	parsed := func(b *testing.B) *fasthttp.URI {
		u := new(fasthttp.URI)
		if err := u.Parse(host, text); err != nil {
			b.Fatal(err)
		}
		return u
	}
	return looped(parsed, []work[*fasthttp.URI]{
		{"URIParse", func(u *fasthttp.URI) bool {
			return u.Parse(host, text) == nil && string(u.Path()) == "/catalogue/boots/"
		}},
		// the target of most requests: a path in normal form, and a query
		{"URIParsePlain", func(u *fasthttp.URI) bool {
			return u.Parse(host, plain) == nil && len(u.Path()) == len("/catalogue/boots/")
		}},
		{"URIParseFull", func(u *fasthttp.URI) bool { return u.Parse(nil, full) == nil && len(u.Host()) == len(uriHost) }},
		// normalises a path with dot segments, repeated slashes and escapes
		{"URISetPath", func(u *fasthttp.URI) bool {
			u.Reset()
			u.SetPath("//catalogue/./red%20shoes//../boots/new/../")
			return string(u.Path()) == "/catalogue/boots/"
		}},
		// resolves a relative reference, and one with another path
		{"URIUpdate", func(u *fasthttp.URI) bool {
			if err := u.Parse(nil, full); err != nil {
				return false
			}
			u.Update("../sandals?size=40")
			u.Update("/basket")
			return string(u.Path()) == "/basket"
		}},
		{"URIRequestURI", func(u *fasthttp.URI) bool { return len(u.RequestURI()) == len(plain) }},
		{"URIQueryArgs", func(u *fasthttp.URI) bool {
			return u.Parse(host, text) == nil && len(u.QueryArgs().Peek("sort")) == len("price")
		}},
		{"URIFullURI", func(u *fasthttp.URI) bool { return string(u.FullURI()) == uriFull }},
	})
}

func cookieRows() []row {
	date := time.Unix(784887151, 0)
	var dst []byte
	parsed := func(b *testing.B) *fasthttp.Cookie {
		c := new(fasthttp.Cookie)
		if err := c.Parse(cookieText); err != nil {
			b.Fatal(err)
		}
		return c
	}
	return looped(parsed, []work[*fasthttp.Cookie]{
		{"CookieParse", func(c *fasthttp.Cookie) bool {
			return c.Parse(cookieText) == nil && c.MaxAge() == 3600 && c.Secure()
		}},
		{"CookieAppend", func(c *fasthttp.Cookie) bool {
			dst = c.AppendBytes(dst[:0])
			return len(dst) == len(cookieText)
		}},
		// appends a cookie that has an expiry time, and parses it
		{"CookieDate", func(c *fasthttp.Cookie) bool {
			c.Reset()
			c.SetKey("session")
			c.SetValue("5f2b9c1d7a3e")
			c.SetExpire(date)
			dst = c.AppendBytes(dst[:0])
			return c.ParseBytes(dst) == nil && c.Expire().Equal(date)
		}},
	})
}
