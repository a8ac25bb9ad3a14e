package servertest

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"testing"

	"golang.org/x/net/http2"
)

// TestH2PeerServesNetHTTP makes the client of net/http call the peer, so that
// failures of the client tests here are not the peer's fault.
func TestH2PeerServesNetHTTP(t *testing.T) {
	t.Parallel()
	for _, secure := range []bool{false, true} {
		t.Run(fmt.Sprint("TLS ", secure), func(t *testing.T) {
			p := NewH2Peer(t)
			if secure {
				p = NewH2TLSPeer(t, "h2")
			}
			var protocols http.Protocols
			protocols.SetHTTP2(p.TLS != nil)
			protocols.SetUnencryptedHTTP2(p.TLS == nil)
			tr := &http.Transport{Protocols: &protocols, TLSClientConfig: TrustCertificate()}
			defer tr.CloseIdleConnections()
			// this client may dial one connection more, and close it unused
			accept := func() *H2Side {
				for {
					c := p.Accept()
					if _, err := c.R.Peek(1); err != io.EOF {
						return c
					}
				}
			}
			type result struct {
				text string
				err  error
			}
			ask := func(method, path string, body io.Reader) <-chan result {
				done := make(chan result, 1)
				req, err := http.NewRequest(method, p.URL(path), body)
				if err != nil {
					t.Fatal(err)
				}
				if body != nil {
					req.Trailer = http.Header{"X-Sum": {"7"}}
				}
				go func() {
					resp, err := tr.RoundTrip(req)
					if err != nil {
						done <- result{"", err}
						return
					}
					defer resp.Body.Close()
					content, err := io.ReadAll(resp.Body)
					done <- result{fmt.Sprintf("%s %d %s %v", resp.Proto, resp.StatusCode, content, maps.Clone(resp.Trailer)), err}
				}()
				return done
			}
			first := ask("GET", "/a", nil)
			c := accept().Greet(uint32(http2.SettingInitialWindowSize), 100)
			c.Serve()
			if got := Receive(t, "a response", first); got.text != "HTTP/2.0 200 /a map[]" || got.err != nil {
				t.Errorf("GET: got %v", got)
			}
			second := ask("POST", "/b", io.MultiReader(strings.NewReader(string(SampleText(1000)))))
			r := c.Request()
			c.Until("a full window", func() bool { return len(r.Content) == 100 })
			c.Sync()
			c.Window(r.ID, 10_000).Flush()
			c.EndOf(r)
			if string(r.Content) != string(SampleText(1000)) || FieldOf(r.Trailers(), "x-sum") != "7" {
				t.Errorf("POST: got %d bytes, %v", len(r.Content), r.Trailers())
			}
			c.Head(r, EndHeaders, "200")
			c.SendContent(r, string(SampleText(500_000)), false)
			c.Headers(r.ID, Whole, "x-end: yes").Flush()
			if got := Receive(t, "a response", second); got.text != "HTTP/2.0 200 "+string(SampleText(500_000))+" map[X-End:[yes]]" || got.err != nil {
				t.Errorf("POST: got %.100v, %v", got.text, got.err)
			}
			third := ask("GET", "/c", nil)
			c.Reset(c.Whole().ID, http2.ErrCodeInternal).Flush()
			if got := Receive(t, "an error", third); got.err == nil || !strings.Contains(got.err.Error(), "INTERNAL_ERROR") {
				t.Errorf("after a reset: %v", got)
			}
			c.GoAway(0, http2.ErrCodeNo).Flush()
			c.Sync()
			last := ask("GET", "/d", nil)
			accept().Greet().Serve()
			if got := Receive(t, "a response", last); got.err != nil {
				t.Errorf("after GOAWAY: %v", got)
			}
		})
	}
}
