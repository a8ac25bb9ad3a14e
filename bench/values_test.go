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

func BenchmarkURIParse(b *testing.B) {
	var uri fasthttp.URI
	host, text := []byte(uriHost), []byte(uriText)
	loop(b, func() bool {
		err := uri.Parse(host, text)
		return err == nil && string(uri.Path()) == "/catalogue/boots/"
	})
}

// BenchmarkURIParsePlain parses the target of most requests: a path in normal form,
// and a query.
func BenchmarkURIParsePlain(b *testing.B) {
	var uri fasthttp.URI
	host, text := []byte(uriHost), []byte("/catalogue/boots/?size=42&sort=price")
	loop(b, func() bool {
		err := uri.Parse(host, text)
		return err == nil && len(uri.Path()) == len("/catalogue/boots/")
	})
}

func BenchmarkURIParseFull(b *testing.B) {
	var uri fasthttp.URI
	text := []byte(uriFull)
	loop(b, func() bool {
		err := uri.Parse(nil, text)
		return err == nil && len(uri.Host()) == len(uriHost)
	})
}

// BenchmarkURISetPath normalises a path with dot segments, repeated slashes and
// escapes.
func BenchmarkURISetPath(b *testing.B) {
	var uri fasthttp.URI
	loop(b, func() bool {
		uri.Reset()
		uri.SetPath("//catalogue/./red%20shoes//../boots/new/../")
		return string(uri.Path()) == "/catalogue/boots/"
	})
}

// BenchmarkURIUpdate resolves a relative reference, and one with another path.
func BenchmarkURIUpdate(b *testing.B) {
	var uri fasthttp.URI
	text := []byte(uriFull)
	loop(b, func() bool {
		if err := uri.Parse(nil, text); err != nil {
			return false
		}
		uri.Update("../sandals?size=40")
		uri.Update("/basket")
		return string(uri.Path()) == "/basket"
	})
}

func BenchmarkURIRequestURI(b *testing.B) {
	var uri fasthttp.URI
	if err := uri.Parse([]byte(uriHost), []byte(uriText)); err != nil {
		b.Fatal(err)
	}
	loop(b, func() bool {
		return len(uri.RequestURI()) == len("/catalogue/boots/?size=42&sort=price")
	})
}

func BenchmarkURIQueryArgs(b *testing.B) {
	var uri fasthttp.URI
	host, text := []byte(uriHost), []byte(uriText)
	loop(b, func() bool {
		err := uri.Parse(host, text)
		return err == nil && len(uri.QueryArgs().Peek("sort")) == len("price")
	})
}

func BenchmarkURIFullURI(b *testing.B) {
	var uri fasthttp.URI
	if err := uri.Parse([]byte(uriHost), []byte(uriText)); err != nil {
		b.Fatal(err)
	}
	loop(b, func() bool {
		return string(uri.FullURI()) == uriFull
	})
}

func BenchmarkCookieParse(b *testing.B) {
	var cookie fasthttp.Cookie
	loop(b, func() bool {
		err := cookie.Parse(cookieText)
		return err == nil && cookie.MaxAge() == 3600 && cookie.Secure()
	})
}

func BenchmarkCookieAppend(b *testing.B) {
	var cookie fasthttp.Cookie
	if err := cookie.Parse(cookieText); err != nil {
		b.Fatal(err)
	}
	var dst []byte
	loop(b, func() bool {
		dst = cookie.AppendBytes(dst[:0])
		return len(dst) == len(cookieText)
	})
}

// BenchmarkCookieDate appends a cookie that has an expiry time, and parses it.
func BenchmarkCookieDate(b *testing.B) {
	var cookie fasthttp.Cookie
	date := time.Unix(784887151, 0)
	var dst []byte
	loop(b, func() bool {
		cookie.Reset()
		cookie.SetKey("session")
		cookie.SetValue("5f2b9c1d7a3e")
		cookie.SetExpire(date)
		dst = cookie.AppendBytes(dst[:0])
		return cookie.ParseBytes(dst) == nil && cookie.Expire().Equal(date)
	})
}
