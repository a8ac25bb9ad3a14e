// Package serving has what the server programs of the socket benchmarks share: their
// flags, their response, and the protocol with the program that started them.
//
// A server prints "ready ADDRESS" when it listens. A line "memory" on its
// standard input makes it collect garbage and print its figures, as Memory in
// JSON; the end of standard input ends it, so that no server outlives the program that
// started it.
package serving

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"runtime"
	"runtime/debug"
	"time"
)

// What a server answers.
const (
	Body        = "Hello, World!"
	ContentType = "text/plain"
)

// The paths that a server in mode Mixed knows. Any other has the usual answer
// at once.
const (
	SleepPath = "/sleep" // answered after SleepTime, which is slept
	SpinPath  = "/spin"  // answered after SpinTime, which is spent computing
	WaitPath  = "/wait"  // answered after Job.Wait, which is slept
)

// How long the slow paths take.
const (
	SleepTime = time.Second
	SpinTime  = 50 * time.Millisecond
)

// Mode says what handler a server has.
type Mode string

const (
	Plain    Mode = "plain"    // always answers at once, without a look at the path
	Mixed    Mode = "mixed"    // knows SleepPath, SpinPath and WaitPath
	Forwards Mode = "forwards" // answers what Job.Backend answers
)

// The flags of a server program that only some modes use.
const (
	WaitFlag    = "wait"
	BackendFlag = "backend"
)

// The flags that make a server speak TLS.
const (
	CertFlag = "cert"
	KeyFlag  = "key"
)

// HTTP2Flag makes a server speak HTTP/2 beside HTTP/1.
const HTTP2Flag = "http2"

// StreamsFlag says how many streams a client of HTTP/2 may have open at a time.
const StreamsFlag = "streams"

// BackendConns is how many connections a server that forwards may have to its
// backend: more than any benchmark opens to the server.
const BackendConns = 4096

// Job is what a server program is started to do.
type Job struct {
	Mode    Mode
	Wait    time.Duration // how long WaitPath takes
	Backend string        // address of the server that has the answers
	// Cert and Key are files in PEM. Without them the server speaks plain HTTP.
	Cert, Key string
	HTTP2     bool
	Streams   int // that a client of HTTP/2 may have open at a time, 0 for what is usual
	// Crowd says that other processes listen on the same address. The system is not to
	// probe whether peers are there: a million connections would leave it no time for more.
	Crowd bool
}

// TLS reports whether the server is to speak TLS.
func (j Job) TLS() bool { return j.Cert != "" }

// The words that servers and their starters exchange.
const (
	ReadyWord  = "ready"
	MemoryWord = "memory"
)

// Memory is what a server tells about itself after it collected garbage.
type Memory struct {
	Goroutines int    `json:"goroutines"`
	HeapInUse  uint64 `json:"heap_in_use"` // bytes of spans with at least one object
	StackInUse uint64 `json:"stack_in_use"`
}

// Main is the main function of a server program. serve serves connections of ln
// for ever.
func Main(serve func(ln net.Listener, job Job) error) {
	var job Job
	addr := flag.String("addr", "127.0.0.1:0", "address to listen on")
	mode := flag.String("mode", string(Plain), "plain, mixed to have slow paths as well, or forwards to ask another server")
	flag.DurationVar(&job.Wait, WaitFlag, time.Millisecond, "with mixed: how long "+WaitPath+" takes")
	flag.StringVar(&job.Backend, BackendFlag, "", "with forwards: address of the other server")
	flag.StringVar(&job.Cert, CertFlag, "", "file of a certificate, to speak TLS")
	flag.StringVar(&job.Key, KeyFlag, "", "file of the certificate's key")
	flag.BoolVar(&job.HTTP2, HTTP2Flag, false, "speak HTTP/2 beside HTTP/1, over TLS or by prior knowledge")
	flag.IntVar(&job.Streams, StreamsFlag, 0, "with -"+HTTP2Flag+": how many streams a client may have open at a time; 0 for what is usual")
	flag.BoolVar(&job.Crowd, "reuseport", false, "let other processes listen on the same address")
	life := flag.Duration("life", time.Hour, "how long to run at most")
	flag.Parse()
	job.Mode = Mode(*mode)
	if !job.valid() || flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	ln, err := listen(*addr, job.Crowd)
	if err != nil {
		fail(err)
	}
	time.AfterFunc(*life, func() { fail(errors.New("nobody ended this server in time")) })
	go func() {
		if err := converse(os.Stdin, os.Stdout); err != nil {
			fail(err)
		}
		os.Exit(0)
	}()
	if _, err := fmt.Println(ReadyWord, ln.Addr()); err != nil {
		fail(err)
	}
	fail(serve(ln, job))
}

// valid reports whether a server can do the job.
func (j Job) valid() bool {
	if (j.Cert == "") != (j.Key == "") || j.Streams < 0 || j.Streams > 0 && !j.HTTP2 {
		return false
	}
	switch j.Mode {
	case Plain, Mixed:
		return j.Backend == ""
	case Forwards:
		return j.Backend != ""
	}
	return false
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "server:", err)
	os.Exit(1)
}

// listen returns a plain *net.TCPListener, as servers know it.
func listen(addr string, reuse bool) (net.Listener, error) {
	var config net.ListenConfig
	if reuse {
		if reusePort == nil {
			return nil, errors.New("this system cannot share an address")
		}
		config.Control = reusePort
		config.KeepAlive = -1
	}
	return config.Listen(context.Background(), "tcp4", addr)
}

// converse answers requests for figures until in ends.
func converse(in, out *os.File) error {
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		if lines.Text() != MemoryWord {
			return fmt.Errorf("unknown request %q", lines.Text())
		}
		if err := json.NewEncoder(out).Encode(collect()); err != nil {
			return err
		}
	}
	return lines.Err()
}

// collect gives all memory back that is not in use. The second collection, that
// of FreeOSMemory, also empties what a sync.Pool kept over the first.
func collect() Memory {
	runtime.GC()
	debug.FreeOSMemory()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return Memory{
		Goroutines: runtime.NumGoroutine(),
		HeapInUse:  m.HeapInuse,
		StackInUse: m.StackInuse,
	}
}

// Slow takes the time that path stands for, if it is a slow one.
func (j Job) Slow(path string) {
	switch path {
	case WaitPath:
		time.Sleep(j.Wait)
	case SleepPath:
		time.Sleep(SleepTime)
	case SpinPath:
		for begin := time.Now(); time.Since(begin) < SpinTime; {
		}
	}
}
