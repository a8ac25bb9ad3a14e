// Package serving has the common parts of the server programs of the socket benchmarks: their
// flags, their response, and the protocol with their parent program.
//
// A server prints "ready ADDRESS" when it listens. A line "memory" on its standard input makes
// it collect garbage and print its figures, as Memory in JSON, and a line "counts" makes it
// print Counts in JSON. The end of standard input ends it, so that no server outlives its
// parent.
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

// The response of a server.
const (
	Body        = "Hello, World!"
	ContentType = "text/plain"
)

// The slow paths of a server in mode Mixed. Any other path has the usual response, without
// delay.
const (
	SleepPath = "/sleep" // answered after sleeping for SleepTime
	SpinPath  = "/spin"  // answered after computing for SpinTime
	WaitPath  = "/wait"  // answered after sleeping for Job.Wait
)

// The durations of the slow paths.
const (
	SleepTime = time.Second
	SpinTime  = 50 * time.Millisecond
)

// Mode selects the handler of a server.
type Mode string

const (
	Plain    Mode = "plain"    // answers without delay, and ignores the path
	Mixed    Mode = "mixed"    // implements SleepPath, SpinPath and WaitPath
	Forwards Mode = "forwards" // forwards requests to Job.Backend as they are
	Proxies  Mode = "proxies"  // forwards them as a gateway does
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

// HTTP2Flag makes a server speak HTTP/2 in addition to HTTP/1.
const HTTP2Flag = "http2"

// StreamsFlag sets the limit of concurrent streams of an HTTP/2 client.
const StreamsFlag = "streams"

// BackendConns is how many connections a server that forwards may have to its
// backend: more than any benchmark opens to the server.
const BackendConns = 4096

// Job is the task of a server program.
type Job struct {
	Mode    Mode
	Wait    time.Duration // how long WaitPath takes
	Backend string        // address of the server to forward to
	// Cert and Key are files in PEM. Without them the server speaks plain HTTP.
	Cert, Key string
	HTTP2     bool
	Streams   int // concurrent streams of an HTTP/2 client, 0 for the default
	// Crowd is set if other processes listen on the same address. The system must then not
	// probe peers: with a million connections it would do nothing else.
	Crowd bool
}

// TLS reports whether the server must speak TLS.
func (j Job) TLS() bool { return j.Cert != "" }

// The words of the protocol between a server and its parent.
const (
	ReadyWord  = "ready"
	MemoryWord = "memory"
	CountsWord = "counts"
)

// Memory has the figures of a server after a garbage collection.
type Memory struct {
	Goroutines int    `json:"goroutines"`
	HeapInUse  uint64 `json:"heap_in_use"` // bytes of spans with at least one object
	StackInUse uint64 `json:"stack_in_use"`
}

// Counts are a server's counts so far.
type Counts struct {
	Allocs uint64 `json:"allocations"`
}

// Main is the main function of a server program. serve serves connections of ln forever.
func Main(serve func(ln net.Listener, job Job) error) {
	var job Job
	addr := flag.String("addr", "127.0.0.1:0", "address to listen on")
	mode := flag.String("mode", string(Plain), "plain, mixed to have slow paths as well, or forwards or proxies to ask another server")
	flag.DurationVar(&job.Wait, WaitFlag, time.Millisecond, "with mixed: how long "+WaitPath+" takes")
	flag.StringVar(&job.Backend, BackendFlag, "", "with forwards or proxies: address of the other server")
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
	case Forwards, Proxies:
		return j.Backend != ""
	}
	return false
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "server:", err)
	os.Exit(1)
}

// listen returns a plain *net.TCPListener, which servers recognize.
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
		var figures any
		switch lines.Text() {
		case MemoryWord:
			figures = collect()
		case CountsWord:
			figures = count()
		default:
			return fmt.Errorf("unknown request %q", lines.Text())
		}
		if err := json.NewEncoder(out).Encode(figures); err != nil {
			return err
		}
	}
	return lines.Err()
}

// collect returns all unused memory to the system. FreeOSMemory runs a second collection,
// which also frees objects that a sync.Pool kept in the first.
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

// count leaves garbage and pools as they are.
func count() Counts {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return Counts{Allocs: m.Mallocs}
}

// Slow sleeps or computes for the time of path, if it is a slow path.
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
