package bench

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/valyala/fasthttp/bench/internal/fakeh2"
	"github.com/valyala/fasthttp/bench/internal/protocols"
)

// http2Answers are the responses of the HTTP/2 rows, and http2APIAnswers of the varied rows.
// They are clientAnswer and apiAnswers.
var (
	http2Answers    = asHTTP2([][]byte{clientAnswerBytes})
	http2APIAnswers = asHTTP2(apiAnswers)
)

// changingFields are the fields of apiAnswers whose values differ in each response: a server
// with a table of some kilobytes does not add them to it.
var changingFields = map[string]bool{"date": true, "x-request-id": true, "etag": true, "content-length": true, "set-cookie": true}

func asHTTP2(texts [][]byte) []fakeh2.Message {
	var all []fakeh2.Message
	for _, text := range texts {
		resp, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(text)), nil)
		if err != nil {
			panic(err)
		}
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			panic(err)
		}
		m := fakeh2.Message{Fields: []fakeh2.Field{{Name: ":status", Value: "200"}}, Body: body}
		head, _, _ := bytes.Cut(text, headEnd)
		for _, line := range strings.Split(string(head), "\r\n")[1:] {
			name, value, _ := strings.Cut(line, ": ")
			name = strings.ToLower(name)
			m.Fields = append(m.Fields, fakeh2.Field{Name: name, Value: value, Changes: len(texts) > 1 && changingFields[name]})
		}
		all = append(all, m)
	}
	if len(all) > 1 {
		fillTable(all)
	}
	return all
}

// fillTable marks all fields as changing that the first response does not have: only the first
// response fills the table.
func fillTable(all []fakeh2.Message) {
	known := map[string]string{}
	for _, f := range all[0].Fields {
		known[f.Name] = f.Value
	}
	for i := range all {
		for k := range all[i].Fields {
			if f := &all[i].Fields[k]; known[f.Name] != f.Value {
				f.Changes = true
			}
		}
	}
}

// dialHTTP2 returns a function that connects to a server in memory or over TCP.
func dialHTTP2(b testing.TB, w wires, answers []fakeh2.Message) func(string) (net.Conn, error) {
	b.Helper()
	s, err := fakeh2.NewServer(answers)
	if err != nil {
		b.Fatal(err)
	}
	if w == inMemory {
		return func(string) (net.Conn, error) { return s.Dial(), nil }
	}
	return serveTCP(b, func(nc net.Conn) {
		_ = s.Serve(nc) // the caller detects the error
	})
}

// http2Row describes a row of HTTP/2 clients.
type http2Row struct {
	kind     callKind
	varied   bool
	parallel int
	wires    wires
}

func (r http2Row) dial(b testing.TB) func(string) (net.Conn, error) {
	if r.varied {
		return dialHTTP2(b, r.wires, http2APIAnswers)
	}
	return dialHTTP2(b, r.wires, http2Answers)
}

// benchHTTP2Client is benchClient, or benchVariedClient, with HTTP/2: all callers share a
// connection. The published fasthttp has no HTTP/2.
func benchHTTP2Client(b *testing.B, r http2Row) {
	b.Helper()
	client := &fasthttp.Client{Dial: r.dial(b)}
	if !protocols.OnlyHTTP2(client) {
		b.Skip("this fasthttp has no HTTP/2")
	}
	defer client.CloseIdleConnections()
	var started atomic.Int64
	callers(b, r.parallel, func() (func() error, func()) {
		req, resp := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
		next := inTurn(&started)
		if r.kind == postCall {
			req.Header.SetMethod(fasthttp.MethodPost)
			req.Header.SetContentType("application/json")
			req.SetBodyString(postBody)
		}
		call := func() (err error) {
			url := clientURL
			if r.varied {
				c := next()
				url = c.URL
				req.Header.Set("X-Request-Id", c.ID)
				if r.kind == postCall {
					req.SetBody(c.Body)
				}
			}
			req.SetRequestURI(url)
			if r.kind == getTimeoutCall {
				err = client.DoTimeout(req, resp, time.Minute)
			} else {
				err = client.Do(req, resp)
			}
			if err == nil && !r.isAnswer(resp.StatusCode(), resp.Header.ContentLength(), resp.Body()) {
				err = errWrongAnswer
			}
			return err
		}
		return call, func() {
			fasthttp.ReleaseRequest(req)
			fasthttp.ReleaseResponse(resp)
		}
	})
}

func (r http2Row) isAnswer(status, length int, body []byte) bool {
	if r.varied {
		return wholeAnswer(status, length, body)
	}
	return status == 200 && bytes.Equal(body, answerBytes)
}

// benchNetHTTPHTTP2Client is benchHTTP2Client for net/http.
func benchNetHTTPHTTP2Client(b *testing.B, r http2Row) {
	b.Helper()
	client := netHTTPClient(r.dial(b), 0)
	protocols.OnlyHTTP2(client.Transport)
	defer client.CloseIdleConnections()
	var started atomic.Int64
	callers(b, r.parallel, func() (func() error, func()) {
		next := inTurn(&started)
		call := func() error {
			url, id, content := clientURL, "", postBodyBytes
			if r.varied {
				c := next()
				url, id, content = c.URL, c.ID, c.Body
			}
			method, body := http.MethodGet, io.Reader(nil)
			if r.kind == postCall {
				method, body = http.MethodPost, bytes.NewReader(content)
			}
			req, err := http.NewRequest(method, url, body)
			if err != nil {
				return err
			}
			if id != "" {
				req.Header.Set("X-Request-Id", id)
			}
			if r.kind == postCall {
				req.Header.Set("Content-Type", "application/json")
			}
			resp, err := client.Do(req)
			if err != nil {
				return err
			}
			defer resp.Body.Close()
			got, err := io.ReadAll(resp.Body)
			if err == nil && !r.isAnswer(resp.StatusCode, int(resp.ContentLength), got) {
				err = errWrongAnswer
			}
			return err
		}
		return call, func() {}
	})
}

