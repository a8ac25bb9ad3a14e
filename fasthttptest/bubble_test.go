package fasthttptest_test

import (
	"testing"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/fasthttptest"
	"github.com/valyala/fasthttp/internal/servertest"
)

// TestBubbles has a server, a client and a peer on a fake clock.
func TestBubbles(t *testing.T) {
	for range 3 {
		servertest.Bubble(t, func(t *testing.T) {
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

// A short test leaves no goroutine in its bubble, even if nothing outside uses the clock of the
// process.
func TestShortBubbles(t *testing.T) { servertest.Apart(t, testShortBubbles) }

func testShortBubbles(t *testing.T) {
	for _, test := range []func(t *testing.T){
		func(t *testing.T) {
			s := fasthttptest.New(t, func(*fasthttp.RequestCtx) {})
			if status, _, err := s.Client.Get(nil, s.URL); status != 200 || err != nil {
				t.Errorf("got %d, %v", status, err)
			}
		},
		func(t *testing.T) {
			peer := fasthttptest.NewPeer(t)
			client := peer.Client()
			result := make(chan error, 1)
			go func() {
				_, _, err := client.Get(nil, "http://a/")
				result <- err
			}()
			c := peer.Accept()
			c.ExpectHead()
			c.Send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
			if err := servertest.Receive(t, "the response", result); err != nil {
				t.Error(err)
			}
		},
	} {
		servertest.Bubble(t, test)
	}
}
