package calls

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/valyala/fasthttp/bench/internal/protocols"
	"github.com/valyala/fasthttp/bench/internal/rig"
	"github.com/valyala/fasthttp/bench/internal/serving"
)

func TestMain(m *testing.M) {
	Main()
	m.Run()
}

// server is a net/http server that answers with text, and has HTTP/2 if it is set.
func server(t *testing.T, http2 bool, text string) *httptest.Server {
	t.Helper()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, text) }))
	s.EnableHTTP2 = http2
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

// hasHTTP2 is false in a build with the published fasthttp.
var hasHTTP2 = protocols.OnlyHTTP2(new(fasthttp.Client))

func TestCallersCall(t *testing.T) {
	addr := server(t, true, serving.Body).Listener.Addr().String()
	for _, client := range clients {
		if client == OursHTTP2 && !hasHTTP2 {
			continue
		}
		j := job{Client: client, Addr: addr, Callers: 5, Time: 20 * time.Millisecond}
		r, err := j.run(t.Context(), rig.Anywhere)
		for ; err == nil && r.Calls == 0 && j.Time < time.Minute; r, err = j.run(t.Context(), rig.Anywhere) {
			// a busy machine may leave it no time for a call
			j.Time *= 4
		}
		if err != nil || r.Calls == 0 || r.Took < j.Time || r.Conns < 1 || r.Conns > 6 {
			t.Errorf("%+v: %+v, %v", j, r, err)
		}
		if (client == OursHTTP2 || client == Bare) && r.Conns != 1 {
			t.Errorf("%+v: %d connections", j, r.Conns)
		}
	}
}

func TestWrongResponsesAreNoticed(t *testing.T) {
	addr := server(t, true, "something else").Listener.Addr().String()
	for _, client := range append(clients, "another") {
		j := job{Client: client, Addr: addr, Callers: 1, Time: time.Hour}
		if _, err := j.run(t.Context(), rig.Anywhere); err == nil {
			t.Errorf("%s: no error", client)
		}
	}
}

// A run fails if it does not use the requested version.
func TestAnotherVersionIsNoticed(t *testing.T) {
	s := server(t, false, serving.Body)
	for _, client := range []string{OursHTTP2, NetHTTPHTTP2, Bare} {
		j := job{Client: client, Addr: s.Listener.Addr().String(), Callers: 1, Time: time.Millisecond}
		if r, err := j.call(nil); err == nil {
			t.Errorf("%s: %+v from a server that has no HTTP/2", client, r)
		}
	}
}
