package integrationtests

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
)

// holdersVariable names the engine of a server, and the memory limit for bodies. The
// server runs in its own process, so that the memory of the process is that of the
// server.
const holdersVariable = "FASTHTTP_TEST_HOLDERS"

// TestServerOfHolders is the process of the server. It does nothing in a usual run.
func TestServerOfHolders(t *testing.T) {
	name, limit, _ := strings.Cut(os.Getenv(holdersVariable), " ")
	i := slices.IndexFunc(servertest.Engines, func(e servertest.Engine) bool { return e.Name == name })
	if i < 0 {
		t.Skip("is run by TestHeldBodiesLeaveOthersAlone")
	}
	s := &fasthttp.Server{Logger: noLog{}, Handler: func(ctx *fasthttp.RequestCtx) { fmt.Fprint(ctx, len(ctx.PostBody())) }}
	s.MaxRequestBodyMemory, _ = strconv.Atoi(limit)
	ts := startServer(t, servertest.Engines[i], s)
	fmt.Printf("serving %s\n", ts.Listener.Addr())
	// the end of the input ends the process
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// crowdVariable names the address of a server, the number of clients that hold back
// bodies, and the length of a body. The clients run in their own process, so that
// their processor time does not count as that of the server.
const crowdVariable = "FASTHTTP_TEST_CROWD"

// TestCrowdOfHolders is the process of the clients. It does nothing in a usual run.
func TestCrowdOfHolders(t *testing.T) {
	var addr string
	var clients, size int
	if n, _ := fmt.Sscan(os.Getenv(crowdVariable), &addr, &clients, &size); n != 3 {
		t.Skip("is run by TestHeldBodiesLeaveOthersAlone")
	}
	refused := hold(t, addr, clients, size)
	fmt.Printf("refused %d\n", refused.Load())
	// the end of the input ends the process
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// startCrowd starts the process of the clients, and returns when all their bytes
// were sent or refused. end ends the process.
func startCrowd(t *testing.T, addr string, clients, size int) (refused int, end func()) {
	t.Helper()
	cmd, in, out := startTest(context.Background(), t, "TestCrowdOfHolders", fmt.Sprintf("%s=%s %d %d", crowdVariable, addr, clients, size))
	end = sync.OnceFunc(func() {
		_ = in.Close()
		_, _ = io.Copy(io.Discard, out)
		if err := cmd.Wait(); err != nil {
			t.Errorf("the process with the crowd: %v", err)
		}
	})
	t.Cleanup(end)
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if n, _ := fmt.Sscanf(lines.Text(), "refused %d", &refused); n == 1 {
			return refused, end
		}
	}
	t.Fatal("the process with the crowd says nothing")
	return 0, nil
}

// resident returns the resident memory of a process in bytes.
func resident(t *testing.T, pid int) int64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, line, _ := strings.Cut(string(text), "VmRSS:")
	size, _, _ := strings.Cut(strings.TrimSpace(line), " ")
	kib, err := strconv.ParseInt(size, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return kib << 10
}

// TestHeldBodiesLeaveOthersAlone has many clients hold back the last byte of a body,
// while others send ordinary requests. All bodies together exceed the memory for
// bodies by far. With FASTHTTP_SOAK set, it is 5,000 clients with 4 MiB each, and
// the test also checks response times.
func TestHeldBodiesLeaveOthersAlone(t *testing.T) {
	clients, memory, measured, most := 300, 128<<20, time.Second/4, int64(208<<20)
	long := os.Getenv(servertest.SoakVariable) != ""
	if long {
		clients, memory, measured, most = 5000, 0, 20*time.Second, servertest.DefaultBodyMemory+servertest.DefaultBodyMemory/4
	}
	for _, e := range servertest.Engines {
		if !strings.HasSuffix(e.Name, "/tcp") {
			continue
		}
		t.Run(e.Name, func(t *testing.T) {
			addr, _, pid := serveApart(t, 10*time.Minute, "TestServerOfHolders", fmt.Sprintf("%s=%s %d", holdersVariable, e.Name, memory), "GOMEMLIMIT=off")
			others := startOthers(t, addr, pid)
			measure := func(when string) time.Duration {
				for try := 1; ; try++ {
					if long {
						awaitCalm()
					}
					others.forget()
					before := stolen()
					time.Sleep(measured)
					share := (stolen() - before) / measured.Seconds() / float64(runtime.NumCPU())
					t.Logf("%s, of the time of the processors the host took %.1f %%", when, 100*share)
					p99 := others.report(when)
					if !long || share < calmShare || try == 5 {
						return p99
					}
				}
			}
			usual := measure("before")
			refused, end := startCrowd(t, addr, clients, fasthttp.DefaultMaxRequestBodySize)
			others.report("while the bodies are sent")
			held := measure("while they are held back")
			t.Logf("%d of %d clients were refused", refused, clients)
			if long {
				end()
				// one measurement does not show the usual times of the machine
				usual = max(usual, measure("afterwards"))
			}
			others.end()
			if !servertest.RaceDetector && others.most > most {
				t.Errorf("the server has taken %d MiB, want %d at most", others.most>>20, most>>20)
			}
			if others.failed > 0 {
				t.Errorf("%d of the requests of others failed", others.failed)
			}
			if long && held > 2*usual {
				t.Errorf("a request of others in a hundred takes %v, usually %v", held, usual)
			}
		})
	}
}

// hold opens the connections of the clients, and returns when all bodies but their
// last bytes were sent or refused.
func hold(t *testing.T, addr string, clients, size int) (refused *atomic.Int64) {
	body := make([]byte, size-1)
	head := []byte(servertest.Part("/", size, 0))
	refused = new(atomic.Int64)
	var sending sync.WaitGroup
	for range clients {
		nc, err := net.Dial("tcp4", addr)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = nc.Close() })
		sending.Go(func() {
			_ = nc.SetDeadline(time.Now().Add(10 * time.Minute))
			_, _ = nc.Write(head)
			_, _ = nc.Write(body)
		})
		go func() {
			answer := make([]byte, 100)
			if n, _ := nc.Read(answer); strings.Contains(string(answer[:n]), " 503 ") {
				refused.Add(1)
			}
			_ = nc.Close()
		}()
	}
	sending.Wait()
	return refused
}

