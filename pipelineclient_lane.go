package fasthttp

import (
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp/internal/bufpool"
	"github.com/valyala/fasthttp/internal/connpool"
	"github.com/valyala/fasthttp/internal/http1"
)

// pipeline is one connection of a PipelineClient, or the place for one, with the
// calls that wait for it.
//
// A goroutine, the writer, runs while there are calls or a connection. It
// connects, sends what is in queue, and tidies up behind the connection. Each
// connection has a second goroutine, the reader, which gives the calls in sent
// their responses.
type pipeline struct {
	c    *PipelineClient
	load atomic.Int64  // of calls in both lists, and about to be
	wake chan struct{} // for the writer if it waits

	mu     sync.Mutex // guards what follows
	queue  pipelineList
	sent   pipelineList
	queued int // bytes in queue
	waited int // calls in both lists for which somebody waits
	writer writerPhase

	// of the connection
	conn      *clientConn // nil where there is none; wire is guarded, too
	haste     writeHaste
	wrote     uint64 // bytes that were given to be sent
	written   uint64 // bytes that were sent
	answered  int    // responses that it has brought
	idleSince time.Time

	// what was learned from earlier ones
	window    int // how many calls may be in sent
	together  int // calls that were in queue for the last batch
	failures  int // connections in a row that brought no response, or did not come about
	notBefore time.Time
}

// writerPhase is what the writer of a pipeline does.
type writerPhase uint8

const (
	writerAbsent writerPhase = iota // there is none
	writerWorks                     // it looks at the lists before it waits
	writerWaits                     // it is to be told of changes
)

// writeHaste says whose deadline a write has.
type writeHaste uint8

const (
	hasteNone  writeHaste = iota // that of WriteTimeout
	hasteEarly                   // a shorter one: a response came for what is being written
	hastePast                    // still that one, but what it was for was written
)

func (p *pipeline) init(c *PipelineClient) {
	p.c = c
	p.wake = make(chan struct{}, 1)
	p.window = c.maxPending()
}

// enqueue adds a call that load counts already, and sees to it that there is a
// writer. It reports whether there was room.
func (p *pipeline) enqueue(call *pipelineCall) bool {
	p.mu.Lock()
	if p.queue.n >= p.c.maxPending() {
		p.mu.Unlock()
		return false
	}
	call.lane = p
	p.queue.push(call)
	p.queued += len(call.out)
	p.waited++
	if p.writer == writerAbsent {
		p.writer = writerWorks
		go p.run()
	} else {
		p.tell()
	}
	p.mu.Unlock()
	return true
}

// tell wakes the writer where it waits. The mutex is held.
func (p *pipeline) tell() {
	if p.writer == writerWaits {
		p.writer = writerWorks
		p.wake <- struct{}{}
	}
}

// await lets the writer wait for changes, or for the timer, and reports whether
// the timer was first. The mutex is held before and after that.
func (p *pipeline) await(timer *time.Timer) (expired bool) {
	p.writer = writerWaits
	p.mu.Unlock()
	select {
	case <-p.wake:
		p.mu.Lock()
		return false
	case <-timer.C:
	}
	p.mu.Lock()
	if p.writer == writerWorks {
		<-p.wake
	}
	p.writer = writerWorks
	return true
}

// end takes a call out of its list and gives it its result. The mutex is held.
func (p *pipeline) end(call *pipelineCall, err error) {
	p.unlink(call)
	p.load.Add(-1)
	if call.finish(err) {
		p.waited--
	}
}

func (p *pipeline) unlink(call *pipelineCall) {
	queued := call.links.list == &p.queue
	call.links.list.remove(call)
	if queued {
		p.queued -= len(call.out)
		p.c.tellRoom()
	}
}

// forsake says that nobody waits for the call any more. One that was sent keeps
// its place, since its response will come; but a connection on which nobody
// waits for anything is of no use to those who come next.
func (p *pipeline) forsake(call *pipelineCall) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waited--
	if call.links.list == &p.queue {
		p.end(call, nil)
		p.tell()
	}
	if p.waited == 0 && p.sent.n > 0 && p.conn != nil {
		p.conn.wire.Advance(http1.SendStops)
		_ = p.conn.line.Net().Close()
		p.tell()
	}
}

// run is the writer.
func (p *pipeline) run() {
	out := bufpool.Get(p.c.writeSize())
	defer func() { bufpool.Put(out) }()
	for {
		conn := p.connect()
		if conn == nil {
			return
		}
		p.mu.Lock()
		conn.wire.Advance(http1.SendsRequest)
		conn.wire.Advance(http1.AwaitsResponse)
		p.conn, p.haste = conn, hasteNone
		p.wrote, p.written, p.answered = 0, 0, 0
		p.idleSince = time.Now()
		p.mu.Unlock()

		read := make(chan error, 1)
		go func() { read <- p.read(conn) }()
		p.send(conn, out)
		p.tidy(conn, <-read)
		if cap(out.B) > maxKeptRequest {
			bufpool.Put(out)
			out = bufpool.Get(p.c.writeSize())
		}
	}
}

