package fasthttp

import (
	"bufio"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"github.com/valyala/fasthttp/internal/clock"
	"github.com/valyala/fasthttp/internal/engine"
	"github.com/valyala/fasthttp/internal/servertest"
)

// giveLate gives the connection bytes that have waited.
func (h *h1Conn) giveLate(text string, waited time.Duration) {
	for len(text) > 0 {
		n := copy(h.ReadBuffer(), text)
		h.Received(n, engine.Arrival{At: clock.Monotonic(), Waited: waited})
		text = text[n:]
	}
}

// answers lets the connection serve the received bytes, and returns the statuses of the
// responses, all output, and the last action.
func (h *h1Conn) answers(t *testing.T) (statuses []int, output string, last engine.Action) {
	t.Helper()
	for last = h.Step(); last == engine.Flush || last == engine.FlushIdle; last = h.Step() {
		head, tail, _ := h.Output()
		output += string(head) + string(tail)
		h.Written(int64(len(head)+len(tail)), nil)
	}
	for r := bufio.NewReader(strings.NewReader(output)); ; {
		if _, err := r.Peek(1); err != nil {
			return statuses, output, last
		}
		var resp Response
		servertest.Must(t, resp.Read(r))
		statuses = append(statuses, resp.StatusCode())
	}
}

func TestRequestsThatHaveWaitedTooLongAreRefused(t *testing.T) {
	const limit, late = time.Second, 2 * time.Second
	own := func(config RequestConfig) func(*RequestHeader) RequestConfig {
		return func(*RequestHeader) RequestConfig { return config }
	}
	const get = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"
	post := func(size, sent int, fields string) string {
		return fmt.Sprintf("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n%s\r\n%s", size, fields, strings.Repeat("a", sent))
	}
	for name, test := range map[string]struct {
		limit    time.Duration
		received func(*RequestHeader) RequestConfig
		waited   time.Duration
		request  string
		statuses []int
		ends     bool // of the connection
	}{
		"in time":                     {limit, nil, limit, get, []int{200}, false},
		"late":                        {limit, nil, late, get, []int{503}, false},
		"late, without a limit":       {0, nil, late, get, []int{200}, false},
		"late, with a negative limit": {-1, nil, late, get, []int{200}, false},
		"pipelined":                   {limit, nil, late, get + get + get, []int{503, 503, 503}, false},
		"with a body":                 {limit, nil, late, post(5, 5, "") + get, []int{503, 503}, false},
		"with a large body":           {limit, nil, late, post(1<<20, 5, ""), []int{503}, true},
		"with an expectation":         {limit, nil, late, post(5, 0, "Expect: 100-continue\r\n"), []int{503}, true},
		"with another expectation":    {limit, nil, late, post(5, 5, "Expect: much\r\n"), []int{503}, true},
		"of HTTP/1.0":                 {limit, nil, late, "GET / HTTP/1.0\r\n\r\n", []int{503}, true},
		"which wants an end":          {limit, nil, late, "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", []int{503}, true},
		"which is malformed":          {limit, nil, late, "GET / HTTP/1.1\r\n\r\n", []int{400}, true},
		"exempted":                    {limit, own(RequestConfig{MaxQueueTime: -1}), late, get, []int{200}, false},
		"with more time":              {limit, own(RequestConfig{MaxQueueTime: late}), late, get, []int{200}, false},
		"with endless time":           {limit, own(RequestConfig{MaxQueueTime: 1 << 62}), late, get, []int{200}, false},
		"with less time":              {limit, own(RequestConfig{MaxQueueTime: 1}), time.Millisecond, get, []int{503}, false},
		"with the usual time":         {limit, own(RequestConfig{}), late, get, []int{503}, false},
		"refused by its head":         {limit, own(RequestConfig{RefuseStatus: 401}), late, get, []int{401}, false},
	} {
		t.Run(name, func(t *testing.T) {
			h := driven(t, &Server{Handler: echo, Logger: &servertest.Log{}, MaxQueueTime: test.limit, HeaderReceived: test.received}, false)
			h.giveLate(test.request, test.waited)
			statuses, output, last := h.answers(t)
			ends := last == engine.Close || last == engine.Linger
			if !slices.Equal(statuses, test.statuses) || ends != test.ends {
				t.Fatalf("%d, and then the action %d, want %d, ends %v", statuses, last, test.statuses, test.ends)
			}
			if n, want := strings.Count(output, "Retry-After: 1\r\n"), strings.Count(output, " 503 "); n != want {
				t.Errorf("%d of %d refusals have Retry-After: %q", n, want, output)
			}
			if strings.Contains(output, " 100 ") {
				t.Errorf("the body is asked for: %q", output)
			}
			if ends {
				return
			}
			want := 200
			if test.statuses[0] == 401 {
				want = 401
			}
			h.giveLate(get, 0)
			if statuses, output, _ := h.answers(t); !slices.Equal(statuses, []int{want}) {
				t.Errorf("the next request gets %d, %q", statuses, output)
			}
		})
	}
}

