package otelfasthttp

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"
	"sync"
	"time"

	"go.opentelemetry.io/otel"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// SpanBatcherOptions has the settings of a SpanBatcher. A zero field has the value of an
// environment variable, or else the default of the specification.
type SpanBatcherOptions struct {
	// MaxQueueSize is how many spans can wait; OTEL_BSP_MAX_QUEUE_SIZE, or 2048. Further spans are
	// dropped.
	MaxQueueSize int

	// MaxExportBatchSize is how many spans are exported at once, and how many that wait begin an
	// export; OTEL_BSP_MAX_EXPORT_BATCH_SIZE, or 512. It is MaxQueueSize at most.
	MaxExportBatchSize int

	// ScheduleDelay is the time between two exports if fewer spans wait; OTEL_BSP_SCHEDULE_DELAY in
	// milliseconds, or 5 seconds.
	ScheduleDelay time.Duration

	// ExportTimeout is how long an export may take; OTEL_BSP_EXPORT_TIMEOUT in milliseconds, or 30
	// seconds. A negative value means no limit.
	ExportTimeout time.Duration
}

// SpanBatcher is a SpanProcessor of the SDK, for sdk/trace.WithSpanProcessor. It gives ended spans to
// an exporter in batches, as sdk/trace.WithBatcher does, but wakes its goroutine for a full batch
// instead of each span. Spans that are not sampled are not exported.
type SpanBatcher struct {
	exporter sdktrace.SpanExporter
	options  SpanBatcherOptions
	full     chan struct{}      // has an element when a batch is full
	flush    chan chan<- error  // each channel gets the result of an export of all spans
	closing  chan struct{}      // closed by Shutdown
	ended    chan struct{}      // closed by the goroutine
	stop     context.CancelFunc // ends the exports
	stopped  context.Context    // of the exports

	mu      sync.Mutex
	closed  bool
	dropped uint64
	err     error           // of Shutdown
	end     context.Context // of Shutdown
	ring    []sdktrace.ReadOnlySpan
	first   int // the index in ring of the span that has waited longest
	waiting int // spans in ring
}

var _ sdktrace.SpanProcessor = (*SpanBatcher)(nil)

// NewSpanBatcher returns a SpanBatcher, and starts its goroutine, which Shutdown ends. The
// TracerProvider calls Shutdown when it is shut down.
func NewSpanBatcher(exporter sdktrace.SpanExporter, o SpanBatcherOptions) *SpanBatcher {
	o.fill()
	b := &SpanBatcher{
		exporter: exporter, options: o,
		full: make(chan struct{}, 1), flush: make(chan chan<- error),
		closing: make(chan struct{}), ended: make(chan struct{}),
		ring: make([]sdktrace.ReadOnlySpan, o.MaxQueueSize),
	}
	b.stopped, b.stop = context.WithCancel(context.Background())
	go b.run()
	return b
}

// fill sets the fields that are 0.
func (o *SpanBatcherOptions) fill() {
	o.MaxQueueSize = firstPositive(o.MaxQueueSize, "OTEL_BSP_MAX_QUEUE_SIZE", sdktrace.DefaultMaxQueueSize)
	o.MaxExportBatchSize = min(firstPositive(o.MaxExportBatchSize, "OTEL_BSP_MAX_EXPORT_BATCH_SIZE", sdktrace.DefaultMaxExportBatchSize), o.MaxQueueSize)
	if o.ScheduleDelay <= 0 {
		o.ScheduleDelay = milliseconds("OTEL_BSP_SCHEDULE_DELAY", sdktrace.DefaultScheduleDelay)
	}
	if o.ExportTimeout == 0 {
		o.ExportTimeout = milliseconds("OTEL_BSP_EXPORT_TIMEOUT", sdktrace.DefaultExportTimeout)
	}
}

// milliseconds returns the time in an environment variable, or the usual one. A time beyond any
// Duration becomes the longest.
func milliseconds(variable string, usual int) time.Duration {
	n := int64(firstPositive(0, variable, usual))
	return time.Duration(min(n, math.MaxInt64/int64(time.Millisecond))) * time.Millisecond
}

// firstPositive returns the first positive value: set, the one of an environment variable, or usual.
func firstPositive(set int, variable string, usual int) int {
	if set > 0 {
		return set
	}
	text := os.Getenv(variable)
	if text == "" {
		return usual
	}
	n, err := strconv.Atoi(text)
	if err == nil && n <= 0 {
		err = errors.New("it must be positive")
	}
	if err != nil {
		otel.Handle(fmt.Errorf("otelfasthttp: %s is %q, and %d is used: %w", variable, text, usual, err))
		return usual
	}
	return n
}

