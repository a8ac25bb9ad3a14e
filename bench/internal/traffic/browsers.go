package traffic

import (
	"fmt"
	"strings"
)

// visit is a request of a person's browser.
type visit struct {
	target  string
	kind    string // the value of Sec-Fetch-Dest
	typed   bool   // the person gave the address
	referer string
	cookie  string
	lang    string
	etag    string
	mobile  bool
}

func (s source) browse() visit {
	v := visit{
		target: s.target(),
		kind:   s.pick("document", "document", "image", "script", "style", "empty", "empty", "font"),
		cookie: s.cookie(),
		lang:   s.languages(),
		mobile: s.chance(55),
	}
	switch v.kind {
	case "image":
		v.target = "/img/" + s.hex(10) + s.pick(".webp", ".avif", ".jpg?w="+s.number(120, 1600))
	case "script":
		v.target = "/assets/" + s.pick("app", "vendor", "checkout") + "." + s.hex(8) + ".js"
	case "style":
		v.target = "/assets/main." + s.hex(8) + ".css"
	case "font":
		v.target = "/assets/inter-" + s.number(100, 900) + ".woff2"
	}
	if v.kind == "document" && s.chance(40) {
		v.typed = true
	} else {
		v.referer = "https://shop.example.com" + s.target()
	}
	if v.kind != "document" && v.kind != "empty" && s.chance(45) {
		v.etag = `"` + s.hex(s.between(8, 32)) + `"`
	}
	return v
}

func (v visit) document() bool { return v.kind == "document" }

// mode is the value of Sec-Fetch-Mode.
func (v visit) mode() string {
	switch v.kind {
	case "document":
		return "navigate"
	case "empty", "font":
		return "cors"
	}
	return "no-cors"
}

func (v visit) site() string {
	if v.typed {
		return "none"
	}
	return "same-origin"
}

// accept returns the value of Accept; for documents it differs between browsers.
func (v visit) accept(document string) string {
	switch v.kind {
	case "document":
		return document
	case "image":
		return "image/avif,image/webp,image/apng,image/svg+xml,image/*,*/*;q=0.8"
	case "style":
		return "text/css,*/*;q=0.1"
	case "empty":
		return "application/json, text/plain, */*"
	}
	return "*/*"
}

func (s source) languages() string {
	return s.pick("en-US,en;q=0.9", "en-GB,en;q=0.9,de;q=0.8", "de-DE,de;q=0.9,en-US;q=0.8,en;q=0.7", "fr-FR,fr;q=0.9",
		"es-ES,es;q=0.8,en-US;q=0.5,en;q=0.3", "ja,en-US;q=0.9,en;q=0.8", "pt-BR,pt;q=0.9,en;q=0.8", "en-US")
}

// cookie returns a Cookie of up to about 900 bytes, and none for some visitors: a session, ids
// of statistics, and choices of consent.
func (s source) cookie() string {
	var all []string
	if s.chance(85) {
		all = append(all, "session="+s.token(s.between(12, 64)))
	}
	if s.chance(40) {
		all = append(all, "lang="+s.pick("en", "de", "fr"), "theme="+s.pick("dark", "light"))
	}
	if s.chance(55) {
		all = append(all, fmt.Sprintf("_ga=GA1.1.%d.%d", s.between(1e8, 2e9), s.between(17e8, 18e8)),
			fmt.Sprintf("_ga_%s=GS2.1.s%d$o%d$g1$t%d$j60$l0$h0", s.token(10), s.between(17e8, 18e8), s.between(1, 30), s.between(17e8, 18e8)))
	}
	if s.chance(30) {
		all = append(all, "consent="+s.token(s.between(80, 420)))
	}
	if s.chance(35) {
		all = append(all, "cart="+s.uuid(), "csrftoken="+s.token(32))
	}
	return strings.Join(all, "; ")
}

// chromium is Chrome, or a browser based on it.
type chromium struct{ agent, brands, mobile, platform string }