func BenchmarkHTTP2ClientGet1CallersMemory(b *testing.B) {
	benchHTTP2Client(b, http2Row{kind: getCall, parallel: 1})
}

func BenchmarkHTTP2ClientGet10CallersMemory(b *testing.B) {
	benchHTTP2Client(b, http2Row{kind: getCall, parallel: 10})
}

func BenchmarkHTTP2ClientGetVaried1CallersMemory(b *testing.B) {
	benchHTTP2Client(b, http2Row{kind: getCall, varied: true, parallel: 1})
}

func BenchmarkHTTP2ClientGetVaried10CallersMemory(b *testing.B) {
	benchHTTP2Client(b, http2Row{kind: getCall, varied: true, parallel: 10})
}

func BenchmarkHTTP2ClientGetTimeout1CallersMemory(b *testing.B) {
	benchHTTP2Client(b, http2Row{kind: getTimeoutCall, parallel: 1})
}

func BenchmarkHTTP2ClientPost1CallersMemory(b *testing.B) {
	benchHTTP2Client(b, http2Row{kind: postCall, parallel: 1})
}

func BenchmarkHTTP2ClientPost10CallersMemory(b *testing.B) {
	benchHTTP2Client(b, http2Row{kind: postCall, parallel: 10})
}

func BenchmarkHTTP2ClientPostVaried1CallersMemory(b *testing.B) {
	benchHTTP2Client(b, http2Row{kind: postCall, varied: true, parallel: 1})
}

func BenchmarkHTTP2ClientGet1CallersTCP(b *testing.B) {
	benchHTTP2Client(b, http2Row{kind: getCall, parallel: 1, wires: overTCP})
}

func BenchmarkHTTP2ClientGet10CallersTCP(b *testing.B) {
	benchHTTP2Client(b, http2Row{kind: getCall, parallel: 10, wires: overTCP})
}

func BenchmarkHTTP2ClientGetVaried1CallersTCP(b *testing.B) {
	benchHTTP2Client(b, http2Row{kind: getCall, varied: true, parallel: 1, wires: overTCP})
}

func BenchmarkHTTP2ClientGetVaried10CallersTCP(b *testing.B) {
	benchHTTP2Client(b, http2Row{kind: getCall, varied: true, parallel: 10, wires: overTCP})
}

func BenchmarkHTTP2ClientPost1CallersTCP(b *testing.B) {
	benchHTTP2Client(b, http2Row{kind: postCall, parallel: 1, wires: overTCP})
}

func BenchmarkNetHTTPHTTP2ClientGet1CallersMemory(b *testing.B) {
	benchNetHTTPHTTP2Client(b, http2Row{kind: getCall, parallel: 1})
}

func BenchmarkNetHTTPHTTP2ClientGet10CallersMemory(b *testing.B) {
	benchNetHTTPHTTP2Client(b, http2Row{kind: getCall, parallel: 10})
}

func BenchmarkNetHTTPHTTP2ClientGetVaried1CallersMemory(b *testing.B) {
	benchNetHTTPHTTP2Client(b, http2Row{kind: getCall, varied: true, parallel: 1})
}

func BenchmarkNetHTTPHTTP2ClientGetVaried10CallersMemory(b *testing.B) {
	benchNetHTTPHTTP2Client(b, http2Row{kind: getCall, varied: true, parallel: 10})
}

func BenchmarkNetHTTPHTTP2ClientPost1CallersMemory(b *testing.B) {
	benchNetHTTPHTTP2Client(b, http2Row{kind: postCall, parallel: 1})
}

func BenchmarkNetHTTPHTTP2ClientPost10CallersMemory(b *testing.B) {
	benchNetHTTPHTTP2Client(b, http2Row{kind: postCall, parallel: 10})
}

func BenchmarkNetHTTPHTTP2ClientPostVaried1CallersMemory(b *testing.B) {
	benchNetHTTPHTTP2Client(b, http2Row{kind: postCall, varied: true, parallel: 1})
}

func BenchmarkNetHTTPHTTP2ClientGet1CallersTCP(b *testing.B) {
	benchNetHTTPHTTP2Client(b, http2Row{kind: getCall, parallel: 1, wires: overTCP})
}

func BenchmarkNetHTTPHTTP2ClientGet10CallersTCP(b *testing.B) {
	benchNetHTTPHTTP2Client(b, http2Row{kind: getCall, parallel: 10, wires: overTCP})
}

func BenchmarkNetHTTPHTTP2ClientGetVaried1CallersTCP(b *testing.B) {
	benchNetHTTPHTTP2Client(b, http2Row{kind: getCall, varied: true, parallel: 1, wires: overTCP})
}

func BenchmarkNetHTTPHTTP2ClientGetVaried10CallersTCP(b *testing.B) {
	benchNetHTTPHTTP2Client(b, http2Row{kind: getCall, varied: true, parallel: 10, wires: overTCP})
}

func BenchmarkNetHTTPHTTP2ClientPost1CallersTCP(b *testing.B) {
	benchNetHTTPHTTP2Client(b, http2Row{kind: postCall, parallel: 1, wires: overTCP})
}
