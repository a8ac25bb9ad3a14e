package main

import (
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp/bench/internal/rig"
	"github.com/valyala/fasthttp/bench/internal/tcp"
)

func TestFlags(t *testing.T) {
	tests := []struct {
		args            string
		rounds, seconds int // 0 if refused
		pin             bool
	}{
		{"", 3, 5, true},
		{"-rounds 5 -seconds 10 -pin=false", 5, 10, false},
		{"-short", 1, 1, true},
		{"-short -rounds 2", 2, 1, true},
		{"-short -seconds 2", 1, 2, true},
		{"-slow -rate 1000", 3, 5, true},
		{"-rounds 0", 0, 0, false},
		{"-seconds 0", 0, 0, false},
		{"-rate 20", 0, 0, false},
		{"-rate 20000", 0, 0, false},
		{"-rows (", 0, 0, false},
		{"-slow -wait", 0, 0, false},
		{"-varied -slow", 0, 0, false},
		{"-varied -wait", 0, 0, false},
		{"-varied -rounds 2", 2, 5, true},
		{"-tls -rounds 2", 2, 5, true},
		{"-tls -varied", 0, 0, false},
		{"-tls -handshakes", 0, 0, false},
		{"-handshakes -flood", 0, 0, false},
		{"-flood -wait", 0, 0, false},
		{"-wait -short", 1, 1, true},
		{"-wait -conns 0", 0, 0, false},
		{"-wait -conns 16,x", 0, 0, false},
		{"-wait -procs some", 0, 0, false},
		{"-wait -servers apache", 0, 0, false},
		{"-wait -only (", 0, 0, false},
		{"-wait -time 0s", 0, 0, false},
		{"-unknown", 0, 0, false},
		{"64", 0, 0, false},
	}
	for _, test := range tests {
		opts, err := parseFlags(strings.Fields(test.args), io.Discard)
		if test.rounds == 0 {
			if err == nil {
				t.Errorf("%s: accepted", test.args)
			}
			continue
		}
		if err != nil || opts.Rounds != test.rounds || opts.Seconds != test.seconds || opts.Pin != test.pin {
			t.Errorf("%s: %+v, %v", test.args, opts, err)
		}
	}
}

func TestWaitFlagsChooseWhatIsMeasured(t *testing.T) {
	all := runtime.NumCPU()
	tests := []struct {
		args         string
		time         time.Duration
		conns, procs []int
		servers      []string
		runs         int // of all handlers
	}{
		{"-wait -procs 1", time.Second, []int{16, 64, 512}, []int{1}, tcp.WaitServers, 7 * 3 * 4},
		{"-wait -procs all", time.Second, []int{16, 64, 512}, []int{all}, tcp.WaitServers, 7 * 3 * 4},
		{"-wait -short -conns 64 -procs 1,1", 300 * time.Millisecond, []int{64}, []int{1}, tcp.WaitServers, 7 * 4},
		{"-wait -time 2s -only sleep300us -conns 64,8 -procs 4 -servers event,nethttp", 2 * time.Second,
			[]int{64, 8}, []int{4}, []string{rig.Event, rig.NetHTTP}, 2 * 2},
	}
	for _, test := range tests {
		opts, err := parseFlags(strings.Fields(test.args), io.Discard)
		if err != nil || opts.what != wait {
			t.Errorf("%s: %q, %v", test.args, opts.what, err)
			continue
		}
		got := opts.wait
		if got.Time != test.time || !slices.Equal(got.Conns, test.conns) || !slices.Equal(got.Procs, test.procs) ||
			!slices.Equal(got.Servers, test.servers) || got.Runs() != test.runs || got.Rounds != opts.Rounds || !got.Pin {
			t.Errorf("%s: %+v, %d runs", test.args, got, got.Runs())
		}
	}
	if len(serverNames()) != len(tcp.WaitServers) {
		t.Errorf("%q for %q", serverNames(), tcp.WaitServers)
	}
}

func TestFlagsSayWhatIsMeasured(t *testing.T) {
	for args, want := range map[string]what{"": loads, "-slow": slow, "-wait": wait, "-varied": varied, "-tls": overTLS, "-handshakes": shakes, "-flood": flood} {
		if opts, err := parseFlags(strings.Fields(args), io.Discard); err != nil || opts.what != want {
			t.Errorf("%q: %q, %v", args, opts.what, err)
		}
	}
}