// stolen returns the seconds that the host has kept processors from the machine, or
// 0 if the system does not report them.
func stolen() float64 {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(text[:bytes.IndexByte(text, '\n')]))
	if len(fields) < 9 {
		return 0
	}
	ticks, _ := strconv.ParseFloat(fields[8], 64)
	return ticks / 100
}

// calmShare is the share of the processors that the host may take during a
// measurement.
const calmShare = 0.02

// awaitCalm waits until the host takes less than calmShare for five seconds, and two
// minutes at most: a host is busy after a transfer of gigabytes.
func awaitCalm() {
	for calm, rounds := 0, 0; calm < 5 && rounds < 120; rounds++ {
		before := stolen()
		time.Sleep(time.Second)
		if calm++; stolen()-before > calmShare*float64(runtime.NumCPU()) {
			calm = 0
		}
	}
}

// others are clients that send ordinary requests all the time.
type others struct {
	t    *testing.T
	pid  int
	stop chan struct{}
	wg   sync.WaitGroup

	mu     sync.Mutex
	took   []time.Duration
	busy   int   // requests refused for lack of memory
	failed int   // requests with any other failure
	most   int64 // most bytes of memory
}

func startOthers(t *testing.T, addr string, pid int) *others {
	o := &others{t: t, pid: pid, stop: make(chan struct{})}
	for _, request := range []string{servertest.Get("/"), servertest.Post("/", strings.Repeat("x", 1000)), servertest.Post("/", strings.Repeat("x", 100_000))} {
		o.wg.Go(func() { o.ask(addr, request) })
	}
	o.wg.Go(func() {
		for o.wait(2 * time.Millisecond) {
			now := resident(t, pid)
			o.mu.Lock()
			o.most = max(o.most, now)
			o.mu.Unlock()
		}
	})
	return o
}

// forget drops the measurements since the last report.
func (o *others) forget() {
	o.mu.Lock()
	o.took, o.busy = nil, 0
	o.mu.Unlock()
}

// wait waits for a while, and returns false if the test ends.
func (o *others) wait(d time.Duration) bool {
	select {
	case <-o.stop:
		return false
	case <-time.After(d):
		return true
	}
}

// ask sends a request from time to time.
func (o *others) ask(addr, request string) {
	var c *servertest.Conn
	for o.wait(3 * time.Millisecond) {
		if c == nil {
			nc, err := net.Dial("tcp4", addr)
			if err != nil {
				o.t.Error(err)
				return
			}
			c = &servertest.Conn{Conn: nc, R: bufio.NewReader(nc)}
			defer nc.Close()
		}
		begun := time.Now()
		_, _ = io.WriteString(c.Conn, request)
		resp, err := servertest.ReadResponse(c.R, "GET")
		took := time.Since(begun)
		o.mu.Lock()
		switch {
		case err == nil && resp.StatusCode == fasthttp.StatusServiceUnavailable, err != nil && len(request) > servertest.UncountedBody:
			// on a busy machine the client may miss the refusal of a body
			o.busy++
			_ = c.Close()
			c = nil
		case err != nil || resp.StatusCode != fasthttp.StatusOK:
			o.failed++
			_ = c.Close()
			c = nil
		default:
			o.took = append(o.took, took)
		}
		o.mu.Unlock()
	}
}

// report logs the measurements since the last report, and returns the time within
// which 99 of 100 requests were done.
func (o *others) report(when string) (p99 time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.took) == 0 {
		o.t.Fatalf("%s: no answers", when)
	}
	slices.Sort(o.took)
	p99 = o.took[len(o.took)*99/100]
	o.t.Logf("%s: %d answers, half of them in %v, 99 of 100 in %v, %d without memory; %d MiB at most", when, len(o.took),
		o.took[len(o.took)/2], p99, o.busy, o.most>>20)
	o.took, o.busy = nil, 0
	return p99
}

func (o *others) end() {
	close(o.stop)
	o.wg.Wait()
}
