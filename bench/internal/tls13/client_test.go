package tls13

import (
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
)

// serve starts a crypto/tls server, and counts the handshakes that resume a session.
func serve(t *testing.T, config *tls.Config, body string) (addr string, resumed *atomic.Int64) {
	t.Helper()
	resumed = new(atomic.Int64)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.TLS.CipherSuite != tls.TLS_AES_128_GCM_SHA256 || r.TLS.Version != tls.VersionTLS13 {
			t.Errorf("%+v", r.TLS)
		}
		if r.TLS.DidResume {
			resumed.Add(1)
		}
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		_, _ = io.WriteString(w, body)
	}))
	server.TLS = config
	server.StartTLS()
	t.Cleanup(server.Close)
	return server.Listener.Addr().String(), resumed
}

const request = "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"

func exchange(t *testing.T, c *Client, addr string) (string, *Ticket, error) {
	t.Helper()
	nc, err := net.Dial("tcp4", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	var got []byte
	ticket, err := c.Exchange(nc, []byte(request), func(p []byte) (bool, error) {
		got = append(got, p...)
		return false, nil
	})
	return string(got), ticket, err
}

func TestExchangeWithCryptoTLS(t *testing.T) {
	for _, body := range []string{"Hello, World!", strings.Repeat("0123456789", 10_000)} {
		addr, resumed := serve(t, &tls.Config{}, body)
		c, err := New()
		if err != nil {
			t.Fatal(err)
		}
		got, ticket, err := exchange(t, c, addr)
		if err != nil || !strings.HasPrefix(got, "HTTP/1.1 200 OK\r\n") || !strings.HasSuffix(got, "\r\n\r\n"+body) {
			t.Fatalf("%.100q, %v", got, err)
		}
		if ticket == nil || resumed.Load() != 0 {
			t.Fatalf("ticket %v, %d resumed", ticket, resumed.Load())
		}
		again := c.Resume(ticket)
		for i := range int64(3) {
			got, _, err := exchange(t, again, addr)
			if err != nil || !strings.HasSuffix(got, body) || resumed.Load() != i+1 {
				t.Errorf("%.100q, %v, %d resumed", got, err, resumed.Load())
			}
		}
	}
}

func TestASessionThatIsNotResumedIsAnError(t *testing.T) {
	addr, _ := serve(t, &tls.Config{}, "x")
	c, err := New()
	if err != nil {
		t.Fatal(err)
	}
	_, ticket, err := exchange(t, c, addr)
	if err != nil {
		t.Fatal(err)
	}
	other, _ := serve(t, &tls.Config{}, "x")
	if _, _, err := exchange(t, c.Resume(ticket), other); err == nil || !strings.Contains(err.Error(), "resumed") {
		t.Errorf("got %v", err)
	}
}

func TestServersOfSomethingElseAreErrors(t *testing.T) {
	c, err := New()
	if err != nil {
		t.Fatal(err)
	}
	for _, answer := range []string{
		"", "HTTP/1.1 400 Bad Request\r\n\r\n", "\x16\x03\x03", "\x16\x03\x03\x00\x01\x02", "\x16\x03\x03\xff\xff",
		"\x15\x03\x03\x00\x02\x02\x28", "\x16\x03\x03\x00\x30" + "\x02\x00\x00\x2c" + strings.Repeat("\xff", 0x2c),
	} {
		near, far := net.Pipe()
		go func() {
			_, _ = io.ReadFull(far, make([]byte, len(c.Hello())))
			_, _ = io.WriteString(far, answer)
			_ = far.Close()
		}()
		if _, err := c.Exchange(near, nil, nil); err == nil {
			t.Errorf("%q: no error", answer)
		}
		_ = near.Close()
	}
}
