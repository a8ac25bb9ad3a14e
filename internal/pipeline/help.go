package pipeline

import (
	"io"

	"github.com/valyala/fasthttp/internal/clientconn"
)

// mayHelp reports whether the caller writes the call itself, instead of the writer. It does
// if the call is the only one, as the last one was, and the caller waits without limit. That
// saves waking a goroutine. Concurrent calls are better written together, and the response
// may arrive during a long write. The mutex is held.
func (l *Lane[R]) mayHelp(call *Call[R]) bool {
	return call.Patient && len(call.Out) <= l.conf.WriteSize && l.writer == writerWaits && l.conn != nil && l.load.Load() == 1 &&
		l.together <= 1 && l.conf.MaxBatchDelay <= 0 && l.state.MaySend() && !l.isStale(l.conn)
}

// help writes the call, which is the only one in queue. Meanwhile the writer continues to
// wait, so the connection does not change. The mutex is held, but not during the write.
func (l *Lane[R]) help(call *Call[R]) {
	conn := l.conn
	l.writer = writerHelped
	l.beginSend(conn)
	l.sendFirst()
	l.all.signalRoom()
	l.mu.Unlock()
	returned := false
	defer func() {
		if !returned {
			// An application's connection has panicked, or ended the goroutine. It is unknown
			// how much was written, so the call is given up before it could be sent again.
			_ = call.Leave(io.ErrShortWrite)
			l.mu.Lock()
			l.helped(conn, call, 0, io.ErrShortWrite)
			l.mu.Unlock()
		}
	}()
	n, err := conn.Write(call.Out)
	returned = true
	l.mu.Lock()
	l.helped(conn, call, n, err)
}

// helped accounts for the write of help, and wakes the writer if it is needed. The mutex is
// held.
func (l *Lane[R]) helped(conn *clientconn.Conn, call *Call[R], n int, err error) {
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
