// Command nethttp does with net/http what the fasthttp server program does.
package main

import (
	"net"
	"net/http"

	"github.com/valyala/fasthttp/bench/internal/serving"
)

var body = []byte(serving.Body)

func main() { serving.Main(serve) }

func serve(ln net.Listener, mode serving.Mode) error {
	handler := answer
	if mode == serving.Mixed {
		handler = answerMixed
	}
	s := &http.Server{Handler: http.HandlerFunc(handler)}
	return s.Serve(ln)
}

func answer(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", serving.ContentType)
	_, _ = w.Write(body)
}

func answerMixed(w http.ResponseWriter, r *http.Request) {
	serving.Slow(r.URL.Path)
	answer(w, r)
}
