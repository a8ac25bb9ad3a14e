package pipeline

import (
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp/internal/bufpool"
	"github.com/valyala/fasthttp/internal/clientconn"
	"github.com/valyala/fasthttp/internal/clock"
	"github.com/valyala/fasthttp/internal/http1"
	"github.com/valyala/fasthttp/internal/lockorder"
	"github.com/valyala/fasthttp/internal/netio"
)

// ConnQueue is one connection of a Pool, or the place for one, with the calls that wait for it.
//
// A goroutine, the writer, runs while there are calls or a connection. It connects, sends the
// calls in queue, unless a caller does (writeInline), and cleans up after the connection. Each
// connection has a second goroutine, the reader, which assigns responses to the calls in sent.
type ConnQueue[R any] struct {
	pool *Pool[R]
	conf *Config[R]
	load atomic.Int64  // calls in both lists, and about to be added
	wake chan struct{} // wakes the waiting writer

	mu     lockorder.Mutex[lockorder.ConnQueue] // guards the following fields
	queue  list[R]
	sent   list[R]
	queued int // bytes in queue
	waited int // calls in both lists whose callers still wait
	writer writerPhase

	// about the connection
	conn          *clientconn.Conn // nil if there is none
	state         http1.ClientConn
	writeDeadline writeDeadline
	wrote         uint64        // bytes handed over for sending
	written       uint64        // bytes that were sent
	answered      int           // responses received on it
	idleSince     time.Duration // on clock.Monotonic

	// learned from earlier connections
	window    int // largest number of calls in sent
	together  int // calls that were in queue for the last batch
	failures  int // consecutive connections without a response, or failed attempts to connect
	notBefore time.Time

	timer *time.Timer // the writer's, nil before the first time
}

// writerPhase is the state of the writer of a ConnQueue.
type writerPhase uint8

const (
	writerAbsent   writerPhase = iota // there is none
	writerWorks                       // it checks the lists before it waits
	writerWaits                       // it must be woken after changes
	writerBypassed                    // it waits, and a caller writes instead
	writerNeeded                      // it must be woken when that caller has written
)

// writeDeadline is the kind of deadline of a write.
type writeDeadline uint8

const (
	deadlineNormal writeDeadline = iota // WriteTimeout applies
	deadlineEarly                       // a shorter deadline: the response arrived during the write
	deadlinePast                        // the same deadline still, but that request was written
)

// enqueue adds a call that load already counts, and makes sure that it is sent: by the writer,
// or by enqueue itself, which may therefore wait for the write of a Patient call. It reports
// whether there was room.
func (l *ConnQueue[R]) enqueue(call *Call[R]) bool {
	l.mu.Lock()
	if l.queue.n >= l.conf.MaxPending {
		l.mu.Unlock()
		return false
	}
	call.connQueue = l
	l.queue.push(call)
	l.queued += len(call.Out)
	l.waited++
	switch {
	case l.writer == writerAbsent:
		l.writer = writerWorks
		go l.run()
	case l.mayWriteInline(call):
		l.writeInline(call)
	default:
		l.signal()
	}
	l.mu.Unlock()
	return true
}

// signal wakes the writer if it waits, as soon as no caller writes instead. The mutex is held.
func (l *ConnQueue[R]) signal() {
	switch l.writer {
	case writerWaits:
		l.writer = writerWorks
		l.wake <- struct{}{}
	case writerBypassed:
		l.writer = writerNeeded
	}
}

// await makes the writer wait for changes, or for the timer, and reports whether the timer
// fired first. The mutex is held before and after the wait.
func (l *ConnQueue[R]) await(timer *time.Timer) (expired bool) {
	l.writer = writerWaits
	l.mu.Unlock()
	select {
	case <-l.wake:
		l.mu.Lock()
		return false
	case <-timer.C:
	}
	l.mu.Lock()
	if l.writer == writerWaits {
		l.writer = writerWorks
		return true
	}
	// it was woken meanwhile, or will be when a caller has written
	l.signal()
	l.mu.Unlock()
	<-l.wake
	l.mu.Lock()
	return true
}

// end removes a call from its list and gives it its result. The mutex is held.
func (l *ConnQueue[R]) end(call *Call[R], err error) {
	l.unlink(call)
	l.load.Add(-1)
	if call.finish(err) {
		l.waited--
	}
}

