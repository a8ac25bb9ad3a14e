package bench

import (
	"flag"
	"fmt"
	"net"
	"regexp"
	"strings"
	"testing"

	"github.com/valyala/fasthttp/fasthttpadaptor"

	"github.com/valyala/fasthttp/bench/internal/fakenet"
)

// A row is a benchmark of a server, a client, or a single call. BenchmarkRow runs all rows, and everything that
// reads names of benchmarks takes each row for a benchmark of its own.
type row struct {
	name string
	run  func(b *testing.B)
}

// netHTTP begins the names of the rows of net/http.
const netHTTP = "NetHTTP"

// harness begins the names of the rows of the harness itself.
const harness = "Harness"

func rows() []row {
	var all []row
	for _, list := range [][]row{serverRows(), harnessRows(), http2ServerRows(), tlsRows(), clientRows(), http2ClientRows(), pipelineRows(), argsRows(), uriRows(), cookieRows(), headerRows(), textRows()} {
		all = append(all, list...)
	}
	return all
}

func BenchmarkRow(b *testing.B) {
	for _, r := range rows() {
		b.Run(r.name, r.run)
	}
}

// TestMain makes -bench and -list find the rows by their names.
func TestMain(m *testing.M) {
	flag.Parse()
	if pattern := flag.Lookup("test.bench").Value; pattern.String() != "" {
		text := pattern.String()
		_ = pattern.Set(fmt.Sprintf("(%s)|^BenchmarkRow$/(%s)", text, strings.ReplaceAll(text, "Benchmark", "")))
	}
	m.Run()
	if pattern := flag.Lookup("test.list").Value.String(); pattern != "" {
		for _, r := range rows() {
			if name := "Benchmark" + r.name; regexp.MustCompile(pattern).MatchString(name) {
				fmt.Println(name)
			}
		}
	}
}

// count is a number as names of rows have it.
func count(n int) string {
	if n >= 1000 && n%1000 == 0 {
		return fmt.Sprintf("%dK", n/1000)
	}
	return fmt.Sprint(n)
}

// serve serves the connections of a listener until it is closed.
type serve func(net.Listener) error

// driven returns a row with clients in memory. Their number depends on GOMAXPROCS, so the row
// asks for it when it runs.
func driven(name string, s serve, clients func() fakenet.Config) row {
	return row{name, func(b *testing.B) { drive(b, s, clients()) }}
}

// few are clients that never pause.
func few(of texts, perConn int) func() fakenet.Config {
	return func() fakenet.Config { return fakenet.Config{Texts: of(), PerConn: perConn, Clients: fewClients()} }
}

// crowd are ten thousand clients with open connections. At any time a few of them, in turn, have
// pending requests.
func crowd(of texts, perConn int, onePerRead bool) func() fakenet.Config {
	return func() fakenet.Config {
		return fakenet.Config{
			Texts: of(), OnePerRead: onePerRead, PerConn: perConn, Batch: min(perConn, manyBatch),
			Clients: manyClients, Turns: fewClients(), WarmUp: true,
		}
	}
}

// visit are clients that send texts in turn, as fast as the server reads or one for each read.
func visit(of texts, onePerRead bool) func() fakenet.Config {
	return func() fakenet.Config {
		return fakenet.Config{Texts: of(), OnePerRead: onePerRead, PerConn: 10_000, Clients: variedClients}
	}
}

