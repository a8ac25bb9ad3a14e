package fronts

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/compat/internal/process"
	"github.com/valyala/fasthttp/compat/internal/serving"
)

// service is a server that records its requests.
type service struct {
	mu    sync.Mutex
	seen  []string            // the requests that handlers have received, in order
	conns map[string][]string // the same by connection
	whole map[string]bool     // the targets whose responses were sent without an error, if recordSent was called
}

// recordSent makes a server record which responses it has sent. v1.77.0 has no hook for that.
func (s *service) recordSent(server *fasthttp.Server) {
	s.whole = make(map[string]bool)
	hook := reflect.ValueOf(server).Elem().FieldByName("ResponseSent")
	hook.Set(reflect.MakeFunc(hook.Type(), func(args []reflect.Value) []reflect.Value {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.whole[string(args[0].Interface().(*fasthttp.RequestCtx).RequestURI())] = args[1].FieldByName("Err").IsNil()
		return nil
	}))
}

// hasSent reports whether the response to a target was sent without an error.
func (s *service) hasSent(target string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.whole[target]
}

// trailers are the methods of RequestHeader for trailers in this version.
type trailers interface{ PeekTrailer(name string) []byte }

func (s *service) serve(ctx *fasthttp.RequestCtx) {
	h := &ctx.Request.Header
	target, path := string(ctx.RequestURI()), string(ctx.Path())
	unread := strings.Contains(path, "/unread")
	var body []byte
	var err error
	switch stream := ctx.RequestBodyStream(); {
	case stream == nil:
		body = ctx.PostBody()
	case !unread:
		body, err = io.ReadAll(stream)
	}
	if err != nil {
		// the body is malformed; a server that buffers bodies does not call the
		// handler then
		ctx.Error("no request", fasthttp.StatusBadRequest)
		ctx.SetConnectionClose()
		return
	}
	s.note(ctx.RemoteAddr().String(), message(string(ctx.Method()), target, body))
	out := &ctx.Response.Header
	out.Set("X-Target", target)
	out.Set("X-Path", path)
	for _, name := range []string{"X-Real-Ip", "X-Team", "X-Role", "X-Auth-User", "X-Sum"} {
		out.Add("X-Fields", fmt.Sprintf("%s=%s", name, bytes.Join(h.PeekAll(name), []byte(","))))
		out.Add("X-Trailers", fmt.Sprintf("%s=%s", name, any(h).(trailers).PeekTrailer(name)))
	}
	n, _ := strconv.Atoi(string(ctx.QueryArgs().Peek("n")))
	if strings.Contains(path, "/close") {
		ctx.SetConnectionClose()
	}
	switch answer := bytes.Repeat([]byte("0123456789"), n/10); {
	case strings.Contains(path, "/204"):
		ctx.SetStatusCode(fasthttp.StatusNoContent)
	case strings.Contains(path, "/304"):
		ctx.SetStatusCode(fasthttp.StatusNotModified)
	case strings.Contains(path, "/stream"):
		ctx.SetBodyStream(bytes.NewReader(answer), -1)
	case strings.Contains(path, "/trailers"):
		_ = out.SetTrailer("X-End")
		out.Set("X-End", "yes")
		ctx.SetBody(answer)
	default:
		ctx.SetBody(answer)
	}
}

func (s *service) note(conn, request string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = append(s.seen, request)
	s.conns[conn] = append(s.conns[conn], request)
}

// targets returns the targets of its requests that begin with prefix.
func (s *service) targets(prefix string) (targets []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, request := range s.seen {
		if target := strings.Fields(request)[1]; strings.HasPrefix(target, prefix) {
			targets = append(targets, target)
		}
	}
	return targets
}

// setup is a way to serve.
type setup struct {
	name             string
	stream, portable bool
	configure        func(s *fasthttp.Server)
}

var setups = []setup{
	{name: "event"},
	{name: "event, streams", stream: true},
	{name: "portable", portable: true},
	{name: "portable, streams", portable: true, stream: true},
}

// skipOriginal skips a test if it is built with v1.77.0, which lacks the feature.
func skipOriginal(t *testing.T) {
	t.Helper()
	serving.SkipOriginal(t, "these are no tests for v1.77.0")
}

