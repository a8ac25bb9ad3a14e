// Package tlsload puts loads on TLS servers: handshakes, requests over established
// connections, and floods of hostile clients. Each load is a separate process, which this
// program starts from its own file. Begin with Run and Start.
package tlsload

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"

	"github.com/valyala/fasthttp/bench/internal/rig"
)

// Kind is the kind of clients.
type Kind string

const (
	// Full and Resumed clients connect, perform a handshake, send one request, and wait until
	// the server ends the connection. Then they start again.
	Full    Kind = "full handshakes"
	Resumed Kind = "resumed sessions"
	// Steady clients send requests at a fixed rate over persistent connections.
	Steady Kind = "requests at a rate"
	// HalfOpen clients connect and send half of their first message. They open Rate
	// connections a second, hold up to Conns, and then drop the oldest for each new one.
	HalfOpen Kind = "half-open handshakes"
	// Hellos clients send a ClientHello and drop the connection as soon as the server answers.
	// They do so as fast as possible.
	Hellos Kind = "whole ClientHellos"
)

// Load describes the load on a server.
type Load struct {
	Kind  Kind          `json:"kind"`
	Addr  string        `json:"addr"`
	Conns int           `json:"conns"` // at the same time
	Rate  int           `json:"rate"`  // a second, of Steady and HalfOpen
	Warm  time.Duration `json:"warm"`  // warm-up, of Full and Resumed
	Time  time.Duration `json:"time"`  // not of floods, which run until they are stopped
}

// Result is the result of a load.
type Result struct {
	// Done is how many requests were answered, or connections opened by a flood, including the
	// warm-up.
	Done int     `json:"done"`
	Rate float64 `json:"rate"` // a second
	// P50 and P99 are times of requests, including the handshake if there was one.
	P50 time.Duration `json:"p50"`
	P99 time.Duration `json:"p99"`
}

const (
	// word is the first argument of a load process.
	word = "tls-load"
	// openWord is printed by a flood when it has started.
	openWord = "open"
	// spareTime is how much longer than requested a load may take.
	spareTime = 40 * time.Second
	// patience is how long a client waits for anything.
	patience = 10 * time.Second
)

// environment is the environment of a load.
var environment = []string{"GOMAXPROCS=1", "GOGC=400"}

// Run puts a load on a server. The program must call Main before anything else.
func Run(ctx context.Context, place rig.Place, l Load) (Result, error) {
	ctx, cancel := context.WithTimeout(ctx, l.Warm+l.Time+spareTime)
	defer cancel()
	return rig.AskSelf[Result](ctx, place, word, environment, l)
}

// Flood is a load that runs until it is stopped.
type Flood struct{ child *rig.Child }

// Start starts a flood, and returns when it is running. Its process has a low priority, so
// that it does not take processor time from other clients. The program must call Main before
// anything else.
func Start(ctx context.Context, place rig.Place, l Load) (*Flood, error) {
	var through []string
	if nice, err := exec.LookPath("nice"); err == nil {
		through = []string{nice, "-n", "10"}
	}
	child, err := rig.StartSelf(ctx, place, word, environment, l, through...)
	if err != nil {
		return nil, err
	}
	var said string
	if err := child.Hear(ctx, "flood", &said); err != nil {
		return nil, errors.Join(err, child.Stop())
	}
	return &Flood{child}, nil
}

// Stop ends the flood.
func (f *Flood) Stop(ctx context.Context) (r Result, err error) {
	if err = f.child.Stop(); err == nil {
		err = f.child.Hear(ctx, "flood", &r)
	}
	return r, err
}

// Main runs the process as a load if its arguments request that, and then does not return.
func Main() {
	rig.AnswerAs(word, func(ctx context.Context, l Load) (Result, error) {
		return l.run(ctx, func() error { return json.NewEncoder(os.Stdout).Encode(openWord) })
	})
}

// run runs the load. A flood calls open when it has started.
func (l Load) run(ctx context.Context, open func() error) (Result, error) {
	if l.Conns < 1 || (l.Kind == Steady || l.Kind == HalfOpen) && l.Rate < 1 {
		return Result{}, fmt.Errorf("this is no load: %+v", l)
	}
	switch l.Kind {
	case Full, Resumed:
		return l.shake(ctx)
	case Steady:
		return l.ask(ctx)
	case HalfOpen:
		return l.holdHalf(ctx, open)
	case Hellos:
		return l.greet(ctx, open)
	}
	return Result{}, fmt.Errorf("there is no load %q", l.Kind)
}