func (l *ConnQueue[R]) unlink(call *Call[R]) {
	queued := call.links.list == &l.queue
	call.links.list.remove(call)
	if queued {
		l.queued -= len(call.Out)
		l.pool.signalRoom()
	}
}

// abandon records that the caller has given up the call. A call that was sent keeps its place,
// since its response will arrive; but if no caller waits for any response of the connection,
// the connection is closed, so that later calls need not wait.
func (l *ConnQueue[R]) abandon(call *Call[R]) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waited--
	if call.links.list == &l.queue {
		l.end(call, nil)
		l.signal()
	}
	if l.waited == 0 && l.sent.n > 0 && l.conn != nil {
		l.state.Advance(http1.SendStops)
		_ = l.conn.CloseNet()
		l.signal()
	}
}

// run is the writer.
func (l *ConnQueue[R]) run() {
	out := bufpool.Get(l.conf.WriteSize)
	defer func() { bufpool.Put(out) }()
	for {
		conn, reader := l.connect()
		if conn == nil {
			return
		}
		l.mu.Lock()
		l.state.Open()
		l.state.Advance(http1.SendsRequest)
		l.state.Advance(http1.AwaitsResponse)
		l.conn, l.writeDeadline = conn, deadlineNormal
		l.wrote, l.written, l.answered = 0, 0, 0
		l.idleSince = clock.Monotonic()
		l.mu.Unlock()

		read := make(chan error, 1)
		go func() {
			err := reader()
			l.readerEnded(conn)
			read <- err
		}()
		l.send(conn, out)
		l.requeueUnsent(conn, <-read)
		if cap(out.B) > maxKeptRequest {
			bufpool.Put(out)
			out = bufpool.Get(l.conf.WriteSize)
		}
	}
}

// connect returns a connection, or nil if no remaining call needs one: then the writer ends.
// Calls that wait while an attempt fails fail with it.
func (l *ConnQueue[R]) connect() (conn *clientconn.Conn, read func() error) {
	for {
		if !l.mayConnect() {
			return nil, nil
		}
		conn, read, err := l.conf.Connect(l)
		if err == nil {
			return conn, read
		}
		l.mu.Lock()
		l.backOff()
		for l.queue.n > 0 {
			l.end(l.queue.first, err)
		}
		l.mu.Unlock()
	}
}

// mayConnect waits until it is time to connect, and reports whether a call still
// needs it.
func (l *ConnQueue[R]) mayConnect() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.queue.n > 0 {
		wait := time.Until(l.notBefore)
		if wait <= 0 {
			return true
		}
		timer := l.startTimer(wait)
		l.await(timer)
		timer.Stop()
	}
	l.writer = writerAbsent
	return false
}

// startTimer returns a timer, which the caller stops.
func (l *ConnQueue[R]) startTimer(d time.Duration) *time.Timer {
	if l.timer == nil {
		l.timer = time.NewTimer(d)
	} else {
		l.timer.Reset(d)
	}
	return l.timer
}

const (
	minBackoff = 10 * time.Millisecond
	maxBackoff = time.Second
)

// backOff delays the next attempt to connect: by twice the last delay, give or take a quarter,
// so that many clients do not reconnect at the same moment. The mutex is held.
func (l *ConnQueue[R]) backOff() {
	wait := min(minBackoff<<min(l.failures, 10), maxBackoff)
	l.failures++
	l.notBefore = time.Now().Add(wait*3/4 + rand.N(wait/2))
}

// send sends the calls in queue until the connection ends.
func (l *ConnQueue[R]) send(conn *clientconn.Conn, out *bufpool.Buffer) {
	idle := time.NewTimer(l.conf.MaxIdle)
	defer idle.Stop()
	for l.nextBatch(conn, out, idle) {
		n, err := conn.WriteCaught(out.B)
		if n == len(out.B) && err == nil {
			continue
		}
		l.mu.Lock()
		l.sendFailed(conn, n, err)
		l.mu.Unlock()
		return
	}
}

// sendFailed accounts for a write that has ended after n bytes. The mutex is held.
func (l *ConnQueue[R]) sendFailed(conn *clientconn.Conn, n int, err error) {
	l.written += uint64(n)
	l.wrote = l.written
	event := http1.SendFails
	if netio.IsTimeout(err) {
		if l.writeDeadline != deadlineEarly {
			event = http1.SendTimesOut
		}
		_ = conn.CloseNet()
	}
	l.state.Advance(event)
	// responses may have arrived before the connection broke
	_ = conn.Guard.LimitRead(time.Now().Add(l.conf.DrainingTime))
}