func serverRows() (all []row) {
	gets, posted := only(getRequest), only(postRequest)
	for _, of := range []struct {
		prefix                string
		get, post, variedPost serve
	}{
		{"", with(answerGet), with(answerPost), with(answerVariedPost)},
		{netHTTP, withNetHTTP(answerNetHTTPGet), withNetHTTP(answerNetHTTPPost), withNetHTTP(answerNetHTTPVariedPost)},
	} {
		add := func(name string, s serve, clients func() fakenet.Config) {
			all = append(all, driven(of.prefix+"Server"+name, s, clients))
		}
		for _, n := range []int{1, 2, 10, 10_000} {
			add("Get"+count(n)+"ReqPerConn", of.get, few(gets, n))
		}
		for _, n := range []int{1, 2, 10, 10_000} {
			add("Post"+count(n)+"ReqPerConn", of.post, few(posted, n))
		}
		for _, n := range []int{1, 2, 10, 100} {
			add("Get"+count(n)+"ReqPerConn10KClients", of.get, crowd(gets, n, false))
		}
		for _, v := range []struct {
			name  string
			serve serve
			texts texts
		}{{"GetVaried", of.get, visitors}, {"GetProxied", of.get, proxied}, {"PostVaried", of.variedPost, posts}} {
			add(v.name+"10KReqPerConn", v.serve, visit(v.texts, false))
			add(v.name+"OnePerRead", v.serve, visit(v.texts, true))
			add(v.name+"100ReqPerConn10KClients", v.serve, crowd(v.texts, 100, false))
			add(v.name+"OnePerRead10KClients", v.serve, crowd(v.texts, 100, true))
		}
		add("GetOnePerRead", of.get, visit(gets, true))
		add("GetBrowserOnePerRead", of.get, visit(browsers, true))
	}
	adapted := fasthttpadaptor.NewFastHTTPHandlerFunc(answerNetHTTPGet)
	return append(all, driven("ServerAdaptedGetVariedOnePerRead", with(adapted), visit(visitors, true)))
}

// harnessRows have servers that only find the ends of requests and write responses: they
// measure the costs of the harness itself and of the goroutines that every server needs.
func harnessRows() []row {
	gets := only(getRequest)
	return []row{
		driven(harness+"Get1ReqPerConn", serveBare, few(gets, 1)),
		driven(harness+"Get10KReqPerConn", serveBare, few(gets, 10_000)),
		driven(harness+"Get1ReqPerConn10KClients", serveBare, crowd(gets, 1, false)),
		driven(harness+"Get100ReqPerConn10KClients", serveBare, crowd(gets, 100, false)),
		driven(harness+"GetVariedOnePerRead", serveReads, visit(visitors, true)),
		driven(harness+"GetVariedOnePerRead10KClients", serveReads, crowd(visitors, 100, true)),
		{harness + "Client1CallersTCP", func(b *testing.B) { benchHarnessClient(b, answering(b, overTCP), 1) }},
		{harness + "Client100CallersTCP", func(b *testing.B) { benchHarnessClient(b, answering(b, overTCP), 100) }},
		{harness + "Client1KCallersTCP", func(b *testing.B) { benchHarnessClient(b, answering(b, overTCP), 1000) }},
	}
}

func http2ServerRows() (all []row) {
	for _, streams := range []int{1, 100} {
		suffix := map[int]string{1: "1Stream", 100: "100Streams"}[streams]
		for _, r := range []struct {
			name     string
			messages []message
			posts    bool
		}{{"Get", http2Gets, false}, {"GetVaried", http2Varied, false}, {"Post", http2Posts, true}} {
			ours, other := answerGet, answerNetHTTPGet
			if r.posts {
				ours, other = answerVariedPost, answerNetHTTPVariedPost
			}
			all = append(all,
				row{"HTTP2Server" + r.name + suffix, func(b *testing.B) { benchHTTP2(b, ours, r.messages, streams) }},
				row{netHTTP + "HTTP2Server" + r.name + suffix, func(b *testing.B) { benchNetHTTP2(b, other, r.messages, streams) }})
		}
	}
	return all
}

func tlsRows() []row {
	return []row{
		{"TLSServerGetTCP", func(b *testing.B) { benchTLS(b, serveTLS, [][]byte{getRequest}) }},
		{"TLSServerGetVariedTCP", func(b *testing.B) { benchTLS(b, serveTLS, visitors()) }},
		{netHTTP + "TLSServerGetTCP", func(b *testing.B) { benchTLS(b, serveNetHTTPTLS, [][]byte{getRequest}) }},
		{netHTTP + "TLSServerGetVariedTCP", func(b *testing.B) { benchTLS(b, serveNetHTTPTLS, visitors()) }},
	}
}

