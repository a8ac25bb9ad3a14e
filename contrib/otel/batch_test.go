package otelfasthttp

import (
	"context"
	"errors"
	"math"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/valyala/fasthttp/internal/servertest"
	"go.opentelemetry.io/otel"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
)

// handled has the errors that the handler of package otel gets, which is set once in a process.
var handled = func() chan error {
	errs := make(chan error, 100)
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		select {
		case errs <- err:
		default:
		}
	}))
	return errs
}()

// batches is an exporter that remembers the sizes of batches.
type batches struct {
	mu       sync.Mutex
	sizes    []int
	deadline time.Duration // of the last export
	shut     int
	err      error
	hangs    chan struct{} // if it is not nil, an export waits for it, or for its context
}

func (e *batches) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	e.mu.Lock()
	e.sizes = append(e.sizes, len(spans))
	if end, ok := ctx.Deadline(); ok {
		e.deadline = time.Until(end)
	}
	e.mu.Unlock()
	for _, s := range spans {
		if s == nil {
			return errors.New("there is no span")
		}
	}
	if e.hangs != nil {
		select {
		case <-e.hangs:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return e.err
}

func (e *batches) Shutdown(context.Context) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.shut++
	return nil
}

func (e *batches) exported() (sum int, sizes []int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, n := range e.sizes {
		sum += n
	}
	return sum, e.sizes
}

// endSpans ends n spans.
func endSpans(b *SpanBatcher, n int) {
	tracer := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(b)).Tracer("test")
	for range n {
		_, span := tracer.Start(context.Background(), "span")
		span.End()
	}
}

func TestFullBatchesAreExportedAtOnce(t *testing.T) {
	servertest.Bubble(t, func(t *testing.T) {
		e := new(batches)
		b := NewSpanBatcher(e, SpanBatcherOptions{MaxQueueSize: 100, MaxExportBatchSize: 10, ScheduleDelay: time.Hour})
		began := time.Now()
		for range 5 {
			endSpans(b, 10)
			synctest.Wait()
		}
		endSpans(b, 7)
		synctest.Wait()
		if sum, sizes := e.exported(); sum != 50 || len(sizes) != 5 || time.Since(began) != 0 {
			t.Errorf("after %v the batches are %v", time.Since(began), sizes)
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if sum, sizes := e.exported(); sum != 57 || len(sizes) != 6 || e.deadline != 30*time.Second {
			t.Errorf("after an hour the batches are %v, with a limit of %v", sizes, e.deadline)
		}
		endSpans(b, 25)
		if err := b.ForceFlush(t.Context()); err != nil {
			t.Error(err)
		}
		if sum, sizes := e.exported(); sum != 82 {
			t.Errorf("after ForceFlush the batches are %v", sizes)
		}
		endSpans(b, 3)
		for range 2 {
			if err := b.Shutdown(t.Context()); err != nil {
				t.Error(err)
			}
		}
		if sum, sizes := e.exported(); sum != 85 || e.shut != 1 || b.Dropped() != 0 {
			t.Errorf("after Shutdown the batches are %v, and %d spans were dropped", sizes, b.Dropped())
		}
		endSpans(b, 1)
		if err := b.ForceFlush(t.Context()); err != nil || b.Dropped() != 1 {
			t.Errorf("after Shutdown: %v, %d spans were dropped", err, b.Dropped())
		}
	})
}

// TestExporterThatHangsDelaysNoSpan has an exporter that waits until it is canceled.
func TestExporterThatHangsDelaysNoSpan(t *testing.T) {
	servertest.Bubble(t, func(t *testing.T) {
		e := &batches{hangs: make(chan struct{})}
		b := NewSpanBatcher(e, SpanBatcherOptions{MaxQueueSize: 20, MaxExportBatchSize: 8, ScheduleDelay: time.Hour, ExportTimeout: -1})
		endSpans(b, 8)
		synctest.Wait() // 8 spans are being exported
		endSpans(b, 50)
		if b.Dropped() != 30 {
			t.Errorf("%d spans were dropped", b.Dropped())
		}
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := b.ForceFlush(short); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("ForceFlush returned %v", err)
		}
		again, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := b.Shutdown(again); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Shutdown returned %v", err)
		}
		<-b.ended
		if err := b.Shutdown(t.Context()); !errors.Is(err, context.Canceled) || e.shut != 1 {
			t.Errorf("Shutdown returned %v", err)
		}
		if sum, sizes := e.exported(); sum != 8 || b.Dropped() != 50 {
			t.Errorf("the batches are %v, and %d spans were dropped", sizes, b.Dropped())
		}
	})
}