// sendEnded accounts for a write that has written all bytes. The mutex is held.
func (l *ConnQueue[R]) sendEnded() {
	l.written = l.wrote
	if l.writeDeadline == deadlineEarly {
		l.writeDeadline = deadlinePast
	}
	if l.state.Sending() == http1.SendingLast {
		l.state.Advance(http1.SendEnds)
	}
}

// nextBatch waits for calls, moves them to sent and their bytes to out. It reports whether
// there is something to send. If not, there never will be on this connection.
func (l *ConnQueue[R]) nextBatch(conn *clientconn.Conn, out *bufpool.Buffer, idle *time.Timer) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	// the last batch was written to its end
	l.sendEnded()
	for {
		switch {
		case !l.state.MaySend():
			return false
		case l.queue.n > 0 && l.sent.n < l.window:
			l.collect()
			if !l.state.MaySend() || l.queue.n == 0 {
				continue
			}
			if l.isStale(conn) {
				l.state.Advance(http1.SendStops)
				_ = conn.CloseNet()
				return false
			}
			l.batch(conn, out)
			return true
		}
		if !l.await(idle) {
			continue
		}
		rest := l.conf.MaxIdle
		if l.load.Load() == 0 {
			rest -= clock.Monotonic() - l.idleSince
		}
		if rest <= 0 {
			l.state.Advance(http1.SendStops)
			_ = conn.CloseNet()
			return false
		}
		idle.Reset(rest)
	}
}

// collect waits for more calls to send together, if so configured.
func (l *ConnQueue[R]) collect() {
	if l.conf.MaxBatchDelay <= 0 {
		l.gather()
		return
	}
	timer := l.startTimer(l.conf.MaxBatchDelay)
	defer timer.Stop()
	for l.state.MaySend() && l.queue.n > 0 && l.queue.n < l.window-l.sent.n && l.queued < l.conf.WriteSize {
		if l.await(timer) {
			return
		}
	}
}

// gather runs goroutines that are about to add a call, if there may be some: the last batch
// had several calls, or others wait for responses, which may have arrived by now. A write
// costs more than that. Otherwise batches of one call each would never end: each call would
// arrive while the one before it is written. The mutex is held when gather is called and when
// it returns.
func (l *ConnQueue[R]) gather() {
	if l.queue.n < l.together || l.sent.n > 0 {
		l.mu.Unlock()
		runtime.Gosched()
		l.mu.Lock()
	}
	l.together = l.queue.n
}

// isStale reports whether the server has closed the idle connection, or has sent unsolicited
// bytes. The reader will notice, but it may not have run yet. With TLS only the reader knows
// whether bytes are content.
func (l *ConnQueue[R]) isStale(conn *clientconn.Conn) bool {
	if l.sent.n > 0 {
		return false
	}
	state := conn.Probe.Check()
	return state == clientconn.Ended || state == clientconn.Readable && !conn.IsTLS()
}

// batch moves calls from queue to sent. The mutex is held.
func (l *ConnQueue[R]) batch(conn *clientconn.Conn, out *bufpool.Buffer) {
	out.B = out.B[:0]
	l.beginSend(conn)
	for size := l.conf.WriteSize; l.queue.n > 0 && l.sent.n < l.window && l.state.MaySend(); {
		if next := len(l.queue.first.Out); len(out.B) > 0 && len(out.B)+next > size {
			break
		}
		out.B = append(out.B, l.sendFirst().Out...)
	}
	l.pool.signalRoom()
}

// beginSend sets the deadlines for calls that are about to be moved to sent and written. The
// mutex is held.
func (l *ConnQueue[R]) beginSend(conn *clientconn.Conn) {
	if l.sent.n == 0 {
		l.expect(conn)
	}
	if timeout := l.conf.WriteTimeout; timeout > 0 {
		_ = conn.Guard.LimitWrite(time.Now().Add(timeout))
	} else if l.writeDeadline != deadlineNormal {
		_ = conn.Guard.LimitWrite(time.Time{})
	}
	l.writeDeadline = deadlineNormal
}

// sendFirst moves the first call of queue to sent. The mutex is held.
func (l *ConnQueue[R]) sendFirst() *Call[R] {
	call := l.queue.shift()
	l.sent.push(call)
	l.queued -= len(call.Out)
	l.wrote += uint64(len(call.Out))
	call.end = l.wrote
	if call.Closes {
		l.state.Advance(http1.SendsLast)
	}
	return call
}

