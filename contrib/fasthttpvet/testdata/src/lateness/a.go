// Package lateness has faults: memory of requests of fasthttp that outlives its handler.
package lateness

import (
	"bufio"
	"bytes"
	"container/list"
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/valyala/fasthttp"
	"golang.org/x/sync/errgroup"
	"keeper"
)

func use(...any)                         {}
func work(ctx context.Context, s string) {}

func goCapturesContext(ctx *fasthttp.RequestCtx) {
	go func() { // want `ctx \(\*fasthttp.RequestCtx\) is used by a goroutine`
		use(ctx.PostBody())
	}()
}

func goCapturesBody(ctx *fasthttp.RequestCtx) {
	body := ctx.PostBody()
	go func() { // want `the result of PostBody is used by a goroutine`
		use(body)
	}()
}

func goWithArgument(ctx *fasthttp.RequestCtx) {
	go use(ctx.Request.Header.Peek("X-Id")) // want `the result of Peek is used by a goroutine`
}

func goWithContextAsContext(ctx *fasthttp.RequestCtx) {
	go work(ctx, "x") // want `ctx \(\*fasthttp.RequestCtx\) is used by a goroutine`
}

func goWithDerivedContext(ctx *fasthttp.RequestCtx) {
	c, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	go work(c, "x") // want `ctx \(\*fasthttp.RequestCtx\) is used by a goroutine`
}

func goWithContextValue(ctx *fasthttp.RequestCtx) {
	go work(context.WithValue(ctx, "k", "v"), "x") // want `is used by a goroutine`
}

func goWithSubslice(ctx *fasthttp.RequestCtx) {
	first, _, _ := bytes.Cut(ctx.PostBody(), []byte(","))
	trimmed := bytes.TrimSpace(first)
	go use(trimmed[1:]) // want `the result of PostBody is used by a goroutine`
}

func goWithArgs(ctx *fasthttp.RequestCtx) {
	args := ctx.QueryArgs()
	go func() { // want `the result of QueryArgs is used by a goroutine`
		use(args.Peek("a"))
	}()
}

func goWithRequest(ctx *fasthttp.RequestCtx) {
	req := &ctx.Request
	go func() { // want `ctx \(\*fasthttp.RequestCtx\) is used by a goroutine`
		use(req.Body())
	}()
}

func goWithMethodValue(ctx *fasthttp.RequestCtx) {
	f := ctx.SetStatusCode
	go f(200) // want `ctx \(\*fasthttp.RequestCtx\) is used by a goroutine`
}

