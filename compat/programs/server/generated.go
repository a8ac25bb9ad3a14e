package main

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/valyala/fasthttp/compat/internal/gen"
)

// generated generates well-formed requests, one to three in a row, and damages some of them.
// The name of a damaged one contains its oddity if a rule makes the two modules differ.
func generated(damaged bool, count int) []input {
	kind := "formed"
	if damaged {
		kind = "damaged"
	}
	s := gen.New("server/" + kind)
	list := make([]input, count)
	for i := range list {
		raw := s.Join(1, 3, "", func() string { return madeRequest(s) })
		if damaged {
			raw = s.Mutate(raw, damage...)
		}
		list[i] = input{strings.Join(append([]string{kind + "/" + strconv.Itoa(i)}, oddities(raw)...), "+"), raw}
	}
	return list
}

var damage = []string{
	"\r\n", "\n", "\r", " ", "  ", "\t", ":", ",", ";", "\x00", "\x01", "\x7f", "\xff", "%", "%41", "/", "?", "#", "http://", "HTTP/1.1", "0", "1", "5", "f", "-", "+", "é",
	"\r\n\r\n", "Host: other\r\n", "Content-Length: 5\r\n", "Content-Length: 0\r\n", "Transfer-Encoding: chunked\r\n", "Connection: close\r\n", "Connection: keep-alive\r\n", "Expect: 100-continue\r\n", "X: y\r\n", "0\r\n\r\n", "5\r\nhello\r\n", ";a=b", hidden,
}

func madeRequest(s *gen.Source) string {
	version := s.Pick("HTTP/1.1", "HTTP/1.1", "HTTP/1.1", "HTTP/1.1", "HTTP/1.0")
	method := s.Pick("GET", "GET", "GET", "POST", "POST", "HEAD", "PUT", "DELETE", "PATCH", "OPTIONS", "FOO")
	path := "/" + s.Join(0, 3, "/", func() string { return s.Pick(s.Word(), s.Word(), "%20", "a+b", "é", "", "..", ".") })
	if s.Chance(30) {
		path = s.Pick("/close", "/empty", "/notfound", "/stream", "/status?n=201", "/status?n=404", "/status-empty?n=204", "/status?n=304", "/write", "/error?n=500", "/unread", "/redirect?n=302&to=/x", "/success", "/set?X=y")
	} else if s.Chance(40) {
		path += "?" + s.Join(1, 3, "&", func() string { return s.Word() + "=" + s.Word() })
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s%s %s\r\n", method, s.Maybe(5, "http://example.com"), path, version)
	fields := []string{"Host: " + s.Pick("example.com", "localhost:8080", "127.0.0.1", "[::1]:80", "h")}
	for range s.N(5) {
		fields = append(fields, s.Pick(
			"User-Agent: test/1.0", "Accept: */*", "X-"+s.Word()+": "+s.Word(), "Cookie: a="+s.Word()+"; b="+s.Word(), "Referer: http://a/b", "x-lower:"+s.Word(), "X-Empty:", "X-Spaces:  \t"+s.Word()+" ",
			"Connection: keep-alive", "Connection: close", "Connection: Upgrade", "Accept-Encoding: gzip, br", "Range: bytes=0-5", "If-None-Match: \"x\"", "Authorization: Basic eDp5"))
	}
	body := ""
	if method != "GET" && method != "HEAD" || s.Chance(10) {
		content := s.Join(0, 8, "", s.Word)
		switch {
		case s.Chance(30) && version == "HTTP/1.1":
			fields = append(fields, "Transfer-Encoding: chunked")
			for rest := content; rest != ""; {
				n := 1 + s.N(len(rest))
				body += fmt.Sprintf("%x%s\r\n%s\r\n", n, s.Maybe(10, ";"+s.Word()+"="+s.Word()), rest[:n])
				rest = rest[n:]
			}
			body += "0\r\n" + s.Maybe(15, "X-Trailer: "+s.Word()+"\r\n") + "\r\n"
		case s.Chance(90):
			fields = append(fields, fmt.Sprint("Content-Length: ", len(content)), "Content-Type: "+s.Pick("text/plain", "application/x-www-form-urlencoded", "application/json"))
			body = content
			if body != "" && s.Chance(10) {
				fields = append(fields, "Expect: 100-continue")
			}
		}
	}
	for len(fields) > 0 {
		i := s.N(len(fields))
		b.WriteString(fields[i] + "\r\n")
		fields = append(fields[:i], fields[i+1:]...)
	}
	return b.String() + "\r\n" + body
}

// The oddities of raw bytes, anywhere in them.
var oddBytes = []struct {
	name string
	find *regexp.Regexp
}{
	{"line-end", regexp.MustCompile(`(^|[^\r])\n|\r([^\n]|$)`)},
	{"fold", regexp.MustCompile(`\r\n[ \t]`)},
	{"empty-lines", regexp.MustCompile(`(\r\n){3}`)},
	{"control", regexp.MustCompile(`[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]`)},
	{"version", regexp.MustCompile(`HTTP/(1\.[^01]|[^1]|1[^.]|1\.[01][^\r\n])`)},
	{"extension", regexp.MustCompile(`(?i)\r\n[0-9a-f]+[ \t]*;[^\r\n]*|\r\n[0-9a-f]+[ \t]+\r\n`)},
	{"connect", regexp.MustCompile(`CONNECT`)},
	{"escape", regexp.MustCompile(` [^ ]*%([^0-9A-Fa-f]|.[^0-9A-Fa-f])`)},
	{"fragment", regexp.MustCompile(` [^ \r\n]*#[^ \r\n]* HTTP/`)},
	{"authority", regexp.MustCompile(`[a-zA-Z]+ [a-zA-Z0-9+.-]*://([^ /?#]*[^a-zA-Z0-9 /?#.:-][^ /?#]*|[^ /?#]*:[^ /?#]*|) `)},
}

// The ordinary values of the fields that determine the framing and the target.
var ordinary = []struct {
	name  string
	field string
	value *regexp.Regexp
}{
	{"host", "host", regexp.MustCompile(`^([A-Za-z0-9.-]+|\[[0-9A-Fa-f:]+\])(:[0-9]{1,4})?$`)},
	{"coding", "transfer-encoding", regexp.MustCompile(`(?i)^chunked$`)},
	{"length", "content-length", regexp.MustCompile(`^(0|[1-9][0-9]{0,5})$`)},
	{"expect", "expect", regexp.MustCompile(`(?i)^100-continue$`)},
	{"trailer", "trailer", regexp.MustCompile(`^[A-Za-z-]+$`)},
}

var fieldName = regexp.MustCompile(`^[!#$%&'*+.^_|~0-9A-Za-z\x60-]+:`)

func oddities(raw string) []string {
	found := map[string]bool{}
	for _, o := range oddBytes {
		if o.find.MatchString(raw) {
			found[o.name] = true
		}
	}
	inHead, connections := false, 0
	for line := range strings.SplitSeq(raw, "\r\n") {
		name, value, isField := strings.Cut(line, ":")
		switch {
		case strings.Contains(line, " HTTP/"):
			inHead, connections = true, 0
			continue
		case line == "":
			inHead = false
			continue
		case inHead && !fieldName.MatchString(line):
			found["name"] = true
		}
		if inHead && strings.EqualFold(name, "connection") {
			if connections++; connections > 1 || strings.ContainsAny(value, ",;") {
				found["connections"] = true
			}
		}
		for _, o := range ordinary {
			if isField && strings.EqualFold(strings.TrimSpace(name), o.field) && !o.value.MatchString(strings.Trim(value, " \t")) {
				found[o.name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(found))
}