// expect sets the deadline for the next response. The mutex is held.
func (l *ConnQueue[R]) expect(conn *clientconn.Conn) {
	if timeout := l.conf.ReadTimeout; timeout > 0 && !l.state.Draining() {
		_ = conn.Guard.LimitRead(time.Now().Add(timeout))
	}
}

// Next returns the call for the next response, or nil if there is none. Only the reader may
// call it and the methods below.
func (l *ConnQueue[R]) Next() *Call[R] {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sent.first
}

// Respond ends the first call, whose response is complete. closes means that this response is
// the last one of the connection. It returns the call for the next response, or nil if none
// was sent so far.
func (l *ConnQueue[R]) Respond(closes bool) (next *Call[R]) {
	l.mu.Lock()
	conn := l.conn
	if l.writeDeadline != deadlineEarly && l.sent.first.end > l.written {
		// the server may not want the rest of the request being written
		l.writeDeadline = deadlineEarly
		_ = conn.Guard.ShortenWrite(time.Now().Add(l.conf.EarlyTime))
	}
	l.end(l.sent.first, nil)
	l.answered++
	l.failures = 0
	full := l.sent.n+1 >= l.window
	if limit := l.conf.MaxPending; l.window < limit && l.answered >= l.window {
		l.window = min(2*l.window, limit)
	}
	if closes {
		l.state.Advance(http1.LastResponseEnds)
	}
	switch {
	case l.sent.n > 0:
		l.expect(conn)
	case l.conf.ReadTimeout > 0 && !l.state.Draining():
		_ = conn.Guard.LimitRead(time.Time{})
		fallthrough
	default:
		l.idleSince = clock.Monotonic()
	}
	if full && l.queue.n > 0 || closes {
		l.signal()
	}
	next = l.sent.first
	l.mu.Unlock()
	return next
}

// Fail ends the first call with err, since its response cannot be read.
func (l *ConnQueue[R]) Fail(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.sent.n > 0 {
		l.end(l.sent.first, err)
	}
}

// Expire is Fail for a response that did not arrive in time.
func (l *ConnQueue[R]) Expire() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.sent.n > 0 && !l.state.Draining() {
		l.end(l.sent.first, l.conf.ErrTimeout)
	}
}

// readerEnded records that the reader has ended. The connection ends with it: otherwise the writer
// would wait for a server whose responses are not read.
func (l *ConnQueue[R]) readerEnded(conn *clientconn.Conn) {
	l.mu.Lock()
	l.state.Advance(http1.ReceiveFails)
	l.signal()
	l.mu.Unlock()
	_ = conn.CloseNet()
}

// requeueUnsent puts the calls that can be sent again back into the queue, and ends the others. err is
// the reason why the reader has ended.
func (l *ConnQueue[R]) requeueUnsent(conn *clientconn.Conn, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.conn = nil
	_ = conn.Close()
	for call := l.sent.first; call != nil; {
		next := call.links.next
		if call.isAbandoned() {
			l.end(call, nil)
		}
		call = next
	}
	if l.sent.n == 0 {
		return
	}
	if l.answered == 0 {
		l.backOff()
	}
	l.window = max(l.answered, 1)
	if err == io.EOF {
		err = l.conf.ErrClosed
	} else {
		err = fmt.Errorf("%w: %w", l.conf.ErrClosed, err)
	}
	overdue := l.state.Sending() == http1.SendTimedOut
	var last *Call[R]
	for l.sent.n > 0 {
		call := l.sent.first
		if overdue && call.end > l.wrote {
			overdue = false
			l.end(call, l.conf.ErrTimeout)
			continue
		}
		if !l.mayResend(call) {
			l.end(call, err)
			continue
		}
		l.unlink(call)
		l.queue.insert(call, last)
		l.queued += len(call.Out)
		last = call
	}
}

// mayResend reports whether a call without any part of a response can be sent again: nothing
// of it was written, the server has announced that it reads no more requests, or sending it
// twice does no harm. The mutex is held.
func (l *ConnQueue[R]) mayResend(call *Call[R]) bool {
	if l.answered == 0 && l.failures >= l.conf.MaxFailures {
		return false
	}
	return call.Idempotent || l.state.Receiving() == http1.Received || call.end-uint64(len(call.Out)) >= l.wrote
}
