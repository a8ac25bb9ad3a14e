package files

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/valyala/fasthttp/bench/internal/probe"
	"github.com/valyala/fasthttp/bench/internal/rig"
	"github.com/valyala/fasthttp/bench/internal/turns"
	"github.com/valyala/fasthttp/bench/internal/wrk"
)

// TestAnswersAreChecked first uses net/http, which responds correctly, and then
// servers that do not.
func TestAnswersAreChecked(t *testing.T) {
	root, err := plant(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	files := http.FileServer(http.Dir(root))
	packed := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Accept-Encoding") == "gzip" {
			w.Header().Set("Content-Encoding", "gzip")
			http.ServeFile(w, r, filepath.Join(root, r.URL.Path+".gz"))
			return
		}
		files.ServeHTTP(w, r)
	})
	wrong := func(change func(w http.ResponseWriter) int) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(change(w))
			_, _ = w.Write([]byte("something else"))
		})
	}
	tests := []struct {
		name    string
		handler http.Handler
		ok      bool
	}{
		{"good", packed, true},
		{"other content", wrong(func(http.ResponseWriter) int { return 200 }), false},
		{"other status", wrong(func(http.ResponseWriter) int { return 500 }), false},
		{"other coding", wrong(func(w http.ResponseWriter) int {
			w.Header().Set("Content-Encoding", "br")
			return 200
		}), false},
	}
	for _, test := range tests {
		server := httptest.NewServer(test.handler)
		client := &http.Client{Transport: &http.Transport{DisableCompression: true}}
		for _, l := range loads {
			err := l.ask(t.Context(), client, server.URL)
			if (err == nil) != test.ok {
				t.Errorf("%s, %s: %v", test.name, l.name, err)
			}
		}
		server.Close()
	}
}

func TestAcceptRefusesRunsThatFailed(t *testing.T) {
	tests := []struct {
		status int
		result wrk.Result
		ok     bool
	}{
		{200, wrk.Result{Requests: 1000, Errors: 10}, true},
		{200, wrk.Result{Requests: 1000, Errors: 11}, false},
		{200, wrk.Result{Requests: 1000, Refused: 1}, false},
		{200, wrk.Result{}, false},
		{404, wrk.Result{Requests: 1000, Refused: 1000}, true},
		{404, wrk.Result{Requests: 1000, Refused: 999}, false},
		{404, wrk.Result{Requests: 1000}, false},
	}
	for _, test := range tests {
		l := load{status: test.status}
		if err := l.accept(test.result); (err == nil) != test.ok {
			t.Errorf("%d, %+v: %v", test.status, test.result, err)
		}
	}
}

func TestCommand(t *testing.T) {
	s := &session{seconds: 3, wrk: "wrk", clientPlace: rig.Anywhere}
	got := s.command(load{path: "/a", field: "Accept-Encoding: gzip", conns: 5}, "http://127.0.0.1:1")
	want := []string{"wrk", "-t1", "-c5", "-d3s", "--latency", "--timeout", "10s", "-H", "Accept-Encoding: gzip", "http://127.0.0.1:1/a"}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// TestNginxServesTheRows needs nginx.
func TestNginxServesTheRows(t *testing.T) {
	// other users cannot read the folder of the test, but this nginx does not change
	// its user
	temp := t.TempDir()
	root, err := plant(temp)
	if err != nil {
		t.Fatal(err)
	}
	nginx, err := rig.NewNginx(t.Context(), temp, site(root))
	if err != nil {
		t.Skip(err)
	}
	id, err := rig.NewIdentity(temp)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{DisableCompression: true, TLSClientConfig: probe.TLSConfig()}}
	for _, s := range []*session{{place: rig.Anywhere}, {place: rig.Anywhere, identity: id}} {
		p, err := s.start(t.Context(), nginx)
		if err != nil {
			t.Fatal(err)
		}
		rows := s.rows()
		if len(rows) == 0 {
			t.Error("no rows")
		}
		for _, l := range rows {
			if err := l.ask(t.Context(), client, s.url(p.Addr)); err != nil {
				t.Errorf("%s: %v", l.name, err)
			}
		}
		if err := p.Stop(); err != nil {
			t.Error(err)
		}
	}
}

func TestGoalsOverTLSAreForServerAndClientTogether(t *testing.T) {
	for both, met := range map[float64]bool{105: true, 106: false} {
		s := &session{identity: new(rig.Identity), servers: []*rig.Server{{Name: rig.Event}, {Name: rig.Upstream}}, samples: map[turns.Key][]sample{}}
		s.loads = s.rows()
		if len(s.loads) != 2 {
			t.Fatalf("%d rows", len(s.loads))
		}
		for _, l := range s.loads {
			s.samples[turns.Key{Load: l.name, Server: rig.Event}] = []sample{{cpu: 200, both: both}}
			s.samples[turns.Key{Load: l.name, Server: rig.Upstream}] = []sample{{cpu: 100, both: 100}}
		}
		r := s.report()
		if len(r.Goals) != 2 || r.Goals[0].Met != met || r.Goals[1].Met != met || r.Goals[0].Most != tlsMost {
			t.Errorf("%.0f: %+v", both, r.Goals)
		}
		if text := r.Markdown(); !strings.Contains(text, "with TLS\n") || !strings.Contains(text, "together.\n") {
			t.Errorf("got\n%s", text)
		}
	}
}

func TestReport(t *testing.T) {
	l := load{name: "1 MiB", conns: 8, nginxGoal: 1.1}
	s := &session{
		servers: []*rig.Server{{Name: rig.Event}, {Name: rig.Upstream}, {Name: rig.Nginx}},
		loads:   []load{l}, rounds: 3, seconds: 5, place: rig.Anywhere, clientPlace: rig.Anywhere,
		nginx: "nginx 1.2", missing: []string{"nothing is pinned"}, failures: []string{"round 1: exit\nstatus"},
		samples: map[turns.Key][]sample{},
	}
	add := func(server string, cpu, both float64) {
		for _, factor := range []float64{1, 0.99, 1.01} {
			k := turns.Key{Load: l.name, Server: server}
			s.samples[k] = append(s.samples[k], sample{rate: 100, cpu: factor * cpu, both: factor * both})
		}
	}
	add(rig.Event, 120, 400)
	add(rig.Upstream, 100, 500)
	add(rig.Nginx, 150, 400)
	r := s.report()
	if len(r.Goals) != 2 || r.Goals[0].Met || !r.Goals[1].Met {
		t.Errorf("%+v", r.Goals)
	}
	text := r.Markdown()
	for _, want := range []string{
		"- nginx 1.2\n- nothing is pinned\n",
		"\n## 1 MiB, 8 connections\n",
		"| ours, event engine | 100 ±0% | 120.00 ±1% | 400.00 ±1% | 1.20 | 0.80 | 0.80 | (1.00) | 0 |\n",
		"| upstream | 100 ±0% | 100.00 ±1% | 500.00 ±1% | – | 0.67 | – | 1.25 | 0 |\n",
		"| 1 MiB | upstream | 1.20 | 0.80 | 1.00 | **not met** |\n",
		"| 1 MiB | nginx | 0.80 | (1.00) | 1.10 | met |\n",
		"- round 1: exit status\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

func TestTheFilesAreOld(t *testing.T) {
	root, err := plant(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"1k.txt", "64k.txt.gz"} {
		info, err := os.Stat(filepath.Join(root, name))
		if err != nil || !info.ModTime().Equal(changed) {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
}
