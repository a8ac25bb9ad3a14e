package traffic

import (
	"strconv"
	"strings"
)

// Visitors returns GET requests such as a public server receives: from browsers on desktops
// and phones, with cookies of various lengths, from programs, load balancer probes and bots.
// No two in a row have the same fields, nor do the last and the first.
func Visitors() [][]byte {
	s := newSource(1)
	return spread(visitors, func(int) []byte { return s.visitor() }, sameFields)
}

func (s source) visitor() []byte {
	switch n := s.IntN(100); {
	case n < 42:
		return s.chromium(s.browse())
	case n < 58:
		return s.safari(s.browse())
	case n < 70:
		return s.firefox(s.browse())
	case n < 80:
		return s.bot()
	case n < 87:
		return s.probe()
	}
	return s.program()
}

// Proxied returns GET requests that one client sends through a proxy. All have the same
// fields; the values of some differ in each.
func Proxied() [][]byte {
	s := newSource(2)
	agent := "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Mobile Safari/537.36"
	return spread(proxied, func(int) []byte {
		m := request("GET", s.target())
		m.add("Host", "shop.example.com", "X-Real-IP", "203.0.113.47", "X-Forwarded-For", "203.0.113.47")
		m.add("X-Forwarded-Proto", "https", "X-Request-Id", s.uuid(), "traceparent", s.traceparent(), "User-Agent", agent)
		m.add("Accept", "application/json, text/plain, */*", "Accept-Encoding", "gzip, deflate, br, zstd")
		m.add("Accept-Language", "en-GB,en;q=0.9")
		return m.end(nil)
	}, sameFields)
}

// The sizes of the bodies of Posts.
const (
	leastPost = 60
	mostPost  = 1500
)

// Posts returns POST requests of programs and browsers that send JSON of 60 to 1500
// bytes to an API.
func Posts() [][]byte {
	s := newSource(3)
	return spread(posts, func(int) []byte {
		body := s.object(s.between(leastPost, mostPost-8))
		size := strconv.Itoa(len(body))
		target := s.pick("/v1/orders", "/v1/orders/"+s.number(1, 99999)+"/items", "/v1/events", "/v2/carts/"+s.uuid(), "/v1/search?limit="+s.number(10, 100))
		m := request("POST", target)
		switch s.IntN(4) {
		case 0: // a page in a browser
			a := s.chromiumAgent()
			m.add("Host", "api.example.com", "Connection", "keep-alive", "Content-Length", size)
			a.hints(m)
			m.add("X-Request-Id", s.uuid(), "User-Agent", a.agent, "Authorization", s.bearer())
			m.add("Content-Type", "application/json", "Accept", "application/json", "Origin", "https://shop.example.com")
			m.add("Sec-Fetch-Site", "same-site", "Sec-Fetch-Mode", "cors", "Sec-Fetch-Dest", "empty")
			m.add("Referer", "https://shop.example.com"+s.target(), "Accept-Encoding", "gzip, deflate, br, zstd")
			m.add("Accept-Language", s.languages())
		case 1: // a service behind a proxy
			m.add("Host", "api.example.com", "User-Agent", "Go-http-client/1.1", "Content-Length", size)
			m.add("Authorization", s.bearer(), "Content-Type", "application/json", "Traceparent", s.traceparent())
			m.add("X-Forwarded-For", s.address(), "X-Request-Id", s.uuid(), "Accept-Encoding", "gzip")
		case 2: // a script
			m.add("Host", "api.example.com", "User-Agent", "python-requests/"+s.pick("2.32.3", "2.31.0", "2.28.2"))
			m.add("Accept-Encoding", "gzip, deflate", "Accept", "*/*", "Connection", "keep-alive", "Authorization", s.bearer())
			m.add("X-Request-ID", s.hex(32), "Content-Length", size, "Content-Type", "application/json")
		default: // a program that writes names in lower case
			m.add("host", "api.example.com", "connection", "keep-alive", "authorization", s.bearer())
			m.add("content-type", "application/json; charset=utf-8", "idempotency-key", s.uuid(), "x-request-id", s.uuid())
			m.add("accept", "*/*", "accept-language", "*", "sec-fetch-mode", "cors", "user-agent", "node")
			m.add("accept-encoding", "gzip, deflate", "content-length", size)
		}
		return m.end(body)
	}, sameFields)
}

// target returns a path of the shop, with a query for some.
func (s source) target() string {
	switch s.IntN(6) {
	case 0:
		return "/"
	case 1:
		return "/item?id=" + s.number(1, 99999)
	case 2:
		return "/c/" + s.pick("shoes", "boots", "bags", "coats") + "/" + s.pick("women", "men", "kids") + "?page=" + s.number(1, 40) + "&sort=" + s.pick("price", "new", "rating")
	case 3:
		return "/search?q=" + s.pick("red+shoes", "caf%C3%A9", "winter%20coat", "gift") + "&size=" + s.number(34, 46)
	case 4:
		return "/api/v1/stock/" + s.number(1, 99999)
	}
	return "/p/" + s.pick("leather-boots", "rain-coat", "canvas-bag") + "-" + s.hex(6) + ".html"
}