// The first bytes of a request may have waited; the last ones decide.
func TestWaitOfTheEndOfAHeadDecides(t *testing.T) {
	h := driven(t, &Server{Handler: echo, Logger: &servertest.Log{}, MaxQueueTime: time.Second}, false)
	for _, test := range []struct {
		waits [2]time.Duration
		want  int
	}{{[2]time.Duration{time.Minute, 0}, 200}, {[2]time.Duration{0, time.Minute}, 503}} {
		h.giveLate("GET / HTTP/1.1\r\n", test.waits[0])
		expectAction(t, h, engine.Read)
		h.giveLate("Host: a\r\n\r\n", test.waits[1])
		if statuses, _, _ := h.answers(t); !slices.Equal(statuses, []int{test.want}) {
			t.Errorf("waits of %v: %d, want %d", test.waits, statuses, test.want)
		}
	}
}

// Hooks see these refusals as they see others.
func TestHooksSeeRequestsThatHaveWaitedTooLong(t *testing.T) {
	for _, handles := range []bool{false, true} {
		var hooks []string
		saw := func(name string) func(*RequestCtx) {
			return func(ctx *RequestCtx) { hooks = append(hooks, fmt.Sprint(name, " ", string(ctx.Path()))) }
		}
		log := &servertest.Log{}
		s := &Server{Handler: echo, Logger: log, MaxQueueTime: time.Second}
		s.Trace = &ServerTrace{HeadReceived: saw("head"), HandlerBegins: saw("begins"), ResponseSent: func(ctx *RequestCtx, sent TracedResponse) {
			hooks = append(hooks, fmt.Sprint("traced ", sent.StatusCode, " ", sent.Protocol, " ", sent.Refused == ErrQueueTime, " ", sent.Handling))
		}}
		s.ResponseReady = func(ctx *RequestCtx) {
			hooks = append(hooks, "ready")
			ctx.Response.Header.Set("X-Ready", "yes")
		}
		s.ResponseSent = func(ctx *RequestCtx, sent SentResponse) {
			hooks = append(hooks, fmt.Sprint("sent ", sent.StatusCode, " ", sent.Bytes > 0, " ", errors.Is(sent.Refused, ErrQueueTime), " ", sent.Err))
		}
		want := []string{"head /a", "ready", "sent 503 true true <nil>"}
		want = slices.Insert(want, 2, "traced 503 HTTP/1.1 true 0s")
		if handles {
			s.ErrorHandler = func(ctx *RequestCtx, err error) {
				hooks = append(hooks, fmt.Sprint("error ", err == ErrQueueTime))
				ctx.Error("busy", StatusServiceUnavailable)
			}
			want = slices.Insert(want, 1, "error true")
		}
		h := driven(t, s, false)
		for range 2 {
			hooks = nil
			h.giveLate("GET /a HTTP/1.1\r\nHost: a\r\n\r\n", time.Minute)
			_, output, last := h.answers(t)
			if !slices.Equal(hooks, want) || last != engine.Read {
				t.Errorf("the hooks are %q, want %q, and then the action %d", hooks, want, last)
			}
			if !strings.Contains(output, "X-Ready: yes\r\n") || handles != strings.HasSuffix(output, "busy") {
				t.Errorf("the response is %q", output)
			}
		}
		if lines := log.All(); len(lines) == 0 || len(lines) > 2 || !strings.Contains(lines[0], ErrQueueTime.Error()) {
			t.Errorf("logged: %q", lines)
		}
	}
}

