package bench

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/valyala/fasthttp/bench/internal/fakeh2"
)

// http2Answers are the responses of the HTTP/2 rows, and http2APIAnswers of the varied rows.
// They are clientAnswer and apiAnswers.
var (
	http2Answers    = sync.OnceValue(func() []fakeh2.Message { return asHTTP2([][]byte{clientAnswerBytes}) })
	http2APIAnswers = sync.OnceValue(func() []fakeh2.Message { return asHTTP2(apiAnswers()) })
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