// eachPair runs a test with every front before every kind of server, and then checks
// that front and server agree.
func eachPair(t *testing.T, configure func(s *fasthttp.Server), test func(t *testing.T, f *front, s *service, dial func() *client)) {
	skipOriginal(t)
	for i := range fronts {
		f := &fronts[i]
		for _, how := range setups {
			t.Run(f.name+"/"+how.name, func(t *testing.T) {
				t.Parallel()
				s := &service{conns: make(map[string][]string)}
				server := &fasthttp.Server{Handler: s.serve, StreamRequestBody: how.stream, Logger: logger{t}}
				if configure != nil {
					configure(server)
				}
				addr, shutDown := serving.Start(t, server, serving.Options{Portable: how.portable})
				tap := newTap(t, addr)
				var stop func() string
				in := ""
				defer func() {
					log := ""
					if stop != nil {
						log = stop()
					}
					conns := tap.close()
					shutDown()
					s.checkConns(t, conns)
					s.checkLog(t, log)
				}()
				in, stop = f.start(t, tap.ln.Addr().String())
				test(t, f, s, func() *client { return dial(t, in) })
			})
		}
	}
}

// logger logs the lines of the server in the test. The requests may be malformed, so
// they do not fail it.
type logger struct{ t *testing.T }

func (l logger) Printf(format string, args ...any) { l.t.Logf("the server logs: "+format, args...) }

// checkConns checks, for each connection of a front, that the server has seen the
// same requests as the front has sent, up to the first refused one.
func (s *service) checkConns(t *testing.T, conns []*tappedConn) {
	t.Helper()
	for _, c := range conns {
		sent, methods, whole := c.requests()
		seen := s.conns[c.from]
		delete(s.conns, c.from)
		statuses := c.statuses(methods)
		refused := len(statuses) == len(seen)+1 && statuses[len(seen)] >= 400
		// the handler may have left a body unread
		for i := range min(len(sent), len(seen)) {
			if strings.Contains(sent[i], "/unread") {
				sent[i] = message(methods[i], strings.Fields(sent[i])[1], nil)
			}
			if strings.Contains(seen[i], "/unread") {
				seen[i] = message(methods[i], strings.Fields(seen[i])[1], nil)
			}
		}
		switch {
		case len(seen) > len(sent) || !slices.Equal(sent[:len(seen)], seen):
			t.Errorf("the front has sent\n%s\nthe server has seen\n%s\nof %.2000q", strings.Join(sent, "\n"), strings.Join(seen, "\n"), c.sent.Bytes())
		case len(seen) < len(sent) && !refused && !strings.Contains(strings.Join(seen, " "), "/close"):
			t.Errorf("the server has not seen, and not refused, %q of %.2000q: it answered %d", sent[len(seen):], c.sent.Bytes(), statuses)
		case !whole && len(statuses) > len(seen) && !refused:
			t.Errorf("the server has answered %d to %.2000q", statuses, c.sent.Bytes())
		}
	}
	for conn, seen := range s.conns {
		t.Errorf("the server has seen %q on a connection from %s, which is none of the front's", seen, conn)
	}
}

// checkLog checks that the handler ran once for each request that the front has sent
// and got a response for, and not more often.
func (s *service) checkLog(t *testing.T, log string) {
	t.Helper()
	calls := make(map[string]int)
	for _, request := range s.seen {
		calls[strings.Fields(request)[1]]++
	}
	for line := range strings.Lines(log) {
		fields := strings.Fields(line)
		if len(fields) < 3 || fields[0] != "sent" || fields[1] >= "400" || !strings.HasPrefix(fields[2], "/") {
			continue
		}
		if strings.ContainsAny(fields[2], `\#`) {
			// the log of the front escapes some bytes in another way
			continue
		}
		calls[fields[2]]--
	}
	for target, n := range calls {
		// if the client has left, the log has another status
		if n < 0 {
			t.Errorf("the front has an answer for %s that no handler has given", target)
		}
	}
}

// client is a client of the front end.
type client struct {
	net.Conn
	t *testing.T
	r *bufio.Reader
}

func dial(t *testing.T, addr string) *client {
	t.Helper()
	c, err := net.Dial("tcp4", addr)
	if err != nil {
		t.Fatal(err)
	}
	_ = c.SetDeadline(time.Now().Add(process.Patience))
	t.Cleanup(func() { _ = c.Close() })
	return &client{c, t, bufio.NewReader(c)}
}

func (c *client) send(raw string) {
	c.t.Helper()
	// the front may close the connection before all bytes are sent
	_, _ = io.WriteString(c, raw)
}

// reply is the response to a request with the method. err is set if there is none.
type reply struct {
	*http.Response
	body string
}

func (c *client) next(method string) (reply, error) {
	for {
		resp, err := http.ReadResponse(c.r, &http.Request{Method: method})
		if err != nil {
			return reply{}, err
		}
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			return reply{}, err
		}
		if resp.StatusCode >= 200 {
			return reply{resp, string(body)}, nil
		}
	}
}

func TestFrontsAndServersAgreeOnRequests(t *testing.T) {
	eachPair(t, nil, func(t *testing.T, _ *front, s *service, dial func() *client) { askSound(t, s, dial) })
}

