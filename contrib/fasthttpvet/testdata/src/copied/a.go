// Package copied has correct programs with fasthttp.
package copied

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
	"unsafe"

	"github.com/valyala/fasthttp"
	"golang.org/x/sync/errgroup"
	"keeper"
)

func use(...any)                         {}
func work(ctx context.Context, s string) {}

func clones(ctx *fasthttp.RequestCtx) {
	body := bytes.Clone(ctx.PostBody())
	go func() { use(body) }()
}

func appends(ctx *fasthttp.RequestCtx) {
	body := append([]byte(nil), ctx.PostBody()...)
	go use(body)
}

func appendsToEmpty(ctx *fasthttp.RequestCtx) {
	body := append([]byte{}, ctx.PostBody()...)
	queue <- body
}

func clonesWithSlices(ctx *fasthttp.RequestCtx) {
	go use(slices.Clone(ctx.PostBody()))
}

func converts(ctx *fasthttp.RequestCtx) {
	path := string(ctx.Path())
	go func() { use(path) }()
}

func convertsBack(ctx *fasthttp.RequestCtx) {
	go use([]byte(string(ctx.Path())))
}

func formats(ctx *fasthttp.RequestCtx) {
	go use(fmt.Sprintf("%s", ctx.Path()))
}

func clonesUnsafeString(ctx *fasthttp.RequestCtx) {
	b := ctx.Path()
	s := strings.Clone(unsafe.String(unsafe.SliceData(b), len(b)))
	go use(s)
}

func reassigns(ctx *fasthttp.RequestCtx) {
	body := ctx.PostBody()
	body = bytes.Clone(body)
	go func() { use(body) }()
}

func copiesIntoSlice(ctx *fasthttp.RequestCtx) {
	body := make([]byte, len(ctx.PostBody()))
	copy(body, ctx.PostBody())
	go use(body)
}

func copiesHeader(ctx *fasthttp.RequestCtx) {
	var h fasthttp.RequestHeader
	ctx.Request.Header.CopyTo(&h)
	go func() { use(h.Peek("a")) }()
}

func copiesRequest(ctx *fasthttp.RequestCtx) {
	req := new(fasthttp.Request)
	ctx.Request.CopyTo(req)
	go use(req)
}

func numbers(ctx *fasthttp.RequestCtx) {
	id, n := ctx.ID(), len(ctx.PostBody())
	go func() { use(id, n) }()
}

func stringsOfMethods(ctx *fasthttp.RequestCtx) {
	uri := ctx.URI().String()
	go use(uri)
}

func userValues(ctx *fasthttp.RequestCtx) {
	db, _ := ctx.UserValue("db").(*os.File)
	go use(db)
}

func awaits(ctx *fasthttp.RequestCtx) {
	var wg sync.WaitGroup
	for range 3 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			use(ctx.Path())
		}()
	}
	wg.Wait()
}

func awaitsByGo(ctx *fasthttp.RequestCtx) {
	var wg sync.WaitGroup
	wg.Go(func() { use(ctx.Path()) })
	wg.Wait()
}

func awaitsGroup(ctx *fasthttp.RequestCtx) error {
	var g errgroup.Group
	g.Go(func() error { use(ctx.Path()); return nil })
	return g.Wait()
}

func awaitsDeferred(ctx *fasthttp.RequestCtx) {
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Add(1)
	go func() { defer wg.Done(); use(ctx.Path()) }()
}

func awaitsChannel(ctx *fasthttp.RequestCtx) {
	done := make(chan error, 1)
	go func() { use(ctx.PostBody()); done <- nil }()
	if err := <-done; err != nil {
		ctx.SetStatusCode(500)
	}
}

func awaitsSeveral(ctx *fasthttp.RequestCtx) {
	results := make(chan []byte, 3)
	for i := range 3 {
		go func() { results <- ctx.PostBody()[i:] }()
	}
	for range 3 {
		use(<-results)
	}
}

func awaitsInSelect(ctx *fasthttp.RequestCtx) {
	done := make(chan struct{})
	go func() { use(ctx.Path()); close(done) }()
	select {
	case <-done:
	case <-time.After(time.Second):
		<-done
	}
}

