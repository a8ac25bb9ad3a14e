package main

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/valyala/fasthttp/bench/internal/rig"
	"github.com/valyala/fasthttp/bench/internal/stats"
	"github.com/valyala/fasthttp/bench/internal/study"
	"github.com/valyala/fasthttp/bench/internal/tcp"
)

func measured(server string, cpu ...float64) *study.Measurement {
	return &study.Measurement{Server: server, Figures: map[string]stats.Summary{study.CPUs: stats.Summarize(cpu)}}
}

// TestPageComparesRounds checks that the page compares the rounds of both servers one by one,
// and marks a ratio that may be chance.
func TestPageComparesRounds(t *testing.T) {
	r := &study.Report{Missing: []string{"hyper: no cargo"}, Rows: []*study.Row{
		{Name: "64 connections, varied requests", Kind: tcp.Steady, Conns: 64, Servers: []*study.Measurement{measured(rig.Event, 2, 4, 8), measured("nbio", 4, 8, 16)}},
		{Name: "512 connections, varied requests", Kind: tcp.Steady, Conns: 512, Servers: []*study.Measurement{measured("nbio", 3, 2, 4), measured(rig.Event, 2, 4, 2)}},
		{Name: "512 connections, TLS", Kind: tcp.Steady, Conns: 512, Servers: []*study.Measurement{measured(rig.Event, 5, 5, 5)}},
	}}
	text := page(r)
	for _, want := range []string{
		"| nbio | 8.00 ±50% (0.50) | 3.00 ±33% (0.67\\*) |\n",
		"| ours, event engine | 4.00 ±50% | 2.00 ±0% |\n",
		"- left out: hyper: no cargo\n",
		"| server | 512 connections, TLS |\n|---|---:|\n| ours, event engine | 5.00 ±0% |\n\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not have %q:\n%s", want, text)
		}
	}
	if strings.Index(text, "| ours, event") > strings.Index(text, "| nbio") {
		t.Errorf("the slower server is first:\n%s", text)
	}
	svg := chart(r)
	decoder := xml.NewDecoder(strings.NewReader(svg))
	var err error
	for err == nil {
		_, err = decoder.Token()
	}
	if !errors.Is(err, io.EOF) || !strings.Contains(svg, ">1.50<") || strings.Contains(svg, "NaN") {
		t.Errorf("%v\n%s", err, svg)
	}
	if page(new(study.Report)) == "" || chart(new(study.Report)) == "" {
		t.Error("a report without rows has no page")
	}
}
