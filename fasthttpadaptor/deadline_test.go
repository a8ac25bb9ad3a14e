package fasthttpadaptor

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/valyala/fasthttp/internal/servertest"
)

// writesAtOnce is how many pieces are written as fast as the client takes them: many times what
// its windows permit.
const writesAtOnce = 200

// writeUntilItFails answers a request with a stream, sets a deadline once the client has
// the header, and writes until that fails.
func writeUntilItFails(deadline time.Duration, begun <-chan struct{}, failed chan<- error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		c := http.NewResponseController(w)
		if err := c.Flush(); err != nil {
			failed <- err
			return
		}
		<-begun
		if err := c.SetWriteDeadline(time.Now().Add(deadline)); err != nil {
			failed <- err
			return
		}
		piece := make([]byte, 16<<10)
		// the deadline passes while the client reads, which must not take a whole processor
		pace := time.NewTicker(time.Millisecond)
		defer pace.Stop()
		for i := 0; ; i++ {
			if i > writesAtOnce {
				<-pace.C
			}
			if _, err := w.Write(piece); err != nil {
				failed <- err
				return
			}
		}
	})
}

func expectDeadline(t *testing.T, c *http.Client, url string, begun chan<- struct{}, failed <-chan error) {
	t.Helper()
	resp, err := c.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	begun <- struct{}{}
	if _, err := io.Copy(io.Discard, resp.Body); err == nil {
		t.Error("the client has received a whole response")
	}
	if err := servertest.Receive(t, "the end of the handler", failed); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the handler got %v, want os.ErrDeadlineExceeded", err)
	}
}

var writeDeadlines = []struct {
	name  string
	after time.Duration
}{{"past", -time.Hour}, {"soon", time.Millisecond}}

func TestWriteDeadlineEndsAResponseThatHasBegunOverHTTP2(t *testing.T) {
	t.Parallel()
	for _, d := range writeDeadlines {
		for _, s := range http2Servers {
			t.Run(d.name+"/"+s.name, func(t *testing.T) {
				// a server looks at the deadlines of a connection once a second
				t.Parallel()
				begun, failed := make(chan struct{}, 1), make(chan error, 1)
				c, url := s.start(t, writeUntilItFails(d.after, begun, failed))
				expectDeadline(t, c, url, begun, failed)
			})
		}
	}
}

func TestWriteDeadlineEndsAResponseThatHasBegunBehindNetHTTP(t *testing.T) {
	t.Parallel()
	for _, d := range writeDeadlines {
		t.Run(d.name, func(t *testing.T) {
			begun, failed := make(chan struct{}, 1), make(chan error, 1)
			_, url := serveNet(t, NewFastHTTPHandler(writeUntilItFails(d.after, begun, failed)))
			c := &http.Client{Timeout: servertest.Patience}
			expectDeadline(t, c, url, begun, failed)
		})
	}
}

// largerThanBuffers is the size of a write for which no buffers of a connection suffice.
const largerThanBuffers = 64 << 20

// As with net/http, the goroutine that waits in Write is not the one that ends it.
func TestWriteDeadlineEndsTheWriteOfAnotherGoroutine(t *testing.T) {
	t.Parallel()
	eachServer(t, false, func(t *testing.T, start func(http.HandlerFunc) net.Conn) {
		begun, failed := make(chan struct{}), make(chan error, 2)
		c := start(func(w http.ResponseWriter, _ *http.Request) {
			go func() {
				<-begun
				control := http.NewResponseController(w)
				failed <- errors.Join(control.SetReadDeadline(time.Now().Add(time.Hour)), control.SetWriteDeadline(time.Now()))
			}()
			_, err := w.Write(make([]byte, largerThanBuffers))
			failed <- err
		})
		send(t, c, get)
		r := bufio.NewReader(c)
		resp, err := http.ReadResponse(r, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		defer c.Close()
		// the response is sent before the handler has returned, so Write waits
		if _, err := io.ReadFull(resp.Body, make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		close(begun)
		if err := servertest.Receive(t, "the setting of a deadline", failed); err != nil {
			t.Errorf("setting the deadlines: %v", err)
		}
		if err := servertest.Receive(t, "the end of the write", failed); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("the handler got %v, want os.ErrDeadlineExceeded", err)
		}
	})
}