func bytesToString(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

func oldBytesToString(b []byte) string { return *(*string)(unsafe.Pointer(&b)) }

func goWithUnsafeString(ctx *fasthttp.RequestCtx) {
	go work(context.Background(), bytesToString(ctx.Path())) // want `the result of Path is used by a goroutine`
}

func goWithOldUnsafeString(ctx *fasthttp.RequestCtx) {
	s := strings.TrimPrefix(oldBytesToString(ctx.Path()), "/")
	go func() { // want `the result of Path is used by a goroutine`
		use(s)
	}()
}

type job struct {
	id   int
	body []byte
}

func goWithStruct(ctx *fasthttp.RequestCtx) {
	j := job{id: 1, body: ctx.PostBody()}
	go use(&j) // want `the result of PostBody is used by a goroutine`
}

func newJob(ctx *fasthttp.RequestCtx) *job { return &job{body: ctx.PostBody()} }

func goWithResultOfHelper(ctx *fasthttp.RequestCtx) {
	j := newJob(ctx)
	go use(j) // want `the result of PostBody is used by a goroutine|is used by a goroutine`
}

func goWithCopyTooLate(ctx *fasthttp.RequestCtx) {
	body := ctx.PostBody()
	go func() { // want `the result of PostBody is used by a goroutine`
		use(bytes.Clone(body))
	}()
}

func goThatIsAwaitedSometimes(ctx *fasthttp.RequestCtx) {
	done := make(chan struct{})
	go func() { // want `ctx \(\*fasthttp.RequestCtx\) is used by a goroutine`
		use(ctx.Path())
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(time.Second):
		ctx.SetStatusCode(504)
	}
}

func groupThatIsNotAwaited(ctx *fasthttp.RequestCtx) {
	var g errgroup.Group
	g.Go(func() error { // want `is used by a goroutine`
		use(ctx.Path())
		return nil
	})
}

func timerCallback(ctx *fasthttp.RequestCtx) {
	id := ctx.Request.Header.Peek("X-Id")
	time.AfterFunc(time.Minute, func() { use(id) }) // want `the result of Peek is used by a function that AfterFunc may call`
}

func streamWriter(ctx *fasthttp.RequestCtx) {
	ctx.SetBodyStreamWriter(func(w *bufio.Writer) { // want `ctx \(\*fasthttp.RequestCtx\) is used by the producer of the body`
		w.Write(ctx.PostBody())
	})
}

func streamWriterWithBody(ctx *fasthttp.RequestCtx) {
	body := ctx.RequestBodyStream()
	ctx.SetBodyStreamWriter(func(w *bufio.Writer) { // want `the result of RequestBodyStream is used by the producer of the body`
		w.ReadFrom(body)
	})
}

func duplexWithPath(ctx *fasthttp.RequestCtx) {
	ctx.EnableFullDuplex()
	path := ctx.Path()
	ctx.SetBodyStreamWriter(func(w *bufio.Writer) { // want `the result of Path is used by the producer of the body`
		w.Write(path)
	})
}

func streamWriterWithSlice(ctx *fasthttp.RequestCtx) {
	name := ctx.QueryArgs().Peek("name")
	ctx.SetBodyStreamWriter(func(w *bufio.Writer) { // want `the result of Peek is used by the producer of the body`
		w.Write(name)
	})
}

var queue = make(chan []byte, 10)

func sends(ctx *fasthttp.RequestCtx) {
	queue <- ctx.PostBody() // want `the result of PostBody is sent on a channel`
}

var jobs = make(chan *job)

func sendsInSelect(ctx *fasthttp.RequestCtx) {
	select {
	case jobs <- &job{body: ctx.PostBody()}: // want `the result of PostBody is sent on a channel`
	default:
	}
}

func sendsToLocalWorker(ctx *fasthttp.RequestCtx) {
	c := make(chan []byte, 1)
	go func() { use(<-c) }()
	c <- ctx.PostBody() // want `the result of PostBody is sent on a channel`
}

var (
	last     []byte
	lastCtx  context.Context
	byPath   = map[string][]byte{}
	seen     sync.Map
	current  atomic.Value
	history  = list.New()
	pathKeys = map[string]int{}
)

func storesInGlobal(ctx *fasthttp.RequestCtx) {
	last = ctx.PostBody() // want `the result of PostBody is stored in the global variable last`
}

func storesContextInGlobal(ctx *fasthttp.RequestCtx) {
	lastCtx = ctx // want `ctx \(\*fasthttp.RequestCtx\) is stored in the global variable lastCtx`
}

func storesInGlobalMap(ctx *fasthttp.RequestCtx) {
	byPath[string(ctx.Path())] = ctx.PostBody() // want `the result of PostBody is stored in the global variable byPath`
}

func storesAsKey(ctx *fasthttp.RequestCtx) {
	pathKeys[bytesToString(ctx.Path())]++ // want `the result of Path is stored in the global variable pathKeys`
}

func storesInSyncMap(ctx *fasthttp.RequestCtx) {
	seen.Store("last", ctx.PostBody()) // want `the result of PostBody is stored in the global variable seen`
}

func storesInAtomic(ctx *fasthttp.RequestCtx) {
	current.Store(ctx.PostBody()) // want `the result of PostBody is stored in the global variable current`
}

func storesInList(ctx *fasthttp.RequestCtx) {
	history.PushBack(ctx.PostBody()) // want `the result of PostBody is stored in the global variable history`
}

type server struct {
	mu    sync.Mutex
	last  []byte
	users map[string][]byte
	log   [][]byte
}

func (s *server) handle(ctx *fasthttp.RequestCtx) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = ctx.PostBody()           // want `the result of PostBody is stored in s, which outlives the handler`
	s.users["x"] = ctx.PostBody()     // want `the result of PostBody is stored in s, which outlives the handler`
	s.log = append(s.log, ctx.Path()) // want `the result of Path is stored in s, which outlives the handler`
}

func (s *server) remember(b []byte) { s.last = b }

func (s *server) handleByHelper(ctx *fasthttp.RequestCtx) {
	s.remember(ctx.PostBody()) // want `the result of PostBody is stored in s, which outlives the handler`
}

func factory() fasthttp.RequestHandler {
	var previous []byte
	use(&previous)
	cache := map[string][]byte{}
	return func(ctx *fasthttp.RequestCtx) {
		previous = ctx.PostBody()              // want `the result of PostBody is stored in previous, which outlives the handler`
		cache[ctx.URI().String()] = ctx.Path() // want `the result of Path is stored in cache, which outlives the handler`
	}
}

func storesFieldsOfVisit(ctx *fasthttp.RequestCtx) {
	ctx.Request.Header.VisitAll(func(key, value []byte) {
		byPath[string(key)] = value // want `the result of VisitAll is stored in the global variable byPath`
	})
}

func storesFieldsOfRange(ctx *fasthttp.RequestCtx) {
	for key, value := range ctx.Request.Header.All() {
		byPath[string(key)] = value // want `the result of All is stored in the global variable byPath`
	}
}

func passesToKeeper(ctx *fasthttp.RequestCtx) {
	keeper.Keep(ctx.PostBody()) // want `the result of PostBody is passed to Keep, which keeps it`
}

func passesToAsync(ctx *fasthttp.RequestCtx) {
	async(ctx.PostBody()) // want `the result of PostBody is passed to async, which keeps it`
}

func async(b []byte) {
	go use(b)
}

func literalHelper(ctx *fasthttp.RequestCtx) {
	later := func(b []byte) { go use(b) }
	later(ctx.PostBody()) // want `the result of PostBody is passed to .*, which keeps it`
}

type wrapped struct {
	*fasthttp.RequestCtx
	n int
}

func goWithWrapper(c *wrapped) {
	go func() { // want `c \(\*lateness.wrapped\) is used by a goroutine`
		use(c.PostBody())
	}()
}

func goWithFile(ctx *fasthttp.RequestCtx) {
	file, err := ctx.FormFile("f")
	if err != nil {
		return
	}
	go use(file) // want `the result of FormFile is used by a goroutine`
}