func TestExportTakesNoLongerThanItsLimit(t *testing.T) {
	servertest.Bubble(t, func(t *testing.T) {
		e := &batches{hangs: make(chan struct{})}
		b := NewSpanBatcher(e, SpanBatcherOptions{ExportTimeout: 3 * time.Second})
		endSpans(b, 1)
		began := time.Now()
		if err := b.ForceFlush(t.Context()); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != 3*time.Second {
			t.Errorf("ForceFlush returned %v after %v", err, time.Since(began))
		}
		if err := b.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// TestShutdownLosesNoSpan ends spans in several goroutines while the exporter works and then ends.
func TestShutdownLosesNoSpan(t *testing.T) {
	const goroutines, each = 8, 2000
	e := tracetest.NewInMemoryExporter()
	exporter := &keeper{InMemoryExporter: e}
	b := NewSpanBatcher(exporter, SpanBatcherOptions{MaxQueueSize: 500, MaxExportBatchSize: 50})
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(b))
	tracer := provider.Tracer("test")
	var ending sync.WaitGroup
	for range goroutines {
		ending.Go(func() {
			for i := range each {
				_, span := tracer.Start(context.Background(), "span")
				span.End()
				if i%500 == 0 {
					_ = b.ForceFlush(context.Background())
				}
			}
		})
	}
	ending.Wait()
	if err := provider.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	seen := map[trace.SpanID]bool{}
	for _, s := range exporter.kept {
		seen[s.SpanContext.SpanID()] = true
	}
	if n := len(seen); n != len(exporter.kept) || n+int(b.Dropped()) != goroutines*each {
		t.Errorf("%d of %d spans were exported, %d of them once, and %d were dropped", len(exporter.kept), goroutines*each, n, b.Dropped())
	}
}

// keeper keeps the spans of an InMemoryExporter, which forgets them when it is shut down.
type keeper struct {
	*tracetest.InMemoryExporter
	kept tracetest.SpanStubs
}

func (k *keeper) Shutdown(ctx context.Context) error {
	k.kept = k.GetSpans()
	return k.InMemoryExporter.Shutdown(ctx)
}

func TestErrorsOfAnExporterAreReported(t *testing.T) {
	failed := errors.New("the exporter has failed")
	b := NewSpanBatcher(&batches{err: failed}, SpanBatcherOptions{MaxExportBatchSize: 2})
	endSpans(b, 1)
	if err := b.ForceFlush(t.Context()); !errors.Is(err, failed) {
		t.Errorf("ForceFlush returned %v", err)
	}
	endSpans(b, 2)
	for !errors.Is(servertest.Receive(t, "the error", handled), failed) {
		// errors of other tests
	}
	endSpans(b, 1)
	if err := b.Shutdown(t.Context()); !errors.Is(err, failed) {
		t.Errorf("Shutdown returned %v", err)
	}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	if err := b.ForceFlush(canceled); !errors.Is(err, context.Canceled) {
		t.Errorf("ForceFlush returned %v", err)
	}
}

func TestSpansThatAreNotSampledAreNotExported(t *testing.T) {
	e := new(batches)
	b := NewSpanBatcher(e, SpanBatcherOptions{})
	b.OnEnd(tracetest.SpanStub{SpanContext: trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{1}})}.Snapshot())
	if err := b.Shutdown(t.Context()); err != nil || len(e.sizes) != 0 || b.Dropped() != 0 {
		t.Errorf("the batches are %v: %v", e.sizes, err)
	}
}

func TestSettingsOfTheEnvironment(t *testing.T) {
	var o SpanBatcherOptions
	o.fill()
	if o != (SpanBatcherOptions{2048, 512, 5 * time.Second, 30 * time.Second}) {
		t.Errorf("the usual settings are %+v", o)
	}
	t.Setenv("OTEL_BSP_MAX_QUEUE_SIZE", "100")
	t.Setenv("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "200")
	t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "70")
	t.Setenv("OTEL_BSP_EXPORT_TIMEOUT", "90")
	o = SpanBatcherOptions{}
	o.fill()
	if o != (SpanBatcherOptions{100, 100, 70 * time.Millisecond, 90 * time.Millisecond}) {
		t.Errorf("the settings are %+v", o)
	}
	// such times mean never
	t.Setenv("OTEL_BSP_SCHEDULE_DELAY", strconv.Itoa(math.MaxInt))
	t.Setenv("OTEL_BSP_EXPORT_TIMEOUT", strconv.Itoa(math.MaxInt))
	o = SpanBatcherOptions{}
	if o.fill(); o.ScheduleDelay < 24*time.Hour || o.ExportTimeout < 24*time.Hour {
		t.Errorf("the longest times became %v and %v", o.ScheduleDelay, o.ExportTimeout)
	}
	o = SpanBatcherOptions{1, 2, 3, -4}
	if o.fill(); o != (SpanBatcherOptions{1, 1, 3, -4}) {
		t.Errorf("the settings of the program became %+v", o)
	}
	for _, wrong := range []string{"x", "0", "-1"} {
		t.Setenv("OTEL_BSP_MAX_QUEUE_SIZE", wrong)
		o = SpanBatcherOptions{}
		if o.fill(); o.MaxQueueSize != 2048 {
			t.Errorf("%q became %d", wrong, o.MaxQueueSize)
		}
		for !strings.Contains(servertest.Receive(t, "the error", handled).Error(), "OTEL_BSP_MAX_QUEUE_SIZE") {
			// errors of other tests
		}
	}
}

func TestSpanThatWaitsTakesNoMemory(t *testing.T) {
	b := NewSpanBatcher(new(batches), SpanBatcherOptions{MaxQueueSize: 50, MaxExportBatchSize: 50, ScheduleDelay: time.Hour})
	defer b.Shutdown(context.Background())
	span := tracetest.SpanStub{SpanContext: trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{1}, TraceFlags: trace.FlagsSampled})}.Snapshot()
	if n := testing.AllocsPerRun(40, func() { b.OnEnd(span) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