// A refused request costs no memory.
func TestRefusalOfLateRequestsAllocatesNothing(t *testing.T) {
	if servertest.RaceDetector {
		t.Skip("the pools forget things under the race detector")
	}
	s := &Server{Handler: func(*RequestCtx) {}, Logger: &servertest.Log{}, MaxQueueTime: time.Second}
	h := driven(t, s, false)
	request := "GET / HTTP/1.1\r\nHost: a\r\n\r\n"
	for _, waited := range []time.Duration{0, time.Minute} {
		n := testing.AllocsPerRun(1000, func() {
			// a log entry a second is all right
			s.refusedAt.Store(time.Now().Unix())
			h.giveLate(request, waited)
			h.Step()
			head, tail, _ := h.Output()
			h.Written(int64(len(head)+len(tail)), nil)
		})
		if n != 0 {
			t.Errorf("a request that has waited for %v allocates %.0f times", waited, n)
		}
	}
}

// A request that was reset while it waited, or that a hook has broken, is not refused, since its
// client does not read the response.
func TestHTTP2RefusesOnlyRequestsThatAreWanted(t *testing.T) {
	s := &Server{}
	s.set.maxQueueTime = time.Second
	for _, test := range []struct {
		name string
		set  func(x *h2Exchange)
		want error
	}{
		{"late", func(*h2Exchange) {}, ErrQueueTime},
		{"in time", func(x *h2Exchange) { x.waitsSince = clock.Monotonic() }, nil},
		{"reset", func(x *h2Exchange) { x.abortErr = h2Reset{} }, nil},
		{"broken", func(x *h2Exchange) { x.broken = true }, nil},
	} {
		h, x := &h2Conn{s: s, waiting: 1, running: 1}, &h2Exchange{waitsSince: clock.Monotonic() - time.Minute}
		x.s = s
		test.set(x)
		h.queue.push(x)
		if h.next(0, nil) != x || x.refusal != test.want {
			t.Errorf("%s: refused with %v, want %v", test.name, x.refusal, test.want)
		}
	}
}

// With HTTP/2 a request also waits for a goroutine that serves it: here for the timer that notices
// that another handler of the connection is slow.
func TestHTTP2RequestsWaitForAGoroutine(t *testing.T) {
	for _, test := range []struct {
		limit time.Duration
		want  string
	}{
		{h2LeaderTimeout / 2, "503"},
		{time.Minute, "200"},
		{0, "200"},
	} {
		s := &Server{MaxQueueTime: test.limit, StreamRequestBody: true, Handler: func(ctx *RequestCtx) {
			if string(ctx.Path()) == "/slow" {
				time.Sleep(time.Hour) // bubble: inBubble
			}
		}}
		s.Protocols.SetUnencryptedHTTP2(true)
		inBubble(t, s, func(t *testing.T, dial func() *servertest.Conn) {
			c := servertest.NewH2Conn(dial(), servertest.H2Client)
			c.Raw(http2.ClientPreface).Settings().AckSettings().Get(1, "/slow").Get(3, "/quick")
			// the content of this one never ends
			c.Begin(5, false, "POST", "/quick")
			c.Flush()
			for _, id := range []uint32{3, 5} {
				quick := c.Response(id)
				if got := quick.Status(); got != test.want || quick.Field("retry-after") != map[bool]string{true: "1"}[got == "503"] {
					t.Errorf("stream %d with the limit %v: %v", id, test.limit, quick.Fields())
				}
			}
			if slow := c.Response(1); slow.Status() != "200" {
				t.Errorf("the slow request gets %v", slow.Fields())
			}
		})
	}
}
