package pipeline

import (
	"io"

	"github.com/valyala/fasthttp/internal/clientconn"
)

// mayWriteInline reports whether the caller writes the call itself, instead of the writer. It does
// if the call is the only one, as the last one was, and the caller waits without limit. That
// saves waking a goroutine. Concurrent calls are better written together, and the response
// may arrive during a long write. The mutex is held.
func (l *ConnQueue[R]) mayWriteInline(call *Call[R]) bool {
	return call.Patient && len(call.Out) <= l.conf.WriteSize && l.writer == writerWaits && l.conn != nil && l.load.Load() == 1 &&
		l.together <= 1 && l.conf.MaxBatchDelay <= 0 && l.state.MaySend() && !l.isStale(l.conn)
}

// writeInline writes the call, which is the only one in queue. Meanwhile the writer continues to
// wait, so the connection does not change. The mutex is held, but not during the write.
func (l *ConnQueue[R]) writeInline(call *Call[R]) {
	conn := l.conn
	l.writer = writerBypassed
	l.beginSend(conn)
	l.sendFirst()
	l.pool.signalRoom()
	l.mu.Unlock()
	returned := false
	defer func() {
		if !returned {
			// An application's connection has panicked, or ended the goroutine. It is unknown
			// how much was written, so the call is given up before it could be sent again.
			_ = call.Abandon(io.ErrShortWrite)
			l.mu.Lock()
			l.inlineWritten(conn, call, 0, io.ErrShortWrite)
			l.mu.Unlock()
		}
	}()
	n, err := conn.Write(call.Out)
	returned = true
	l.mu.Lock()
	l.inlineWritten(conn, call, n, err)
}

// inlineWritten accounts for the write of writeInline, and wakes the writer if it is needed. The mutex is
// held.
func (l *ConnQueue[R]) inlineWritten(conn *clientconn.Conn, call *Call[R], n int, err error) {
	ended := n == len(call.Out) && err == nil
	if ended {
		l.sendEnded()
	} else {
		l.sendFailed(conn, n, err)
	}
	needed := l.writer == writerNeeded || !ended
	if l.writer = writerWaits; needed {
		l.signal()
	}
}
