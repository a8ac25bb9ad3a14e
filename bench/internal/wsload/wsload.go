// Package wsload puts loads on WebSocket servers, and measures the time of each message. A
// separate process, which this program starts from its own file, does the work, so that it can
// have a core to itself. Begin with Start.
//
// One thread waits for all sockets with epoll. Frames are made and masked in advance, and what
// arrives is compared with what was sent where it lies, so that the load costs little beside the
// server.
package wsload

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/valyala/fasthttp/bench/internal/rig"
	"github.com/valyala/fasthttp/bench/internal/serving"
)

// Kind is the kind of load.
type Kind string

const (
	// Echo sockets send messages, and each message must return.
	Echo Kind = "echo"
	// Broadcast has one socket that sends messages, each of which must arrive at all sockets.
	Broadcast Kind = "broadcast"
	// Idle sockets have one message each when they open, and wait.
	Idle Kind = "idle"
)

// Load describes the load on a server.
type Load struct {
	Kind  Kind   `json:"kind"`
	Addr  string `json:"addr"`
	Conns int    `json:"conns"`
	Size  int    `json:"size"` // of a message, in bytes
	// Depth is how many messages of an Echo socket are in flight at once.
	Depth int `json:"depth"`
	// Rate is how many messages a second are broadcast. With 0 the next message is sent when
	// the one before it has arrived everywhere.
	Rate int `json:"rate,omitempty"`
	// Deaf adds a socket to a Broadcast, which never reads. It is like a client's on a network
	// with small packets: the kernel holds little for it.
	Deaf bool `json:"deaf,omitempty"`
	// TLS makes Idle sockets ones over TLS. The certificate of the server is not checked.
	TLS bool `json:"tls,omitempty"`
	// Warm is how long messages are sent before they count, and Time how long they count.
	Warm time.Duration `json:"warm"`
	Time time.Duration `json:"time"`
}

// Result is the result of a load. Messages of a Broadcast count once for each socket.
type Result struct {
	Messages int           `json:"messages"` // all that arrived in Took
	Took     time.Duration `json:"took"`     // until the last one had arrived
	CPU      time.Duration `json:"cpu"`      // of the load
	P50      time.Duration `json:"p50"`
	P99      time.Duration `json:"p99"`
	Longest  time.Duration `json:"longest"`
}

// valid returns an error for a load that cannot be.
func (l Load) valid() error {
	wrong := l.Conns < 1 || l.Size < 1 || l.Warm < 0 || l.Time <= 0 || l.Rate < 0 || l.TLS && l.Kind != Idle
	switch l.Kind {
	case Echo:
		wrong = wrong || l.Depth < 1 || l.Rate > 0 || l.Deaf
	case Broadcast:
		wrong = wrong || l.Depth > 1
	case Idle:
		wrong = wrong || l.Deaf || l.Depth > 1
	default:
		wrong = true
	}
	if wrong {
		return fmt.Errorf("this is no load: %+v", l)
	}
	return nil
}

// path returns the path of the sockets.
func (l Load) path() string {
	if l.Kind == Broadcast {
		return serving.GroupPath
	}
	return serving.EchoPath
}

// The words of the protocol between a load and the program that started it.
const (
	word   = "websocket-load" // the first argument
	goWord = "go"             // begin
)

// Sockets is a running load.
type Sockets struct{ child *rig.Child }

// Start opens the sockets and sends the messages that do not count. The sockets are then quiet.
// The program must call Main before anything else.
func Start(ctx context.Context, place rig.Place, l Load) (*Sockets, error) {
	if err := l.valid(); err != nil {
		return nil, err
	}
	child, err := rig.StartSelf(ctx, place, word, []string{"GOMAXPROCS=1", "GOGC=off"}, l)
	if err != nil {
		return nil, err
	}
	var open int // sockets, which are warm, too
	if err := child.Hear(ctx, "load", &open); err != nil {
		return nil, errors.Join(err, child.Stop())
	}
	return &Sockets{child}, nil
}

// Run sends the messages that count.
func (s *Sockets) Run(ctx context.Context) (r Result, err error) {
	err = s.child.Ask(ctx, goWord, "load", &r)
	return r, err
}

// Stop closes the sockets.
func (s *Sockets) Stop() error { return s.child.Stop() }

// Main runs the process as a load if its arguments request that, and then does not return. The end
// of the process closes the sockets.
func Main() {
	rig.ConverseAs(word, func(ctx context.Context, l Load) (any, func(string) (any, error), error) {
		p, err := l.open(ctx.Done())
		return l.Conns, func(said string) (any, error) {
			if said != goWord {
				return nil, fmt.Errorf("unknown request %q", said)
			}
			return p.measure()
		}, err
	})
}

var errEnded = errors.New("ended too early")