// askSound sends the sound requests, some rounds on one connection.
func askSound(t *testing.T, s *service, dial func() *client) {
	t.Helper()
	if target, err := trySound(t, s, dial); err != nil {
		t.Fatalf("%s: %v", target, err)
	}
}

// trySound is askSound that returns the target of a response that does not arrive.
func trySound(t *testing.T, s *service, dial func() *client) (target string, err error) {
	t.Helper()
	c := dial()
	for round := range 3 {
		var raw strings.Builder
		for i, e := range sound {
			raw.WriteString(e.raw(fmt.Sprintf("/%d-%d", round, i)))
		}
		go c.send(raw.String())
		for i, e := range sound {
			target := fmt.Sprintf("/%d-%d%s", round, i, e.target)
			resp, err := c.next(e.method)
			if err != nil {
				return target, err
			}
			if got := resp.Header.Get("X-Target"); got != target || resp.StatusCode != e.status {
				t.Fatalf("%s: got %d of %s", target, resp.StatusCode, got)
			}
			if len(resp.body) != e.size {
				t.Fatalf("%s: got %d bytes, want %d", target, len(resp.body), e.size)
			}
		}
	}
	if got := s.targets(""); len(got) != 3*len(sound) {
		t.Errorf("the server has seen %d requests, want %d: %q", len(got), 3*len(sound), got)
	}
	return "", nil
}

// If a front end takes some bytes for one request, the server does so, too, however
// odd they are, and every response belongs to its request.
func TestFrontsAndServersAgreeOnOddRequests(t *testing.T) {
	eachPair(t, nil, func(t *testing.T, _ *front, s *service, dial func() *client) {
		// many at once, because a front may wait for more bytes
		var wg sync.WaitGroup
		next := make(chan int)
		for range 32 {
			wg.Go(func() {
				for i := range next {
					askOdd(t, &odd[i], i, s, dial())
				}
			})
		}
		for i := range odd {
			next <- i
		}
		close(next)
		wg.Wait()
	})
}

func askOdd(t *testing.T, e *oddCase, id int, s *service, c *client) {
	prefix := fmt.Sprintf("/%d/", id)
	c.send(strings.ReplaceAll(e.raw, "/ID/", prefix) + last(id))
	var got []string
	for {
		resp, err := c.next("POST")
		if err != nil {
			break
		}
		switch target := resp.Header.Get("X-Target"); {
		case strings.HasPrefix(target, prefix):
			got = append(got, target)
		case target == "" && resp.StatusCode < 400:
			t.Errorf("%s: got %d from the front", e.name, resp.StatusCode)
		}
	}
	_ = c.Close()
	want := s.targets(prefix)
	// a response may be lost if the connection ends with the odd request
	if len(got) > len(want) || !slices.Equal(got, want[:len(got)]) || len(got) < len(want)-1 {
		t.Errorf("%s: the answers are those of %q, and the server was asked for %q", e.name, got, want)
	}
}

// Fields that a front sets or deletes stay that way, whatever trailers arrive.
func TestTrailersBringInNoFields(t *testing.T) {
	const fields = "X-Real-Ip=192.0.2.1 X-Team=front X-Role= X-Auth-User= "
	rows := []struct {
		name, announced, trailers string
		fields, came              string // if the front forwards trailers
		refused                   bool
	}{
		{"nothing", "", "", fields + "X-Sum=", "X-Real-Ip= X-Team= X-Role= X-Auth-User= X-Sum=", false},
		{"not announced", "", "X-Team: evil\r\nX-Role: evil\r\nX-Sum: 1\r\n", fields + "X-Sum=", "X-Real-Ip= X-Team=evil X-Role=evil X-Auth-User= X-Sum=1", false},
		{"announced", "Trailer: X-Team, X-Sum\r\n", "X-Team: evil\r\nX-Role: evil\r\nX-Sum: 1\r\n", fields + "X-Sum=1", "X-Real-Ip= X-Team=evil X-Role=evil X-Auth-User= X-Sum=1", false},
		{"announced, and none come", "Trailer: X-Real-Ip, X-Team\r\n", "", fields + "X-Sum=", "X-Real-Ip= X-Team= X-Role= X-Auth-User= X-Sum=", false},
		{"X-Real-Ip", "", "X-Real-Ip: evil\r\n", "", "", true},
		{"X-Real-Ip announced", "Trailer: X-Real-Ip\r\n", "X-Sum: 1\r\nX-Real-Ip: evil\r\n", "", "", true},
		{"X-Auth-User", "Trailer: X-Auth-User\r\n", "X-Auth-User: evil\r\n", "", "", true},
		{"underscores", "", "X_Auth_User: evil\r\n", "", "", true},
	}
	eachPair(t, nil, func(t *testing.T, f *front, s *service, dial func() *client) {
		for _, e := range rows {
			before := len(s.targets(""))
			resp := askWithTrailers(t, dial(), e.announced, e.trailers)
			switch {
			case !f.passesTrailers:
				checkFields(t, e.name, resp, fields+"X-Sum=", "X-Real-Ip= X-Team= X-Role= X-Auth-User= X-Sum=")
			case !e.refused:
				checkFields(t, e.name, resp, e.fields, e.came)
			case resp.StatusCode != 400 || len(s.targets("")) > before:
				t.Errorf("%s: got %d, and the server was asked for %q", e.name, resp.StatusCode, s.targets("")[before:])
			}
		}
	})
}

