package fasthttpadaptor

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/valyala/fasthttp/internal/servertest"
)

// TestLargeBodyIsReadBesideTheResponse has handlers that read on when their response has begun,
// without full duplex. As with net/http, what is too large to be discarded before the response
// is left to them, and the connection ends after it.
func TestLargeBodyIsReadBesideTheResponse(t *testing.T) {
	t.Parallel()
	content := servertest.Noise(1 << 20)
	for name, h := range map[string]http.HandlerFunc{
		"echoed": func(w http.ResponseWriter, r *http.Request) {
			if n, err := io.Copy(w, r.Body); n != int64(len(content)) || err != nil {
				t.Errorf("copied %d bytes, %v", n, err)
			}
		},
		"begun first": func(w http.ResponseWriter, r *http.Request) {
			_ = http.NewResponseController(w).Flush()
			got, err := io.ReadAll(r.Body)
			if len(got) != len(content) || err != nil {
				t.Errorf("read %d bytes, %v", len(got), err)
			}
			_, _ = w.Write(got)
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, s := range allServers() {
				t.Run(s.name, func(t *testing.T) {
					c := s.start(t, h)()
					sent := make(chan error, 1)
					go func() {
						_, err := fmt.Fprintf(c, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n%s", len(content), content)
						sent <- err
					}()
					got := readReply(t, bufio.NewReader(c), http.MethodPost)
					if !bytes.Equal([]byte(got.body), content) || got.err != nil || !got.close {
						t.Errorf("the answer is %s, %v", got, got.err)
					}
					if err := servertest.Receive(t, "the end of sending", sent); err != nil {
						t.Error(err)
					}
				})
			}
		})
	}
}

// TestLargeBodyThatIsNotReadEndsTheConnection has handlers that do not read on.
func TestLargeBodyThatIsNotReadEndsTheConnection(t *testing.T) {
	t.Parallel()
	for _, s := range allServers() {
		t.Run(s.name, func(t *testing.T) {
			c := s.start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_ = http.NewResponseController(w).Flush()
				_, _ = io.WriteString(w, "done")
			}))()
			send(t, c, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\nhello")
			if got := readReply(t, bufio.NewReader(c), http.MethodPost); got.body != "done" || got.err != nil || !got.close {
				t.Errorf("the answer is %s, %v", got, got.err)
			}
		})
	}
}

// TestHTTP2IsFullDuplexBehindNetHTTP has handlers behind both adaptors that answer while the request
// arrives.
func TestHTTP2IsFullDuplexBehindNetHTTP(t *testing.T) {
	t.Parallel()
	s := httptest.NewUnstartedServer(NewHTTPHandler(NewFastHTTPHandlerFunc(echoLines)))
	s.EnableHTTP2 = true
	s.StartTLS()
	defer s.Close()
	c := s.Client()
	c.Timeout = servertest.Patience
	in, out := io.Pipe()
	defer out.Close()
	first := make(chan error, 1)
	go func() {
		_, err := io.WriteString(out, "first\n")
		first <- err
	}()
	resp, err := c.Post(s.URL, "text/plain", in)
	servertest.Must(t, err)
	defer resp.Body.Close()
	if resp.ProtoMajor != 2 {
		t.Errorf("the protocol is %s", resp.Proto)
	}
	servertest.Must(t, servertest.Receive(t, "the end of sending", first))
	answers := bufio.NewReader(resp.Body)
	if line, err := answers.ReadString('\n'); line != "FIRST\n" || err != nil {
		t.Fatalf("the answer is %q, %v", line, err)
	}
	converse(t, answers, out, "second\n", "third\n")
	_ = out.Close()
	if rest, err := io.ReadAll(answers); len(rest) > 0 || err != nil {
		t.Errorf("at the end: %q, %v", rest, err)
	}
}
