package fasthttptest_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/fasthttptest"
)

// TestBubbles has a server, a client and a peer on a fake clock.
func TestBubbles(t *testing.T) {
	for range 3 {
		synctest.Test(t, func(t *testing.T) {
			s := fasthttptest.New(t, func(ctx *fasthttp.RequestCtx) { time.Sleep(time.Hour) }) // bubble: within synctest.Test
			at := time.Now()
			if status, _, err := s.Client.Get(nil, s.URL); status != 200 || err != nil {
				t.Errorf("got %d, %v", status, err)
			}
			if took := time.Since(at); took != time.Hour {
				t.Errorf("the call took %v", took)
			}
			peer := fasthttptest.NewPeer(t)
			client := peer.Client()
			client.ReadTimeout = time.Minute
			result := make(chan error, 1)
			at = time.Now()
			go func() {
				_, _, err := client.Post(nil, "http://a/", nil)
				result <- err
			}()
			c := peer.Accept()
			c.ExpectHead()
			if err := <-result; err == nil || time.Since(at) != time.Minute {
				t.Errorf("got %v after %v", err, time.Since(at))
			}
			c.ExpectEnd()
		})
	}
}
