//go:build !windows

package prefork

import (
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp/internal/servertest"
)

// TestChildrenSpeakHTTP2 has connections that stay with one child, and that close gracefully
// with it.
func TestChildrenSpeakHTTP2(t *testing.T) {
	t.Setenv("PREFORK_TEST_HTTP2", "yes")
	for _, kind := range kinds {
		for _, how := range []string{"", "embedded"} {
			t.Run(kind.role+"/"+kind.engine+"/"+how, func(t *testing.T) {
				f := startFamilyOfTLS(t, kind.role, kind.engine, how)
				protocols, origin := new(http.Protocols), "http://"+f.addr
				if how == "" {
					protocols.SetUnencryptedHTTP2(true)
				} else {
					protocols.SetHTTP2(true)
					origin = "https://" + f.addr
				}
				tr := &http.Transport{Protocols: protocols, TLSClientConfig: f.tls}
				defer tr.CloseIdleConnections()
				c := &http.Client{Transport: tr, Timeout: time.Minute}
				get := func() (answer string, err error) {
					resp, err := c.Get(origin + "/protocol")
					if err != nil {
						return "", err
					}
					defer resp.Body.Close()
					body, err := io.ReadAll(resp.Body)
					return string(body), err
				}
				var first string
				servertest.Eventually(t, "the answer of a child", func() bool {
					var err error
					first, err = get()
					return err == nil
				})
				id, protocol, _ := strings.Cut(first, " ")
				pid, err := strconv.Atoi(id)
				if err != nil || !slices.Contains(f.pids, pid) || protocol != "HTTP/2.0" {
					t.Errorf("the answer is %q, which is none of a child with HTTP/2", first)
				}
				for range 20 {
					if got, err := get(); got != first || err != nil {
						t.Errorf("got %q, %v, want %q over the same connection", got, err, first)
					}
				}
				// the connection is open
				f.stop(t)
			})
		}
	}
}
