// Package wsload puts loads on WebSocket servers, and measures the time of each message. A
// separate process, which this program starts from its own file, does the work, so that it can
// have a core to itself. Begin with Start.
//
// One thread waits for all sockets with epoll. Frames are made and masked in advance, and what
// arrives is compared with what was sent where it lies, so that the load costs little beside the
// server.
package wsload

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
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
	word     = "websocket-load" // the first argument
	openWord = "open"           // all sockets are open and warm
	goWord   = "go"             // begin
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
	if err := child.Expect(ctx, openWord); err != nil {
		return nil, fmt.Errorf("load: %w", err)
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

// Main runs the process as a load if its arguments request that, and then does not return.
func Main() {
	if len(os.Args) != 3 || os.Args[1] != word {
		return
	}
	if err := obey(os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// obey performs the load that text describes, and returns when standard input ends.
func obey(text string) error {
	var l Load
	if err := json.Unmarshal([]byte(text), &l); err != nil {
		return err
	}
	words, over := make(chan string), make(chan struct{})
	go func() {
		defer close(over)
		lines := bufio.NewScanner(os.Stdin)
		for lines.Scan() {
			words <- lines.Text()
		}
	}()
	p, err := l.open(over)
	if err != nil {
		return err
	}
	defer p.close()
	if _, err := fmt.Println(openWord); err != nil {
		return err
	}
	for {
		select {
		case <-over:
			return nil
		case said := <-words:
			if said != goWord {
				return fmt.Errorf("unknown request %q", said)
			}
			r, err := p.measure()
			if err != nil {
				return err
			}
			if err := json.NewEncoder(os.Stdout).Encode(r); err != nil {
				return err
			}
		}
	}
}

var errEnded = errors.New("ended too early")
