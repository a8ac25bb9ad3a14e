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

func BenchmarkArgsParse(b *testing.B) {
	var args fasthttp.Args
	loop(b, func() bool {
		args.Parse(queryText)
		return args.Len() == 6
	})
}

func BenchmarkArgsPeek(b *testing.B) {
	var args fasthttp.Args
	args.Parse(queryText)
	loop(b, func() bool {
		return len(args.Peek("sort")) == len("price")
	})
}

func BenchmarkArgsSet(b *testing.B) {
	var args fasthttp.Args
	args.Parse(queryText)
	loop(b, func() bool {
		args.Set("sort", "date")
		return args.Len() == 6
	})
}

// BenchmarkArgsAdd fills an empty list with four pairs.
func BenchmarkArgsAdd(b *testing.B) {
	var args fasthttp.Args
	loop(b, func() bool {
		args.Reset()
		args.Add("q", "red shoes")
		args.Add("size", "42")
		args.Add("size", "43")
		args.Add("page", "3")
		return args.Len() == 4
	})
}

func BenchmarkArgsDel(b *testing.B) {
	var args fasthttp.Args
	args.Parse(queryText)
	loop(b, func() bool {
		args.Del("sort")
		args.Add("sort", "price")
		return args.Len() == 6
	})
}

func BenchmarkArgsAppend(b *testing.B) {
	var args fasthttp.Args
	args.Parse(queryText)
	var dst []byte
	loop(b, func() bool {
		dst = args.AppendBytes(dst[:0])
		return len(dst) == len(queryText)
	})
}

func BenchmarkArgsQueryString(b *testing.B) {
	var args fasthttp.Args
	args.Parse(queryText)
	loop(b, func() bool {
		return len(args.QueryString()) == len(queryText)
	})
}

// BenchmarkArgsAll copies all keys and values, as a program that forwards them does.
func BenchmarkArgsAll(b *testing.B) {
	var args fasthttp.Args
	args.Parse(queryText)
	var dst []byte
	loop(b, func() bool {
		dst = dst[:0]
		for key, value := range args.All() {
			dst = append(append(dst, key...), value...)
		}
		return len(dst) == len("qred shoessize42brandcafépage3sortpricedirasc")
	})
}

func BenchmarkArgsGetUint(b *testing.B) {
	var args fasthttp.Args
	args.Parse(queryText)
	loop(b, func() bool {
		n, err := args.GetUint("size")
		return err == nil && n == 42
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
