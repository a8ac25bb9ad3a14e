package integrationtests

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
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

// holdersVariable names the engine of a server, and the memory limit for bodies. The server
// runs in its own process, so that the memory of the process is the server's.
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

// crowdVariable names the address of a server, the number of clients that hold back bodies,
// and the length of a body. The clients run in their own process, so that their processor time
// does not count as the server's.
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
// while others send ordinary requests, which are answered all the time. All bodies together
// exceed the memory for bodies by far. With FASTHTTP_SOAK set, it is 5,000 clients with 4 MiB
// each.
func TestHeldBodiesLeaveOthersAlone(t *testing.T) {
	t.Parallel()
	// the amount of garbage besides the memory for bodies depends on how often the garbage
	// collector gets the processor
	clients, memory, answers, most := 120, 128<<20, 50, int64(2*128<<20)
	if isSoak() {
		clients, memory, answers, most = 5000, 0, 10_000, servertest.DefaultBodyMemory+servertest.DefaultBodyMemory/4
	}
	for _, e := range servertest.Engines {
		if !strings.HasSuffix(e.Name, "/tcp") {
			continue
		}
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			addr, _, pid := serveApart(t, 10*time.Minute, "TestServerOfHolders", fmt.Sprintf("%s=%s %d", holdersVariable, e.Name, memory), "GOMEMLIMIT=off")
			others := startOthers(t, addr, pid)
			others.await("before", answers)
			refused, end := startCrowd(t, addr, clients, fasthttp.DefaultMaxRequestBodySize)
			defer end()
			others.report("while the bodies are sent")
			others.await("while they are held back", answers)
			t.Logf("%d of %d clients were refused", refused, clients)
			others.end()
			if !servertest.RaceDetector && others.most > most {
				t.Errorf("the server has taken %d MiB, want %d at most", others.most>>20, most>>20)
			}
			if others.failed > 0 {
				t.Errorf("%d of the requests of others failed", others.failed)
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

// others are clients that send ordinary requests all the time.
type others struct {
	t       *testing.T
	stop    chan struct{}
	stopAll func() // closes stop
	wg      sync.WaitGroup

	mu     sync.Mutex
	took   []time.Duration
	busy   int   // requests refused for lack of memory
	failed int   // requests with any other failure
	most   int64 // most bytes of memory
}

func startOthers(t *testing.T, addr string, pid int) *others {
	o := &others{t: t, stop: make(chan struct{})}
	o.stopAll = sync.OnceFunc(func() { close(o.stop) })
	t.Cleanup(o.end)
	for _, request := range []string{servertest.Get("/"), servertest.Post("/", strings.Repeat("x", 1000)), servertest.Post("/", strings.Repeat("x", 100_000))} {
		o.wg.Go(func() { o.ask(addr, request, pid) })
	}
	return o
}

// await waits for n more answers, and logs how long they took.
func (o *others) await(when string, n int) {
	o.t.Helper()
	servertest.Eventually(o.t, "answers "+when, func() bool {
		o.mu.Lock()
		defer o.mu.Unlock()
		return len(o.took) >= n
	})
	o.report(when)
}

// wait waits for a while, and returns false if the test ends.
func (o *others) wait(d time.Duration) bool {
	select {
	case <-o.stop:
		return false
	case <-time.After(d): // real time: ordinary clients pause between requests
		return true
	}
}

// ask sends a request from time to time, and checks the memory of the server.
func (o *others) ask(addr, request string, pid int) {
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
		_ = c.SetDeadline(begun.Add(servertest.Patience))
		_, _ = io.WriteString(c.Conn, request)
		resp, err := servertest.ReadResponse(c.R, "GET")
		took, now := time.Since(begun), resident(o.t, pid)
		o.mu.Lock()
		o.most = max(o.most, now)
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

// report logs how long the answers since the last report took.
func (o *others) report(when string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.took) == 0 {
		o.t.Logf("%s: no answers", when)
		return
	}
	slices.Sort(o.took)
	o.t.Logf("%s: %d answers, half of them in %v, 99 of 100 in %v, %d without memory; %d MiB at most", when, len(o.took),
		o.took[len(o.took)/2], o.took[len(o.took)*99/100], o.busy, o.most>>20)
	o.took, o.busy = nil, 0
}

// end ends the clients, each after its last answer.
func (o *others) end() {
	o.stopAll()
	o.wg.Wait()
}
