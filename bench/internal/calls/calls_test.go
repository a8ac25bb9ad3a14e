package calls

import (
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/valyala/fasthttp/bench/internal/protocols"
	"github.com/valyala/fasthttp/bench/internal/rig"
	"github.com/valyala/fasthttp/bench/internal/serving"
	"github.com/valyala/fasthttp/bench/internal/turns"
)

func TestMain(m *testing.M) {
	Main()
	m.Run()
}

func TestArgumentsSayWhatTheJobIs(t *testing.T) {
	want := job{client: OursHTTP2, addr: "127.0.0.1:80", callers: 7, plain: true, varied: true, warm: time.Millisecond, time: time.Second}
	got, err := parse(want.args()[1:])
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
	for _, args := range []string{"-callers 0", "-warm -1s", "-time 0s", "-unknown"} {
		if got, err := parse(strings.Fields(args)); err == nil {
			t.Errorf("%s: %+v", args, got)
		}
	}
}

// server is a net/http server that answers like the measured ones, or with text.
func server(t *testing.T, secure bool, text string) *httptest.Server {
	t.Helper()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, text) }))
	protocols.EnableHTTP2(s.Config)
	if secure {
		s.EnableHTTP2 = true
		s.StartTLS()
	} else {
		s.Start()
	}
	t.Cleanup(s.Close)
	return s
}

// hasHTTP2 is false in a build with the published fasthttp.
var hasHTTP2 = protocols.OnlyHTTP2(new(fasthttp.Client))

func TestCallersCall(t *testing.T) {
	for _, secure := range []bool{true, false} {
		addr := server(t, secure, serving.Body).Listener.Addr().String()
		for _, client := range clients {
			if client == OursHTTP2 && !hasHTTP2 {
				continue
			}
			for _, varied := range []bool{true, false} {
				j := job{client: client, addr: addr, callers: 5, plain: !secure, varied: varied, time: 20 * time.Millisecond}
				r, err := j.run(t.Context(), rig.Anywhere)
				for ; err == nil && r.Calls == 0 && j.time < time.Minute; r, err = j.run(t.Context(), rig.Anywhere) {
					// a busy machine may leave it no time for a call
					j.time *= 4
				}
				if err != nil || r.Calls == 0 || r.Took < j.time || r.Conns < 1 || r.Conns > 6 {
					t.Errorf("%+v: %+v, %v", j, r, err)
				}
				if (client == OursHTTP2 || client == Bare) && r.Conns != 1 {
					t.Errorf("%+v: %d connections", j, r.Conns)
				}
			}
		}
	}
}

func TestWrongResponsesAreNoticed(t *testing.T) {
	addr := server(t, false, "something else").Listener.Addr().String()
	for _, client := range append(clients, "another") {
		j := job{client: client, addr: addr, callers: 1, plain: true, time: time.Hour}
		if _, err := j.run(t.Context(), rig.Anywhere); err == nil {
			t.Errorf("%s: no error", client)
		}
	}
}

// A run fails if it does not use the requested version.
func TestAnotherVersionIsNoticed(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, serving.Body) }))
	defer s.Close()
	for _, client := range []string{OursHTTP2, NetHTTPHTTP2, Bare} {
		j := job{client: client, addr: s.Listener.Addr().String(), callers: 1, plain: true, time: time.Millisecond}
		if r, err := j.call(nil); err == nil {
			t.Errorf("%s: %+v from a server that has no HTTP/2", client, r)
		}
	}
}

func TestReport(t *testing.T) {
	s := &session{
		Options: Options{Rounds: 3, Seconds: 5}, loads: loads[:2], place: rig.Anywhere, clientPlace: rig.Anywhere,
		missing: []string{"taskset is not installed"}, failures: []string{"round 1: exit\nstatus"},
		samples: map[turns.Key][]sample{},
	}
	add := func(l load, client string, cpu float64) {
		for _, factor := range []float64{1, 0.99, 1.01} {
			k := turns.Key{Load: l.name, Server: client}
			s.samples[k] = append(s.samples[k], sample{rate: 1000, cpu: factor * cpu, allocs: 3, conns: 2})
		}
	}
	add(loads[0], OursHTTP2, 12)
	add(loads[0], NetHTTPHTTP2, 30)
	add(loads[0], OursHTTP1, 12.1)
	add(loads[0], Bare, 9)
	add(loads[1], OursHTTP2, 6)
	add(loads[1], NetHTTPHTTP2, 30)
	r := s.report()
	text := r.Markdown()
	for _, want := range []string{
		"# Clients over loopback sockets, with TLS\n",
		"- taskset is not installed\n",
		"\n## 1 caller\n",
		"| ours, HTTP/2 | 1000 ±0% | 12.00 ±1% | 11.88 | 3.00 | 2 | – |\n",
		"| net/http, HTTP/2 | 1000 ±0% | 30.00 ±1% | 29.70 | 3.00 | 2 | 0.40 |\n",
		"| ours, HTTP/1.1 | 1000 ±0% | 12.10 ±1% | 11.98 | 3.00 | 2 | (0.99) |\n",
		"| ready frames | 1000 ±0% | 9.00 ±1% | 8.91 | 3.00 | 2 | 1.33 |\n",
		"| 1 caller | 0.40 | 0.33 | **not met** | 0.30 |\n",
		"| 100 callers | 0.20 | 0.33 | met | – |\n",
		"- round 1: exit status\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	s.Plain, s.Varied = true, true
	text = s.report().Markdown()
	if strings.Contains(text, "Goals") || !strings.Contains(text, "sockets, varied calls\n") {
		t.Errorf("got\n%s", text)
	}
	delete(s.samples, turns.Key{Load: loads[1].name, Server: OursHTTP2})
	if s.Plain = false; strings.Contains(s.report().Markdown(), "| 100 callers | ") {
		t.Error("a goal without figures")
	}
}