// connect returns a connection, or nil where nobody wants one any more: there
// is no writer then. Calls that wait while an attempt fails fail with it.
func (p *pipeline) connect() *clientConn {
	for {
		if !p.mayConnect() {
			return nil
		}
		conn, err := p.c.connect()
		if err == nil {
			return conn
		}
		p.mu.Lock()
		p.backOff()
		for p.queue.n > 0 {
			p.end(p.queue.first, err)
		}
		p.mu.Unlock()
	}
}

// mayConnect waits until it is time to connect, and reports whether somebody wants
// it.
func (p *pipeline) mayConnect() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.queue.n > 0 {
		wait := time.Until(p.notBefore)
		if wait <= 0 {
			return true
		}
		timer := AcquireTimer(wait)
		p.await(timer)
		ReleaseTimer(timer)
	}
	p.writer = writerAbsent
	return false
}

const (
	minBackoff = 10 * time.Millisecond
	maxBackoff = time.Second
)

// backOff makes the next attempt to connect wait: twice as long as the last
// time, give or take a quarter, so that many clients do not come back at the
// same moment. The mutex is held.
func (p *pipeline) backOff() {
	wait := min(minBackoff<<min(p.failures, 10), maxBackoff)
	p.failures++
	p.notBefore = time.Now().Add(wait*3/4 + rand.N(wait/2))
}

// send sends what is in queue until the connection ends.
func (p *pipeline) send(conn *clientConn, out *bufpool.Buffer) {
	idle := time.NewTimer(p.c.maxIdle())
	defer idle.Stop()
	for p.nextBatch(conn, out, idle) {
		n, err := conn.line.Write(out.B)
		if n == len(out.B) && err == nil {
			continue
		}
		p.mu.Lock()
		p.written += uint64(n)
		p.wrote = p.written
		event := http1.SendFails
		if isTimeout(err) {
			if p.haste != hasteEarly {
				event = http1.SendTimesOut
			}
			_ = conn.line.Net().Close()
		}
		conn.wire.Advance(event)
		// responses may have come before the connection broke
		_ = conn.line.Guard.LimitRead(time.Now().Add(drainingTime))
		p.mu.Unlock()
		return
	}
}

// drainingTime is how long responses are waited for after requests cannot be
// sent any more.
const drainingTime = 250 * time.Millisecond

// nextBatch waits for calls, moves them to sent and their bytes to out. It
// returns false where nothing is to be sent any more.
func (p *pipeline) nextBatch(conn *clientConn, out *bufpool.Buffer, idle *time.Timer) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	// the last batch was written to its end
	p.written = p.wrote
	if p.haste == hasteEarly {
		p.haste = hastePast
	}
	if conn.wire.Sending() == http1.SendingLast {
		conn.wire.Advance(http1.SendEnds)
	}
	for {
		switch {
		case !conn.wire.MaySend():
			return false
		case p.queue.n > 0 && p.sent.n < p.window:
			p.collect(conn)
			if !conn.wire.MaySend() || p.queue.n == 0 {
				continue
			}
			if p.isStale(conn) {
				conn.wire.Advance(http1.SendStops)
				_ = conn.line.Net().Close()
				return false
			}
			p.batch(conn, out)
			return true
		}
		if !p.await(idle) {
			continue
		}
		rest := p.c.maxIdle()
		if p.load.Load() == 0 {
			rest -= time.Since(p.idleSince)
		}
		if rest <= 0 {
			conn.wire.Advance(http1.SendStops)
			_ = conn.line.Net().Close()
			return false
		}
		idle.Reset(rest)
	}
}

// collect waits for more calls to be sent together, where that is wanted.
func (p *pipeline) collect(conn *clientConn) {
	if p.c.MaxBatchDelay <= 0 {
		p.gather()
		return
	}
	timer := AcquireTimer(p.c.MaxBatchDelay)
	defer ReleaseTimer(timer)
	for conn.wire.MaySend() && p.queue.n > 0 && p.queue.n < p.window-p.sent.n && p.queued < p.c.writeSize() {
		if p.await(timer) {
			return
		}
	}
}

// gather lets those run who are about to add a call, where the last batch shows
// that there are several: a write costs more than that. The mutex is held before
// and after that.
func (p *pipeline) gather() {
	if p.queue.n < p.together {
		p.mu.Unlock()
		runtime.Gosched()
		p.mu.Lock()
	}
	p.together = p.queue.n
}

// isStale reports whether the server has closed the connection while it was idle,
// or has sent what nobody asked for. The reader will notice, but it may not have
// run yet. What comes through TLS is for the reader alone to tell.
func (p *pipeline) isStale(conn *clientConn) bool {
	if p.sent.n > 0 {
		return false
	}
	state := conn.line.Look()
	return state == connpool.Ended || state == connpool.Readable && !conn.line.IsTLS()
}

