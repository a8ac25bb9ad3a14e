package accesslog

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/valyala/fasthttp/internal/ascii"
)

const (
	// outputSize is the number of bytes after which output is written.
	outputSize = 16 << 10
	// reportInterval is the least time between two reports of dropped entries.
	reportInterval = 10 * time.Second
	// collectTime is how long entries wait for further ones: to wake the writer takes longer than to
	// log a request.
	collectTime = 5 * time.Millisecond
)

// writer is the goroutine that writes a log.
type writer struct {
	l       *Log
	queue   *queue
	handler slog.Handler // nil for the text formats
	batch   batch
	out     output // not written yet
	pending uint64 // entries in it
	date    []byte // of second, as the text formats have it
	second  int64

	err        error     // of Writer, not reported yet
	reported   uint64    // dropped entries that were reported
	reportedAt time.Time // when that was
}

// output is a buffer.
type output []byte

// Write appends p.
func (o *output) Write(p []byte) (int, error) {
	*o = append(*o, p...)
	return len(p), nil
}

func newWriter(l *Log) *writer {
	w := &writer{l: l, queue: &l.queue, handler: l.options.Handler}
	if w.handler == nil && l.options.Format == JSON {
		w.handler = slog.NewJSONHandler(&w.out, nil)
	}
	return w
}

// run writes until the queue is closed.
func (w *writer) run() {
	defer close(w.queue.ended)
	collected := time.NewTimer(collectTime)
	defer collected.Stop()
	collected.Stop()
	for {
		select {
		case <-w.queue.wake:
			collected.Reset(collectTime)
			continue
		case <-collected.C:
			w.drain()
		case <-w.queue.hurry:
			w.drain()
		case done := <-w.queue.flush:
			w.drain()
			close(done)
		case <-w.queue.closing:
			w.drain()
			w.report(true)
			return
		}
		w.report(false)
	}
}

// drain writes the entries that wait.
func (w *writer) drain() {
	w.queue.swap(&w.batch)
	failures, rest := w.batch.failures, w.batch.texts
	for i := range w.batch.entries {
		e := &w.batch.entries[i]
		var values [texts][]byte
		for j, n := range e.lengths {
			values[j], rest = rest[:n], rest[n:]
		}
		var failed failure
		if e.kind&kindFailed != 0 {
			failed, failures = failures[0], failures[1:]
		}
		w.entry(e, &values, failed)
		if w.pending++; len(w.out) >= outputSize {
			w.write()
		}
	}
	w.write()
	w.batch.clear()
}

// write writes the output.
func (w *writer) write() {
	out, entries := w.out, w.pending
	w.out, w.pending = w.out[:0], 0
	if len(out) == 0 {
		return
	}
	defer w.recoverPanic(entries)
	if _, err := w.l.options.Writer.Write(out); err != nil {
		w.fail(err, entries)
	}
}

// fail records why entries are not written.
func (w *writer) fail(err error, entries uint64) {
	w.err = err
	w.queue.dropped.Add(entries)
}

// recoverPanic is deferred around the code of the application: a log must not end the program.
func (w *writer) recoverPanic(entries uint64) {
	if p := recover(); p != nil {
		w.fail(fmt.Errorf("panic: %v\n%s", p, debug.Stack()), entries)
	}
}

// report logs how many entries were dropped.
func (w *writer) report(last bool) {
	dropped := w.l.Dropped()
	if dropped == w.reported || !last && !w.reportedAt.IsZero() && time.Since(w.reportedAt) < reportInterval {
		return
	}
	attrs := []slog.Attr{slog.Uint64("entries", dropped-w.reported)}
	if w.err != nil {
		attrs = append(attrs, slog.Any("error", w.err))
	}
	w.reported, w.reportedAt, w.err = dropped, time.Now(), nil
	defer w.recoverPanic(0)
	w.l.options.Logger.LogAttrs(context.Background(), slog.LevelWarn, "accesslog: entries were dropped", attrs...)
}