func askWithTrailers(t *testing.T, c *client, announced, trailers string) reply {
	t.Helper()
	c.send("POST /x HTTP/1.1\r\nHost: h\r\nX-Role: evil\r\nX-Auth-User: evil\r\nTransfer-Encoding: chunked\r\n" + announced + "\r\n3\r\nabc\r\n0\r\n" + trailers + "\r\n")
	resp, err := c.next("POST")
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

func checkFields(t *testing.T, name string, resp reply, fields, trailers string) {
	t.Helper()
	if got := strings.Join(resp.Header["X-Fields"], " "); got != fields {
		t.Errorf("%s: the fields are\n%s, want\n%s", name, got, fields)
	}
	if got := strings.Join(resp.Header["X-Trailers"], " "); got != trailers {
		t.Errorf("%s: the trailers are\n%s, want\n%s", name, got, trailers)
	}
}

// Peek returns a trailer whose name is announced. So a service that relies on its front end to
// delete a field must declare which trailers it accepts.
func TestServicesBehindFrontsChooseTheirTrailers(t *testing.T) {
	configure := func(s *fasthttp.Server) {
		accept := reflect.ValueOf(s).Elem().FieldByName("AcceptTrailer")
		accept.Set(reflect.ValueOf(func(name []byte) bool { return string(name) == "X-Sum" }))
	}
	eachPair(t, configure, func(t *testing.T, f *front, _ *service, dial func() *client) {
		resp := askWithTrailers(t, dial(), "Trailer: X-Role, X-Sum\r\n", "X-Role: evil\r\nX-Sum: 1\r\n")
		sum := ""
		if f.passesTrailers {
			sum = "1"
		}
		checkFields(t, f.name, resp, "X-Real-Ip=192.0.2.1 X-Team=front X-Role= X-Auth-User= X-Sum="+sum, "X-Real-Ip= X-Team= X-Role= X-Auth-User= X-Sum="+sum)
	})
}

// Responses with trailers arrive complete, with or without the trailers.
func TestTrailersOfResponsesPassFronts(t *testing.T) {
	eachPair(t, nil, func(t *testing.T, f *front, _ *service, dial func() *client) {
		c := dial()
		for range 2 {
			c.send("GET /trailers?n=100 HTTP/1.1\r\nHost: h\r\nTE: trailers\r\n\r\n")
			resp, err := c.next("GET")
			if err != nil {
				t.Fatal(err)
			}
			if len(resp.body) != 100 || resp.Header.Get("X-End") != "" {
				t.Fatalf("got %d bytes, X-End %q in the header", len(resp.body), resp.Header["X-End"])
			}
			if got := resp.Trailer.Get("X-End"); f.passesTrailers && got != "yes" {
				t.Errorf("the trailer is %q", got)
			}
		}
	})
}

// docs/security.md lists the targets that a rule for a path misses.
func TestRulesForPathsMissOtherTargets(t *testing.T) {
	eachPair(t, nil, func(t *testing.T, f *front, _ *service, dial func() *client) {
		c := dial()
		for _, target := range []string{"/admin", "//admin", "/./admin", "/x/../admin", "/%2e/admin", "/%61dmin", "/%2fadmin"} {
			c.send("GET " + target + " HTTP/1.1\r\nHost: h\r\n\r\n")
			resp, err := c.next("GET")
			if err != nil {
				t.Fatalf("%s: %v", target, err)
			}
			if !f.comparesTargets || target == "/admin" {
				if resp.StatusCode != 403 {
					t.Errorf("%s: got %d", target, resp.StatusCode)
				}
			} else if got := resp.Header.Get("X-Path"); resp.StatusCode != 200 || got != "/admin" {
				t.Errorf("%s: got %d and the path %q", target, resp.StatusCode, got)
			}
			if resp.Close {
				c = dial()
			}
		}
	})
}