// batch moves calls from queue to sent. The mutex is held.
func (p *pipeline) batch(conn *clientConn, out *bufpool.Buffer) {
	out.B = out.B[:0]
	if p.sent.n == 0 {
		p.expect(conn)
	}
	if timeout := p.c.WriteTimeout; timeout > 0 {
		_ = conn.line.Guard.LimitWrite(time.Now().Add(timeout))
	} else if p.haste != hasteNone {
		_ = conn.line.Guard.LimitWrite(time.Time{})
	}
	p.haste = hasteNone
	for size := p.c.writeSize(); p.queue.n > 0 && p.sent.n < p.window && conn.wire.MaySend(); {
		if next := len(p.queue.first.out); len(out.B) > 0 && len(out.B)+next > size {
			break
		}
		call := p.queue.shift()
		p.sent.push(call)
		p.queued -= len(call.out)
		out.B = append(out.B, call.out...)
		p.wrote += uint64(len(call.out))
		call.end = p.wrote
		if call.closes {
			conn.wire.Advance(http1.SendsLast)
		}
	}
	p.c.tellRoom()
}

// expect sets the deadline for the next response. The mutex is held.
func (p *pipeline) expect(conn *clientConn) {
	if timeout := p.c.ReadTimeout; timeout > 0 && !conn.wire.Draining() {
		_ = conn.line.Guard.LimitRead(time.Now().Add(timeout))
	}
}

// respond ends the first call, whose response is complete. closes says that it
// is the last one of the connection. It returns the call that the next response is
// for, or nil if none was sent so far.
func (p *pipeline) respond(conn *clientConn, closes bool) (next *pipelineCall) {
	p.mu.Lock()
	if p.haste != hasteEarly && p.sent.first.end > p.written {
		// the server may not want the rest of what is being written
		p.haste = hasteEarly
		_ = conn.line.Guard.ShortenWrite(time.Now().Add(sendPatience))
	}
	p.end(p.sent.first, nil)
	p.answered++
	p.failures = 0
	full := p.sent.n+1 >= p.window
	if limit := p.c.maxPending(); p.window < limit && p.answered >= p.window {
		p.window = min(2*p.window, limit)
	}
	if closes {
		conn.wire.Advance(http1.LastResponseEnds)
	}
	switch {
	case p.sent.n > 0:
		p.expect(conn)
	case p.c.ReadTimeout > 0 && !conn.wire.Draining():
		_ = conn.line.Guard.LimitRead(time.Time{})
		fallthrough
	default:
		p.idleSince = time.Now()
	}
	if full || closes {
		p.tell()
	}
	next = p.sent.first
	p.mu.Unlock()
	return next
}

// fail ends the first call with err, since its response cannot be read.
func (p *pipeline) fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.sent.n > 0 {
		p.end(p.sent.first, err)
	}
}

// expire is fail for a response that did not come in time.
func (p *pipeline) expire(conn *clientConn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.sent.n > 0 && !conn.wire.Draining() {
		p.end(p.sent.first, ErrTimeout)
	}
}

// hangUp says that the reader has ended. The connection ends with it: whoever
// writes to it would wait for a server that nobody listens to.
func (p *pipeline) hangUp(conn *clientConn) {
	p.mu.Lock()
	conn.wire.Advance(http1.ReceiveFails)
	p.tell()
	p.mu.Unlock()
	_ = conn.line.Net().Close()
}

// tidy puts the calls back into the queue that can be sent again, and ends the
// others. err is why the reader has ended.
func (p *pipeline) tidy(conn *clientConn, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.conn = nil
	_ = conn.Close()
	for call := p.sent.first; call != nil; {
		next := call.links.next
		if call.isLeft() {
			p.end(call, nil)
		}
		call = next
	}
	if p.sent.n == 0 {
		return
	}
	if p.answered == 0 {
		p.backOff()
	}
	p.window = max(p.answered, 1)
	if err == io.EOF {
		err = ErrConnectionClosed
	} else {
		err = fmt.Errorf("%w: %w", ErrConnectionClosed, err)
	}
	overdue := conn.wire.Sending() == http1.SendTimedOut
	var last *pipelineCall
	for p.sent.n > 0 {
		call := p.sent.first
		if overdue && call.end > p.wrote {
			overdue = false
			p.end(call, ErrTimeout)
			continue
		}
		if !p.mayResend(conn, call) {
			p.end(call, err)
			continue
		}
		p.unlink(call)
		p.queue.insert(call, last)
		p.queued += len(call.out)
		last = call
	}
}

// mayResend reports whether a call that has got nothing of a response can be sent
// again: nothing of it was written, the server has said that it reads no more
// requests, or there is no harm in sending it twice. The mutex is held.
func (p *pipeline) mayResend(conn *clientConn, call *pipelineCall) bool {
	if p.answered == 0 && p.failures >= DefaultMaxIdemponentCallAttempts {
		return false
	}
	return call.idempotent || conn.wire.Receiving() == http1.Received || call.end-uint64(len(call.out)) >= p.wrote
}