func leavesToGoroutine(ctx *fasthttp.RequestCtx) {
	done := make(chan struct{})
	go func() { use(ctx.Path()); close(done) }()
	select {
	case <-done:
	case <-time.After(time.Second):
		ctx.TimeoutError("too slow")
	}
}

func leave(ctx *fasthttp.RequestCtx) { ctx.TimeoutError("too slow") }

func leavesByHelper(ctx *fasthttp.RequestCtx) {
	done := make(chan struct{})
	go func() { use(ctx.Path()); close(done) }()
	select {
	case <-done:
	case <-time.After(time.Second):
		leave(ctx)
	}
}

type task struct {
	body []byte
	done chan struct{}
}

var tasks = make(chan *task)

func awaitsWorker(ctx *fasthttp.RequestCtx) {
	t := &task{ctx.PostBody(), make(chan struct{})}
	tasks <- t
	<-t.done
}

func otherContext(ctx *fasthttp.RequestCtx) {
	path := string(ctx.Path())
	c, cancel := context.WithTimeout(context.Background(), time.Second)
	go func() { defer cancel(); work(c, path) }()
}

func stopsTimer(ctx *fasthttp.RequestCtx) {
	timer := time.AfterFunc(time.Second, func() { use(ctx.Path()) })
	defer timer.Stop()
	use(ctx.PostBody())
}

func streamWriter(ctx *fasthttp.RequestCtx) {
	name := string(ctx.QueryArgs().Peek("name"))
	ctx.SetBodyStreamWriter(func(w *bufio.Writer) { w.WriteString(name) })
}

var queue = make(chan []byte, 1)

func localChannel(ctx *fasthttp.RequestCtx) {
	c := make(chan []byte, 1)
	c <- ctx.PostBody()
	use(<-c)
}

var names = map[string]int{}

func copiesKey(ctx *fasthttp.RequestCtx) {
	names[string(ctx.Path())]++
}

func localMap(ctx *fasthttp.RequestCtx) {
	fields := map[string][]byte{}
	for key, value := range ctx.Request.Header.All() {
		fields[string(key)] = value
	}
	ctx.Request.Header.VisitAll(func(key, value []byte) { fields[string(key)] = value })
	use(fields)
}

func attaches(ctx *fasthttp.RequestCtx) {
	ctx.SetUserValue("body", ctx.PostBody())
	ctx.Response.SetBodyRaw(ctx.PostBody())
}

type params struct{ name, path []byte }

func (p *params) read(ctx *fasthttp.RequestCtx, key string) { p.name = ctx.QueryArgs().Peek(key) }

func fillsOwnStruct(ctx *fasthttp.RequestCtx) {
	var p params
	p.read(ctx, "name")
	p.path = ctx.Path()
	use(p.name)
}

type server struct {
	last []byte
	pool sync.Pool
}

func (s *server) handle(ctx *fasthttp.RequestCtx) {
	s.last = append(s.last[:0], ctx.PostBody()...)
	p := s.pool.Get().(*params)
	p.name = ctx.Path()
	use(p)
	p.name = nil
	s.pool.Put(p)
}

type scoped struct {
	ctx *fasthttp.RequestCtx
	log io.Writer
}

func goWithOtherField(ctx *fasthttp.RequestCtx) {
	s := scoped{ctx: ctx, log: os.Stdout}
	go use(s.log)
	use(s.ctx)
}

func passesCopy(ctx *fasthttp.RequestCtx) {
	keeper.KeepCopy(ctx.PostBody())
	use(keeper.First(ctx.PostBody()))
}

func defers(ctx *fasthttp.RequestCtx) {
	defer func() { use(ctx.Path()) }()
}

func middleware(next fasthttp.RequestHandler) fasthttp.RequestHandler {
	return func(ctx *fasthttp.RequestCtx) { next(ctx) }
}

func background(ctx *fasthttp.RequestCtx) {
	logger := ctx.UserValue("logger")
	go func() { use(logger) }()
}

func clientInGoroutine(req *fasthttp.Request) {
	go func() { use(req.Body()) }()
}

func pathTwice(ctx *fasthttp.RequestCtx) {
	var path []byte
	if ctx.ID() > 0 {
		path = bytes.Clone(ctx.Path())
	} else {
		path = []byte("/")
	}
	go func() { use(path) }()
}

var client fasthttp.Client