func clientRows() (all []row) {
	add := func(name string, w wires, r calling) {
		if w == overTCP && r.parallel == 10_000 && r.conns == 0 {
			return // more connections than many systems allow
		}
		name = fmt.Sprintf("Client%s%sCallers%s", name, count(r.parallel), w)
		all = append(all, r.rows(name)...)
	}
	for _, w := range []wires{inMemory, overTCP} {
		to := func(b *testing.B) dialing { return answering(b, w) }
		for _, n := range []int{1, 10, 100, 1000, 10_000} {
			add("Get", w, calling{kind: getCall, parallel: n, dial: to})
			add("GetTimeout", w, calling{kind: getTimeoutCall, parallel: n, dial: to})
			add("Post", w, calling{kind: postCall, parallel: n, dial: to})
			real := calling{kind: getCall, parallel: n, dial: func(b *testing.B) dialing { return serving(b, w, with(answerItem)) },
				dialNetHTTP: func(b *testing.B) dialing { return serving(b, w, serveNetHTTPItem) }}
			if n == 10_000 && w == overTCP {
				real.conns = mostConnections
			}
			add("GetEndToEnd", w, real)
			if real.conns = 1; n == 100 || w == inMemory && (n == 10 || n == 1000) {
				add("GetEndToEndWaitConn", w, real)
			}
		}
	}
	for _, n := range []int{1, 64} {
		to := func(*testing.B) dialing { return dialAPI() }
		add("GetVaried", inMemory, calling{kind: getCall, varied: true, parallel: n, dial: to})
		add("PostVaried", inMemory, calling{kind: postCall, varied: true, parallel: n, dial: to})
	}
	return all
}

// http2ClientRows have callers that share a connection.
func http2ClientRows() (all []row) {
	for _, w := range []wires{inMemory, overTCP} {
		for _, r := range []struct {
			name string
			calling
			tcp bool // over TCP, too
		}{
			{"Get", calling{kind: getCall, parallel: 1}, true},
			{"Get", calling{kind: getCall, parallel: 10}, true},
			{"GetVaried", calling{kind: getCall, varied: true, parallel: 1}, true},
			{"GetVaried", calling{kind: getCall, varied: true, parallel: 10}, true},
			{"GetTimeout", calling{kind: getTimeoutCall, parallel: 1}, false},
			{"Post", calling{kind: postCall, parallel: 1}, true},
			{"Post", calling{kind: postCall, parallel: 10}, false},
			{"PostVaried", calling{kind: postCall, varied: true, parallel: 1}, false},
		} {
			if w == overTCP && !r.tcp {
				continue
			}
			answers := http2Answers
			if r.varied {
				answers = http2APIAnswers
			}
			r.http2, r.dial = true, func(b *testing.B) dialing { return dialHTTP2(b, w, answers()) }
			all = append(all, r.rows(fmt.Sprintf("HTTP2Client%s%sCallers%s", r.name, count(r.parallel), w))...)
		}
	}
	return all
}

func pipelineRows() (all []row) {
	add := func(name string, kind callKind, to func(b *testing.B) dialing, callers ...int) {
		for _, n := range callers {
			number := fmt.Sprint(n)
			if n == 10_000 {
				number = count(n)
			}
			r := calling{kind: kind, parallel: n, dial: to}
			all = append(all, row{"PipelineClient" + name + number, r.pipelined})
		}
	}
	plain := func(*testing.B) dialing { return dialPipeline }
	add("Do", getCall, plain, 1, 10, 100, 1000, 10_000)
	add("DoTimeout", getTimeoutCall, plain, 100)
	add("Varied", getCall, func(*testing.B) dialing { return dialVariedPipeline }, 1, 100)
	add("TCP", getCall, func(b *testing.B) dialing { return answerPipelined(b) }, 1, 100, 1000)
	return all
}
