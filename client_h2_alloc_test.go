package fasthttp

import (
	"net"
	"testing"
	"time"

	"github.com/valyala/fasthttp/internal/servertest"
)

func TestHTTP2CallsDoNotAllocate(t *testing.T) {
	if servertest.RaceDetector {
		t.Skip("the race detector allocates")
	}
	content := []byte("Hello, World!")
	s := withHTTP2(&Server{Handler: func(ctx *RequestCtx) {
		if ctx.IsPost() && string(ctx.PostBody()) != string(content) {
			ctx.Error("this is not the content", StatusBadRequest)
			return
		}
		ctx.SetBody(content)
	}})
	l, _ := servertest.ListenTCP(t)
	go func() { _ = s.Serve(l) }()
	defer func() { _ = s.Shutdown() }()
	c := &Client{MaxIdleConnDuration: servertest.Never}
	// every write to its connections blocks, so separate goroutines write
	waits := &Client{MaxIdleConnDuration: servertest.Never, Dial: func(addr string) (net.Conn, error) {
		nc, err := net.Dial("tcp4", addr)
		return struct{ net.Conn }{nc}, err
	}}
	for _, c := range []*Client{c, waits} {
		c.Protocols.SetUnencryptedHTTP2(true)
		defer c.CloseIdleConnections()
	}
	url := "http://" + l.Addr().String() + "/some/path?with=query"
	for name, tt := range map[string]struct {
		post    bool
		timeout time.Duration
		callers int
		waits   bool
	}{
		"GET":                  {callers: 1},
		"POST":                 {callers: 1, post: true},
		"GET, deadline":        {callers: 1, timeout: time.Minute},
		"POST, deadline":       {callers: 1, post: true, timeout: time.Minute},
		"GET, waits":           {callers: 1, waits: true},
		"POST, waits":          {callers: 1, waits: true, post: true, timeout: time.Minute},
		"10 of GET":            {callers: 10},
		"10 of POST, deadline": {callers: 10, post: true, timeout: time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			c := c
			if tt.waits {
				c = waits
			}
			// each caller makes a call for each value that it receives
			begin, over := make(chan bool), make(chan bool)
			defer close(begin)
			for range tt.callers {
				var req Request
				var resp Response
				req.SetRequestURI(url)
				if tt.post {
					req.Header.SetMethod(MethodPost)
					req.SetBody(content)
				}
				go func() {
					for range begin {
						var err error
						if tt.timeout > 0 {
							err = c.DoTimeout(&req, &resp, tt.timeout)
						} else {
							err = c.Do(&req, &resp)
						}
						if err != nil || string(resp.Body()) != string(content) || string(resp.Header.Protocol()) != "HTTP/2.0" {
							t.Errorf("%q by %s, %v", resp.Body(), resp.Header.Protocol(), err)
						}
						over <- true
					}
				}()
			}
			once := func() {
				for range tt.callers {
					begin <- true
				}
				for range tt.callers {
					<-over // ends: by Soon; Receive allocates
				}
			}
			// goroutines and pools need some rounds until they allocate no more
			allocs := 1.0
			for range 20 {
				servertest.Soon(t, "one of the calls", func() { allocs = testing.AllocsPerRun(100, once) })
				if allocs == 0 {
					break
				}
			}
			if allocs != 0 {
				t.Errorf("%v allocations", allocs)
			}
		})
	}
	if c.ConnsCount() != 1 || waits.ConnsCount() != 1 {
		t.Errorf("%d and %d connections", c.ConnsCount(), waits.ConnsCount())
	}
}