func (s source) chromiumAgent() chromium {
	version := s.number(132, 141)
	c := chromium{mobile: "?0"}
	brand := "Google Chrome"
	suffix := ""
	switch s.IntN(10) {
	case 0, 1, 2, 3, 4:
		c.mobile, c.platform = "?1", `"Android"`
		c.agent = "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/" + version + ".0.0.0 Mobile Safari/537.36"
	case 5:
		brand, suffix = "Microsoft Edge", " Edg/"+version+".0.0.0"
		fallthrough
	case 6, 7:
		c.platform = `"Windows"`
		c.agent = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/" + version + ".0.0.0 Safari/537.36" + suffix
	case 8:
		c.platform = `"macOS"`
		c.agent = "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/" + version + ".0.0.0 Safari/537.36"
	default:
		c.platform = `"Linux"`
		c.agent = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/" + version + ".0.0.0 Safari/537.36"
	}
	c.brands = fmt.Sprintf(`"Chromium";v="%s", "Not=A?Brand";v="24", "%s";v="%s"`, version, brand, version)
	return c
}

// hints adds the fields that only these browsers send.
func (c chromium) hints(m *message) {
	m.add("sec-ch-ua", c.brands, "sec-ch-ua-mobile", c.mobile, "sec-ch-ua-platform", c.platform)
}

func (s source) chromium(v visit) []byte {
	c := s.chromiumAgent()
	m := request("GET", v.target)
	m.add("Host", "shop.example.com", "Connection", "keep-alive")
	if v.document() {
		m.add("Cache-Control", s.pick("", "", "max-age=0"))
		c.hints(m)
		m.add("Upgrade-Insecure-Requests", "1", "User-Agent", c.agent)
	} else {
		m.add("sec-ch-ua-platform", c.platform, "User-Agent", c.agent, "sec-ch-ua", c.brands, "sec-ch-ua-mobile", c.mobile)
	}
	m.add("Accept", v.accept("text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/apng,*/*;q=0.8,application/signed-exchange;v=b3;q=0.7"))
	m.add("Sec-Fetch-Site", v.site(), "Sec-Fetch-Mode", v.mode())
	if v.document() {
		m.add("Sec-Fetch-User", "?1")
	}
	m.add("Sec-Fetch-Dest", v.kind, "Referer", v.referer, "Accept-Encoding", "gzip, deflate, br, zstd")
	m.add("Accept-Language", v.lang, "Cookie", v.cookie, "If-None-Match", v.etag)
	return m.end(nil)
}

func (s source) firefox(v visit) []byte {
	version := s.number(128, 144)
	system := s.pick("Windows NT 10.0; Win64; x64", "X11; Linux x86_64", "Macintosh; Intel Mac OS X 10.15", "X11; Ubuntu; Linux x86_64")
	engine := "Gecko/20100101"
	if v.mobile {
		system, engine = "Android 15; Mobile", "Gecko/"+version+".0"
	}
	m := request("GET", v.target)
	m.add("Host", "shop.example.com")
	m.add("User-Agent", "Mozilla/5.0 ("+system+"; rv:"+version+".0) "+engine+" Firefox/"+version+".0")
	m.add("Accept", v.accept("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"), "Accept-Language", v.lang)
	m.add("Accept-Encoding", "gzip, deflate, br, zstd", "Referer", v.referer, "DNT", s.pick("", "", "1"))
	m.add("Connection", "keep-alive", "Cookie", v.cookie)
	if v.document() {
		m.add("Upgrade-Insecure-Requests", "1")
	}
	m.add("Sec-Fetch-Dest", v.kind, "Sec-Fetch-Mode", v.mode(), "Sec-Fetch-Site", v.site())
	if v.document() {
		m.add("Sec-Fetch-User", "?1")
	}
	m.add("If-None-Match", v.etag, "Priority", s.pick("u=0, i", "u=4", "u=2"))
	return m.end(nil)
}

func (s source) safari(v visit) []byte {
	version := s.pick("17.6", "18.1", "18.5", "18.6", "26.0")
	agent := "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/" + version + " Safari/605.1.15"
	if v.mobile {
		system := strings.ReplaceAll(version, ".", "_")
		agent = "Mozilla/5.0 (iPhone; CPU iPhone OS " + system + " like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/" + version + " Mobile/15E148 Safari/604.1"
	}
	m := request("GET", v.target)
	m.add("Host", "shop.example.com", "Accept", v.accept("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"))
	m.add("Sec-Fetch-Site", v.site(), "Cookie", v.cookie, "Sec-Fetch-Dest", v.kind, "Accept-Language", v.lang)
	m.add("Sec-Fetch-Mode", v.mode(), "If-None-Match", v.etag, "User-Agent", agent, "Referer", v.referer)
	m.add("Accept-Encoding", "gzip, deflate, br", "Connection", "keep-alive")
	return m.end(nil)
}