// Dropped returns how many spans were not given to the exporter: MaxQueueSize spans have waited
// already, or the SpanBatcher was shut down.
func (b *SpanBatcher) Dropped() uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.dropped
}

// OnStart does nothing. It is a method of SpanProcessor.
func (b *SpanBatcher) OnStart(context.Context, sdktrace.ReadWriteSpan) {}

// OnEnd makes a span wait for its export, or drops it. It is a method of SpanProcessor.
func (b *SpanBatcher) OnEnd(s sdktrace.ReadOnlySpan) {
	if !s.SpanContext().IsSampled() {
		return
	}
	b.mu.Lock()
	n := b.waiting
	if b.closed || n == len(b.ring) {
		b.dropped++
		b.mu.Unlock()
		return
	}
	at := b.first + n
	if at >= len(b.ring) {
		at -= len(b.ring)
	}
	b.ring[at] = s
	b.waiting = n + 1
	b.mu.Unlock()
	if n+1 == b.options.MaxExportBatchSize {
		select {
		case b.full <- struct{}{}:
		default:
		}
	}
}

// ForceFlush exports the spans that have ended, and returns the errors of the exporter. If ctx
// ends first, it returns the error of ctx, and the export continues.
func (b *SpanBatcher) ForceFlush(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	result := make(chan error, 1)
	select {
	case b.flush <- result:
	case <-b.closing:
		return nil // Shutdown does the same
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	select {
	case err := <-result:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Shutdown exports the spans that have ended, and shuts the exporter down. If ctx ends first, it
// returns the error of ctx, and the context of the export is canceled: the spans that still wait are
// dropped. Further spans are dropped as well, and further calls return the same result.
func (b *SpanBatcher) Shutdown(ctx context.Context) error {
	b.mu.Lock()
	if !b.closed {
		b.closed, b.end = true, ctx
		close(b.closing)
	}
	b.mu.Unlock()
	select {
	case <-b.ended:
		b.mu.Lock()
		defer b.mu.Unlock()
		return b.err
	case <-ctx.Done():
		b.stop()
		return context.Cause(ctx)
	}
}

// run exports batches until Shutdown is called.
func (b *SpanBatcher) run() {
	defer close(b.ended)
	defer b.stop()
	timer := time.NewTimer(b.options.ScheduleDelay)
	defer timer.Stop()
	batch := make([]sdktrace.ReadOnlySpan, 0, b.options.MaxExportBatchSize)
	for {
		select {
		case <-b.full:
			// the last spans of a part of a batch wait for others
			report(b.export(batch, b.count()/cap(batch)*cap(batch)))
		case <-timer.C:
			report(b.export(batch, b.count()))
		case result := <-b.flush:
			result <- b.export(batch, b.count())
		case <-b.closing:
			err := errors.Join(b.export(batch, b.count()), b.exporter.Shutdown(b.end))
			b.mu.Lock()
			b.err = err
			b.mu.Unlock()
			return
		}
		if b.count() >= cap(batch) {
			select {
			case b.full <- struct{}{}: // spans that have ended meanwhile
			default:
			}
		}
		timer.Reset(b.options.ScheduleDelay)
	}
}

func report(err error) {
	if err != nil {
		otel.Handle(err)
	}
}

// count returns how many spans wait.
func (b *SpanBatcher) count() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.waiting
}

// export exports n spans that wait, in batches. batch is memory for them.
func (b *SpanBatcher) export(batch []sdktrace.ReadOnlySpan, n int) (err error) {
	var canceled error
	for n > 0 {
		batch = b.take(batch[:0], min(n, cap(batch)))
		n -= len(batch)
		if canceled = b.stopped.Err(); canceled != nil {
			b.mu.Lock()
			b.dropped += uint64(len(batch))
			b.mu.Unlock()
		} else {
			err = errors.Join(err, b.exportBatch(batch))
		}
		clear(batch)
	}
	return errors.Join(err, canceled)
}

// exportBatch gives spans to the exporter.
func (b *SpanBatcher) exportBatch(batch []sdktrace.ReadOnlySpan) error {
	ctx := b.stopped
	if limit := b.options.ExportTimeout; limit > 0 {
		limited, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		ctx = limited
	}
	return b.exporter.ExportSpans(ctx, batch)
}

// take moves n spans that wait to batch.
func (b *SpanBatcher) take(batch []sdktrace.ReadOnlySpan, n int) []sdktrace.ReadOnlySpan {
	b.mu.Lock()
	defer b.mu.Unlock()
	for range n {
		at := &b.ring[b.first]
		batch, *at = append(batch, *at), nil
		if b.first++; b.first == len(b.ring) {
			b.first = 0
		}
	}
	b.waiting -= n
	return batch
}
