package bench

import (
	"io"
	"net"
	"net/http"
	"sync"

	"github.com/valyala/fasthttp"

	"github.com/valyala/fasthttp/bench/internal/traffic"
)

// texts returns the messages of a row. Most of them are made once and at the first use, because that takes
// longer than a short run of a row.
type texts func() [][]byte

var (
	visitors = texts(sync.OnceValue(traffic.Visitors))
	proxied  = texts(sync.OnceValue(traffic.Proxied))
	posts    = texts(sync.OnceValue(traffic.Posts))
	browsers = texts(sync.OnceValue(func() [][]byte { return [][]byte{browserRequest()} }))
)

// only returns a row's texts that are one message.
func only(message []byte) texts { return func() [][]byte { return [][]byte{message} } }

// browserRequest is the longest request below 800 bytes. Only browsers send requests
// of this length.
func browserRequest() (request []byte) {
	for _, text := range visitors() {
		if len(text) > len(request) && len(text) < 800 {
			request = text
		}
	}
	return request
}

// variedClients is the number of clients in all rows but those with ten thousand.
const variedClients = 64

func answerVariedPost(ctx *fasthttp.RequestCtx) {
	if !ctx.IsPost() || len(ctx.PostBody()) != ctx.Request.Header.ContentLength() {
		ctx.Error("not the POST that was sent", fasthttp.StatusBadRequest)
		return
	}
	ctx.Success(contentType, answerBytes)
}

func answerNetHTTPVariedPost(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil || r.Method != http.MethodPost || int64(len(body)) != r.ContentLength {
		http.Error(w, "not the POST that was sent", http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", contentType)
	_, _ = w.Write(answerBytes)
}

func serveReads(ln net.Listener) error {
	one := bareAnswers[:len(bareAnswer)]
	for {
		c, err := ln.Accept()
		if err != nil {
			return nil
		}
		go func() {
			defer c.Close()
			buf := make([]byte, bareBuffer)
			for {
				if _, err := c.Read(buf); err != nil {
					return
				}
				if _, err := c.Write(one); err != nil {
					return
				}
			}
		}()
	}
}