// entry formats an entry.
func (w *writer) entry(e *entry, values *[texts][]byte, failed failure) {
	if w.handler != nil {
		w.record(e, values, failed)
		return
	}
	out := appendAddr(w.out, e, values[textZone])
	out = append(out, " - - ["...)
	out = w.appendDate(out, e)
	out = append(out, `] "`...)
	if e.protocol == protocolUnknown {
		out = append(out, '-')
	} else {
		out = appendEscaped(out, values[textMethod])
		out = append(out, ' ')
		out = w.l.secrets.appendURL(out, values[textTarget])
		out = append(out, ' ')
		out = append(out, protocols[e.protocol]...)
	}
	out = append(out, `" `...)
	switch {
	case e.status == 0:
		out = append(out, '-')
	case e.status > 0:
		out = ascii.AppendUint(out, int(e.status))
	default:
		out = strconv.AppendInt(out, int64(e.status), 10)
	}
	out = append(out, ' ')
	if e.bytes >= 0 && e.bytes <= math.MaxInt32 {
		out = ascii.AppendUint(out, int(e.bytes))
	} else {
		// an int may be smaller
		out = strconv.AppendInt(out, max(e.bytes, 0), 10)
	}
	if w.l.options.Format == Combined {
		out = append(out, ` "`...)
		if referer := values[textReferer]; len(referer) > 0 {
			out = w.l.secrets.appendURL(out, referer)
		} else {
			out = append(out, missing...)
		}
		out = append(out, `" "`...)
		out = appendEscaped(out, orMissing(values[textAgent]))
		out = append(out, '"')
	}
	if w.l.options.IDField != "" {
		out = append(out, ` "`...)
		out = appendEscaped(out, orMissing(values[textID]))
		out = append(out, '"')
	}
	w.out = append(out, '\n')
}

var missing = []byte("-")

func orMissing(value []byte) []byte {
	if len(value) == 0 {
		return missing
	}
	return value
}

func appendAddr(dst []byte, e *entry, zone []byte) []byte {
	switch {
	case e.kind&kindIPv4 != 0:
		return ascii.AppendIPv4(dst, [4]byte(e.addr[12:]))
	case e.kind&kindIPv6 == 0:
		return append(dst, '-')
	}
	return e.client(zone).AppendTo(dst)
}

// appendDate appends the time of an entry, which usually has the second of the last one.
func (w *writer) appendDate(dst []byte, e *entry) []byte {
	if e.second != w.second || w.date == nil {
		w.second = e.second
		w.date = e.at().AppendFormat(w.date[:0], "02/Jan/2006:15:04:05 -0700")
	}
	return append(dst, w.date...)
}

// record passes an entry to the handler.
func (w *writer) record(e *entry, values *[texts][]byte, failed failure) {
	defer w.recoverPanic(1)
	level := slog.LevelInfo
	switch {
	case e.status >= 500:
		level = slog.LevelError
	case failed.err != nil:
		level = slog.LevelWarn
	}
	ctx := context.Background()
	if !w.handler.Enabled(ctx, level) {
		return
	}
	r := slog.NewRecord(e.at(), level, "request", 0)
	text := func(key string, value []byte) {
		if len(value) > 0 {
			r.AddAttrs(slog.String(key, string(value)))
		}
	}
	if client := e.client(values[textZone]); client.IsValid() {
		r.AddAttrs(slog.String("client", client.String()))
	}
	text("method", appendEscaped(nil, values[textMethod]))
	text("target", w.l.secrets.appendURL(nil, values[textTarget]))
	text("protocol", []byte(protocols[e.protocol]))
	r.AddAttrs(slog.Int("status", int(e.status)), slog.Int64("bytes", e.bytes), slog.Duration("duration", e.taken))
	text("referer", w.l.secrets.appendURL(nil, values[textReferer]))
	text("user_agent", appendEscaped(nil, values[textAgent]))
	text("id", appendEscaped(nil, values[textID]))
	if failed.refused != nil {
		r.AddAttrs(slog.String("refused", failed.refused.Error()))
	}
	if failed.err != nil {
		r.AddAttrs(slog.String("error", failed.err.Error()))
	}
	if err := w.handler.Handle(ctx, r); err != nil {
		w.fail(err, 1)
	}
}
