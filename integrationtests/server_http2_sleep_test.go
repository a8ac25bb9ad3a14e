package integrationtests

import (
	"slices"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
)

const (
	// sleeperPause is how long the handler of one stream sleeps.
	sleeperPause = time.Second
	// sleeperPace is how often sleeperBatch requests are sent beside it.
	sleeperPace  = 5 * time.Millisecond
	sleeperBatch = 10
	// sleeperOthers is how many of these are open at a time at most. Those that must wait for
	// another one count from when they were due.
	sleeperOthers = 99
	// sleeperGrowth is by how much the p99 of the others may grow at most. Below sleeperNoise it
	// says more of the machine than of the server.
	sleeperGrowth = 2
	sleeperNoise  = 20 * time.Millisecond
	// sleeperTries is how often all is measured at most: the machine may be busy with something
	// else, and then it seems to grow.
	sleeperTries = 5
)

// TestSleepingStreamOfHTTP2HoldsUpNoOther has one stream of a connection sleep for a second,
// again and again, and requests sent on its other streams at a fixed pace: so many wait if
// something waits for the sleeper.
func TestSleepingStreamOfHTTP2HoldsUpNoOther(t *testing.T) {
	if testing.Short() {
		t.Skip("several seconds")
	}
	for _, e := range servertest.Engines[:4] {
		t.Run(e.Name, func(t *testing.T) {
			ts := serveHTTP2(t, e, &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
				if string(ctx.Path()) == "/sleep" {
					time.Sleep(sleeperPause)
				}
				ctx.SetBodyString("ok")
			}})
			for try := 1; ; try++ {
				alone := newPaced(ts).run("", sleeperPause/2)
				beside := newPaced(ts).run("/sleep", 3*sleeperPause/2)
				t.Logf("p99 %v alone, %v beside a stream that sleeps", alone, beside)
				if beside <= max(sleeperGrowth*alone, sleeperNoise) {
					return
				}
				if try == sleeperTries {
					t.Fatalf("the p99 has grown from %v to %v in the last of %d tries", alone, beside, try)
				}
			}
		})
	}
}

// paced is a client that sends requests at a fixed pace, and one more as soon as that one is
// answered.
type paced struct {
	*h2Conn
	id     uint32
	begun  map[uint32]time.Time // when each request was due; those of the one more have none
	took   []time.Duration
	frames chan pacedFrame
}

// pacedFrame is the end of a stream.
type pacedFrame struct {
	id uint32
	at time.Time
}

func newPaced(ts *testServer) *paced {
	p := &paced{h2Conn: greetHTTP2(ts), id: 1, begun: map[uint32]time.Time{}, frames: make(chan pacedFrame, 1000)}
	p.Frame(http2.FrameWindowUpdate, 0, 0, words(1<<30)).Flush()
	go func() {
		defer close(p.frames)
		for {
			f, err := p.Framer.ReadFrame()
			if err != nil {
				return
			}
			if d, ok := f.(*http2.DataFrame); ok && d.StreamEnded() {
				p.frames <- pacedFrame{d.StreamID, time.Now()}
			}
		}
	}()
	return p
}

// send sends a request, and returns its id.
func (p *paced) send(path string) uint32 {
	id := p.id
	p.id += 2
	p.Get(id, path)
	return id
}

// run sends requests for some time, and returns the p99 of their times. more is the path of
// the one more, if it is not "".
func (p *paced) run(more string, length time.Duration) (p99 time.Duration) {
	if more != "" {
		p.send(more)
	}
	begun := time.Now()
	for due := begun; due.Sub(begun) < length; due = due.Add(sleeperPace) {
		for range sleeperBatch {
			for len(p.begun) >= sleeperOthers {
				p.Flush()
				p.note(servertest.Receive(p.T, "a response", p.frames), more)
			}
			p.begun[p.send("/")] = due
		}
		for wait := time.After(time.Until(due)); wait != nil; {
			select {
			case f := <-p.frames:
				p.note(f, more)
			case <-wait:
				wait = nil
			}
		}
		p.Flush()
	}
	for len(p.begun) > 0 {
		p.note(servertest.Receive(p.T, "a response", p.frames), "")
	}
	_ = p.Close()
	slices.Sort(p.took)
	return p.took[len(p.took)*99/100]
}

// note takes the end of a stream.
func (p *paced) note(f pacedFrame, more string) {
	due, counts := p.begun[f.id]
	switch {
	case f.id == 0:
		p.T.Fatal("the connection has ended")
	case counts:
		p.took = append(p.took, f.at.Sub(due))
		delete(p.begun, f.id)
	case more != "":
		p.send(more)
	}
}
