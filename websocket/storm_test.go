package websocket_test

import (
	"context"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/valyala/fasthttp/internal/servertest"
	"github.com/valyala/fasthttp/internal/ws"
	"github.com/valyala/fasthttp/websocket"
)

// TestSocketsEndOnceWhateverTheirHandlersDo has handlers that block, panic and end their
// goroutines, and other goroutines that use the sockets meanwhile.
func TestSocketsEndOnceWhateverTheirHandlersDo(t *testing.T) {
	t.Parallel()
	forEachSocketEngine(t, func(t *testing.T, start socketStarter) {
		var opened, closed atomic.Int32
		var group websocket.Group
		var users sync.WaitGroup
		use := func(s *websocket.Socket, how int) {
			defer users.Done()
			switch how % 8 {
			case 0:
				s.Abort()
			case 1:
				_ = s.Close(websocket.CloseNormalClosure, "bye")
			case 2:
				for range 20 {
					_ = s.Send(websocket.BinaryMessage, make([]byte, 3000))
				}
			case 3:
				group.Broadcast(websocket.Message{Type: websocket.TextMessage, Data: []byte("all")}, func(s *websocket.Socket) { s.Abort() })
			case 4:
				group.Leave(s)
				group.Join(s)
			case 5:
				ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
				_ = s.SendWait(ctx, websocket.BinaryMessage, make([]byte, 2<<20))
				cancel()
			case 6:
				_ = s.Ping([]byte("x"))
				_ = s.RemoteAddr()
				_ = s.TLSConnectionState()
			case 7:
				_ = s.Queued()
				_ = s.Close(3000, "")
				s.Abort()
			}
		}
		act := func(s *websocket.Socket, text string) {
			for i, c := range text {
				switch c {
				case 'p':
					panic("panic")
				case 'g':
					runtime.Goexit()
				case 'u':
					users.Add(1)
					go use(s, i+len(text))
				case 'U':
					users.Add(1)
					use(s, i+len(text))
				case 'y':
					runtime.Gosched()
				}
			}
		}
		h := &websocket.Handler{MaxQueue: 10_000, CloseTimeout: servertest.Short}
		h.OnOpen = func(s *websocket.Socket) {
			opened.Add(1)
			group.Join(s)
			act(s, strings.SplitN(s.Data().(string), "/", 4)[1])
		}
		h.OnMessage = func(s *websocket.Socket, m websocket.Message) { act(s, strings.SplitN(s.Data().(string), "/", 4)[2]) }
		h.OnDrain = func(s *websocket.Socket) { act(s, "u") }
		h.OnClose = func(s *websocket.Socket, _ int, _ error) {
			defer closed.Add(1) // the users begun here must have been counted before the wait for them
			act(s, strings.SplitN(s.Data().(string), "/", 4)[3])
		}
		s := start(h)
		words := []string{"", "p", "g", "u", "uuuuuuuu", "UUUUUUUU", "uyp", "uyg", "Ug", "Up", "uUuUyyu", "U", "xxU", "xU", "xxxU", "xxxxU"}
		n := 0
		for _, a := range words {
			for _, b := range words {
				nc, err := s.Dialer()
				servertest.Must(t, err)
				ahead := string(socketFrame(ws.Text, "hello")) + string(socketFrame(ws.Text, strings.Repeat("x", 5000)))
				_, _ = nc.Write([]byte(socketRequest("/"+a+"/"+b+"/"+words[n%len(words)]) + ahead))
				n++
				if n%3 == 0 {
					_ = nc.Close()
				} else {
					t.Cleanup(func() { _ = nc.Close() })
				}
			}
		}
		done := make(chan error, 1)
		go func() { done <- s.S.Shutdown() }()
		servertest.Must(t, servertest.Receive(t, "the end of Shutdown", done))
		servertest.Eventually(t, "the end of all sockets", func() bool { return opened.Load() == closed.Load() })
		users.Wait()
		if group.Len() != 0 {
			t.Errorf("the group has %d members", group.Len())
		}
	})
}
