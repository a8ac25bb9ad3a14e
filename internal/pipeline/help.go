package pipeline

import (
	"io"

	"github.com/valyala/fasthttp/internal/clientconn"
)

// mayHelp reports whether the caller writes the call itself, in the place of the writer: it
// is the only one, as it was the last time, and it waits as long as it takes. That saves
// waking a goroutine. Calls that come together are better written together, and during a long
// write the response may come. The mutex is held.
func (l *Lane[R]) mayHelp(call *Call[R]) bool {
	return call.Patient && len(call.Out) <= l.conf.WriteSize && l.writer == writerWaits && l.conn != nil && l.load.Load() == 1 &&
		l.together <= 1 && l.conf.MaxBatchDelay <= 0 && l.state.MaySend() && !l.isStale(l.conn)
}

// help writes the call, which is the only one in queue. Meanwhile the writer goes on to wait,
// so the connection stays what it is. The mutex is held, but not during the write.
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
			// An application's connection has panicked, or ended the goroutine. What it has
			// written is not known, so the call is given up before anybody sends it again.
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