// program returns a request of a program other than a browser.
func (s source) program() []byte {
	m := request("GET", "/v1/"+s.pick("items", "orders", "stock", "users")+"/"+s.number(1, 99999)+s.pick("", "?expand=all", "?fields=id,name,price"))
	switch s.IntN(5) {
	case 0:
		m.add("Host", "api.example.com", "User-Agent", "curl/"+s.pick("8.14.1", "8.5.0", "7.88.1"))
		m.add("Accept", s.pick("*/*", "application/json"), "X-Api-Key", s.pick("", s.token(32)))
	case 1:
		m.add("Host", "api.example.com", "User-Agent", "Go-http-client/1.1", "Authorization", s.bearer())
		m.add("X-Request-Id", s.uuid(), "Accept-Encoding", "gzip")
	case 2:
		m.add("Host", "api.example.com", "User-Agent", "python-requests/"+s.pick("2.32.3", "2.31.0", "2.28.2"))
		m.add("Accept-Encoding", s.pick("gzip, deflate", "gzip, deflate, br"), "Accept", "*/*", "Connection", "keep-alive")
		m.add("Authorization", s.pick("", "Basic "+s.token(28)))
	case 3:
		m.add("host", "api.example.com", "connection", "keep-alive", "authorization", s.bearer(), "accept", "*/*")
		m.add("accept-language", "*", "sec-fetch-mode", "cors", "user-agent", "node", "accept-encoding", "gzip, deflate")
	default:
		m.add("Accept", "application/json", "X-Trace-Id", s.hex(16), "User-Agent", "okhttp/"+s.pick("4.12.0", "5.1.0"))
		m.add("Host", "api.example.com", "Connection", "Keep-Alive", "Accept-Encoding", "gzip")
		m.add("If-None-Match", s.pick("", `W/"`+s.hex(16)+`"`))
	}
	return m.end(nil)
}

// probe returns a health check.
func (s source) probe() []byte {
	m := request("GET", s.pick("/healthz", "/ready", "/status"))
	switch s.IntN(3) {
	case 0:
		m.add("Host", "10.0.3."+s.number(2, 250)+":8080", "Connection", "keep-alive", "User-Agent", "ELB-HealthChecker/2.0")
		m.add("Accept-Encoding", "gzip, compressed")
	case 1:
		m.add("Host", "10.0.3."+s.number(2, 250)+":8080", "User-Agent", "kube-probe/1."+s.number(28, 34), "Accept", "*/*")
	default:
		m.add("host", "shop", "user-agent", "Envoy/HC", "x-envoy-expected-rq-timeout-ms", s.number(500, 2000))
	}
	return m.end(nil)
}

// bot returns a request of a crawler.
func (s source) bot() []byte {
	m := request("GET", s.pick("/robots.txt", "/sitemap.xml", s.target(), s.target(), s.target()))
	m.add("Host", s.pick("shop.example.com", "www.example.com"), "Connection", "keep-alive")
	m.add("Accept", s.pick("*/*", "text/html,application/xhtml+xml,application/signed-exchange;v=b3,application/xml;q=0.9,*/*;q=0.8"))
	m.add("From", s.pick("", "", "bot@example.net"))
	m.add("User-Agent", s.pick(
		"Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
		"Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm) Chrome/136.0.0.0 Safari/537.36",
		"Mozilla/5.0 (Linux; Android 6.0.1; Nexus 5X Build/MMB29P) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.7339.207 Mobile Safari/537.36 (compatible; GPTBot/1.2; +https://openai.com/gptbot)",
		"Mozilla/5.0 (compatible; AhrefsBot/7.0; +http://ahrefs.com/robot/)"))
	m.add("Accept-Encoding", s.pick("gzip, deflate, br", "gzip,deflate"))
	m.add("If-Modified-Since", s.pick("", date(begin.AddDate(0, 0, -s.between(1, 300)))))
	return m.end(nil)
}

// Closing returns a request of this package with a Connection field that asks the server
// to close the connection.
func Closing(text []byte) []byte {
	head, body, _ := strings.Cut(string(text), "\r\n\r\n")
	var b strings.Builder
	for line := range strings.SplitSeq(head, "\r\n") {
		if name, _, _ := strings.Cut(line, ":"); !strings.EqualFold(name, "Connection") {
			b.WriteString(line + "\r\n")
		}
	}
	return []byte(b.String() + "Connection: close\r\n\r\n" + body)
}
