package websocket

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/valyala/fasthttp/compat/internal/process"
)

// suite is a selection of the cases of the Autobahn TestSuite.
type suite struct {
	name  string
	globs []string
	cases int
	// atOnce is how many cases run at once. The first ones mostly wait.
	atOnce int
}

// The cases of chapters 12 and 13 send 1000 messages each, and some run for seconds. They all
// run if FASTHTTP_AUTOBAHN is "all".
var suites = []suite{
	{"protocol", []string{"1.*", "2.*", "3.*", "4.*", "5.*", "6.*", "7.*", "10.*"}, 247, 16},
	{"compression", []string{"12.1.1", "12.1.5", "12.2.5", "12.3.8", "12.4.10", "12.5.3", "13.1.1", "13.2.2", "13.3.1", "13.4.3", "13.5.1", "13.6.2", "13.7.4"}, 13, 4},
}

// suitesOf returns what one of several peers runs. The peers share all the cases with compression
// among them: most of that time is spent in kosoku.
func suitesOf(peer, peers int) []suite {
	if os.Getenv("FASTHTTP_AUTOBAHN") != "all" {
		return suites
	}
	var cases []string
	for part := range 12 {
		chapter := fmt.Sprintf("12.%d", part+1)
		if part >= 5 {
			chapter = fmt.Sprintf("13.%d", part-4)
		}
		for number := range 18 {
			if (part*18+number)%peers == peer {
				cases = append(cases, fmt.Sprintf("%s.%d", chapter, number+1))
			}
		}
	}
	return []suite{suites[0], {"compression", cases, len(cases), 4}}
}

// informational are the cases that accept every behavior.
var informational = map[string]bool{"7.1.6": true, "7.13.1": true, "7.13.2": true}

// outcome is the result of a case.
type outcome struct{ Behavior, BehaviorClose string }

// kosoku runs the cases of a suite until the program ends.
func kosoku(t *testing.T, s *suite, meanwhile func(), args ...string) {
	t.Helper()
	path := process.Find(t, "kosoku", "a peer with the cases of Autobahn (pip install kosoku)")
	dir := t.TempDir()
	args = append(args, "-o", dir)
	for _, glob := range s.globs {
		args = append(args, "-i", glob)
	}
	limit := 30 * patience
	if os.Getenv("FASTHTTP_AUTOBAHN") == "all" {
		limit *= 4
	}
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, args...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if meanwhile != nil {
		meanwhile()
	}
	// only the outcomes of the cases count
	_ = cmd.Wait()
	text, err := os.ReadFile(filepath.Join(dir, "index.json"))
	var agents map[string]map[string]outcome
	if err == nil {
		err = json.Unmarshal(text, &agents)
	}
	if err != nil {
		t.Fatalf("no results: %v\n%s", err, out.Bytes())
	}
	cases := 0
	for _, outcomes := range agents {
		for id, got := range outcomes {
			cases++
			if got != (outcome{"OK", "OK"}) && !(informational[id] && got == outcome{"INFORMATIONAL", "INFORMATIONAL"}) {
				t.Errorf("case %s: %s, %s", id, got.Behavior, got.BehaviorClose)
			}
		}
	}
	if cases != s.cases {
		t.Errorf("%d cases, want %d\n%s", cases, s.cases, out.Bytes())
	}
}

func TestAutobahnWithServer(t *testing.T) {
	for i, srv := range ours {
		for _, s := range suitesOf(i, len(ours)) {
			t.Run(s.name+"/"+srv.name, func(t *testing.T) {
				t.Parallel()
				// kosoku 0.1.0 fails its own cases of chapter 12 if a small text arrives without compression
				addr := srv.start(t, options{compress: true, packAll: true})
				kosoku(t, &s, nil, "-m", "fuzzingclient", "-p", strconv.Itoa(s.atOnce), "ws://"+addr+"/")
			})
		}
	}
}

func TestAutobahnWithClient(t *testing.T) {
	for _, s := range suitesOf(0, 1) {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			addr := "127.0.0.1:" + process.FreePort(t)
			kosoku(t, &s, func() { runClientCases(t, &s, "ws://"+addr) }, "-m", "fuzzingserver", addr)
		})
	}
}

// runClientCases runs all cases that a server offers, and asks it to write its report.
func runClientCases(t *testing.T, s *suite, url string) {
	var count int
	process.Await(t, "the number of cases", func() error {
		c, err := dialOurs(t, url+"/getCaseCount")
		if err != nil {
			return err
		}
		defer c.Close()
		_, p, err := c.ReadMessage()
		if err == nil {
			count, err = strconv.Atoi(string(p))
		}
		return err
	})
	var next atomic.Int64
	var all sync.WaitGroup
	for range s.atOnce {
		all.Go(func() {
			for i := int(next.Add(1)); i <= count; i = int(next.Add(1)) {
				c, err := dialOurs(t, fmt.Sprintf("%s/runCase?case=%d&agent=fasthttp", url, i))
				if err != nil {
					t.Errorf("case %d: %v", i, err)
					continue
				}
				answerPlainly(c, "")
				_ = c.Close()
			}
		})
	}
	all.Wait()
	c, err := dialOurs(t, url+"/updateReports?agent=fasthttp")
	if err != nil {
		t.Errorf("the report: %v", err)
		return
	}
	_, _, _ = c.ReadMessage()
	_ = c.Close()
}
