package main

import (
	"maps"
	"math"
	"testing"
)

func TestFunctionIsInAPhase(t *testing.T) {
	for name, want := range map[string]string{
		"github.com/valyala/fasthttp/bench/internal/fakenet.(*Conn).Read": "harness",
		"github.com/valyala/fasthttp/bench.answerGet":                     "handler",
		"github.com/valyala/fasthttp/bench.serveGet.func1":                "handler",
		"github.com/valyala/fasthttp/internal/http1.(*Head).usualLines":   "parse",
		"github.com/valyala/fasthttp/internal/http1.ValidHost":            "parse",
		"github.com/valyala/fasthttp/internal/http1.(*Head).apply":        "index",
		"github.com/valyala/fasthttp.(*header).adopt":                     "index",
		"github.com/valyala/fasthttp/internal/field.LookupWords":          "index",
		"github.com/valyala/fasthttp.(*exchange).respondChunk":            "response",
		"github.com/valyala/fasthttp.(*ResponseHeader).appendHead":        "response",
		"github.com/valyala/fasthttp.(*exchange).begin":                   "reset",
		"github.com/valyala/fasthttp.(*header).shrink":                    "reset",
		"github.com/valyala/fasthttp.(*exchange).headReceived":            "dispatch",
		"github.com/valyala/fasthttp.(*h1Conn).Step.deferwrap1":           "dispatch",
		"github.com/valyala/fasthttp.(*h1Conn).Space":                     "engine",
		"github.com/valyala/fasthttp/internal/engine.(*portable).run":     "engine",
		"github.com/valyala/fasthttp/internal/field.(*List).Append":       "",
		"runtime.memmove":                                    "",
		"example.com/fasthttp.(*exchange).respond":           "",
		"github.com/valyala/fasthttp/benchmarks.serve":       "",
		"github.com/valyala/fasthttp.(*RequestHeader).Reset": "",
	} {
		if got := phaseOf(name); got != want {
			t.Errorf("%s is in the phase %q, want %q", name, got, want)
		}
	}
}

func TestSharedFunctionsBelongToThePhasesThatCallThem(t *testing.T) {
	const root = "github.com/valyala/fasthttp."
	p := profile{
		root + "(*exchange).respond": {self: 100, calls: map[string]int64{"append": 30, "cycle": 10}},
		root + "(*h1Conn).Space":     {self: 50, calls: map[string]int64{"append": 10}},
		"append":                     {self: 40, calls: map[string]int64{"memmove": 40, "append": 7}},
		"memmove":                    {self: 80, calls: map[string]int64{}},
		"cycle":                      {self: 10, calls: map[string]int64{"back": 5}},
		"back":                       {self: 20, calls: map[string]int64{"cycle": 10}},
		"schedule":                   {self: 60, calls: map[string]int64{"park": 1, root + "(*h1Conn).Space": 9}},
		"park":                       {self: 10, calls: map[string]int64{"schedule": 1}},
	}
	got := byPhase(p, 10)
	for in, n := range got {
		got[in] = math.Round(n*1e6) / 1e6
	}
	want := map[string]float64{"response": 10 + 3 + 6 + 1 + 2, "engine": 5 + 1 + 2, others: 7}
	if !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