func releasesDeferred(uri string) (string, error) {
	req, resp := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
	defer fasthttp.ReleaseRequest(req)
	defer fasthttp.ReleaseResponse(resp)
	req.SetRequestURI(uri)
	if err := client.Do(req, resp); err != nil {
		return "", fmt.Errorf("call: %w", err)
	}
	return string(resp.Body()), nil
}

func releasesByLiteral(uri string) (body []byte, err error) {
	req := fasthttp.AcquireRequest()
	resp := fasthttp.AcquireResponse()
	defer func() {
		fasthttp.ReleaseRequest(req)
		fasthttp.ReleaseResponse(resp)
	}()
	if err = client.Do(req, resp); err != nil {
		return nil, err
	}
	return append(body, resp.Body()...), nil
}

func releasesOnEachPath(uri string) error {
	req := fasthttp.AcquireRequest()
	if uri == "" {
		fasthttp.ReleaseRequest(req)
		return errors.New("no uri")
	}
	req.SetRequestURI(uri)
	fasthttp.ReleaseRequest(req)
	return nil
}

func handsOver() *fasthttp.Request {
	req := fasthttp.AcquireRequest()
	req.SetRequestURI("http://a/")
	return req
}

type holder struct{ req *fasthttp.Request }

func storesInHolder() *holder { return &holder{req: fasthttp.AcquireRequest()} }

func (h *holder) close() { fasthttp.ReleaseRequest(h.req) }

func copiesBeforeRelease() []byte {
	resp := fasthttp.AcquireResponse()
	body := bytes.Clone(resp.Body())
	fasthttp.ReleaseResponse(resp)
	return body
}

func acquiresAnother(uris []string) {
	for _, uri := range uris {
		req := fasthttp.AcquireRequest()
		req.SetRequestURI(uri)
		fasthttp.ReleaseRequest(req)
	}
}

func finish(resp *fasthttp.Response) { fasthttp.ReleaseResponse(resp) }

func releasesByHelper() int {
	resp := fasthttp.AcquireResponse()
	defer finish(resp)
	return resp.StatusCode()
}

func panics(uri string) {
	args := fasthttp.AcquireArgs()
	if uri == "" {
		panic("no uri")
	}
	fasthttp.ReleaseArgs(args)
}

func setsBodyCopied(ctx *fasthttp.RequestCtx) {
	resp := fasthttp.AcquireResponse()
	defer fasthttp.ReleaseResponse(resp)
	ctx.Response.SetBody(resp.Body())
}

func closesStream(req *fasthttp.Request) error {
	var resp fasthttp.Response
	if err := client.Do(req, &resp); err != nil {
		return err
	}
	defer resp.CloseBodyStream()
	_, err := io.Copy(os.Stdout, resp.BodyStream())
	return err
}

func releasesStream(req *fasthttp.Request) error {
	resp := fasthttp.AcquireResponse()
	defer fasthttp.ReleaseResponse(resp)
	_, err := io.Copy(os.Stdout, resp.BodyStream())
	return err
}

func closesByItself(req *fasthttp.Request) error {
	resp := new(fasthttp.Response)
	stream := resp.BodyStream()
	if closer, ok := stream.(io.Closer); ok {
		defer closer.Close()
	}
	_, err := io.Copy(os.Stdout, stream)
	return err
}

func asksForStream() bool {
	resp := new(fasthttp.Response)
	return resp.BodyStream() != nil
}

// echoes is a proxy of one: with EnableFullDuplex the producer may read the request.
func echoes(ctx *fasthttp.RequestCtx) {
	ctx.EnableFullDuplex()
	body := ctx.RequestBodyStream()
	ctx.SetBodyStreamWriter(func(w *bufio.Writer) { w.ReadFrom(body) })
}

// assertsConn returns the stream, after a look at it for a message.
func assertsConn(req *fasthttp.Request) (io.Closer, error) {
	resp := new(fasthttp.Response)
	if err := client.Do(req, resp); err != nil {
		return nil, err
	}
	conn, ok := resp.BodyStream().(io.Closer)
	if !ok {
		return nil, fmt.Errorf("the body is a %T", resp.BodyStream())
	}
	return conn, nil
}

func forwardsStream(ctx *fasthttp.RequestCtx) { use(ctx.Response.BodyStream()) }
