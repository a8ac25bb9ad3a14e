package integrationtests

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"testing"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
)

// rawCase has the bytes that a client sends on a connection, and the responses that
// it must get.
type rawCase struct {
	name string
	s    *fasthttp.Server // nil for a server that echoes
	in   string
	want []rawAnswer
	// keeps is set if the server keeps the connection. If not, the server closes it, and the
	// last response announces that.
	keeps bool
	// rude is set if the server closes the connection without an announcement
	rude bool
}

// rawAnswer is a response. An empty body matches any body, "-" no body.
type rawAnswer struct {
	status int
	body   string
	method string // of the request; empty for GET
}

// refused is the response to a malformed request, after which the server closes.
func refused(status int) []rawAnswer { return []rawAnswer{{status: status}} }

// answered are the responses of a server that echoes, to requests given as method,
// target and body.
func answered(requests ...[3]string) (answers []rawAnswer) {
	for _, r := range requests {
		answers = append(answers, rawAnswer{200, servertest.Echoed(r[0], r[1], r[2]), r[0]})
	}
	return answers
}

func got(target string) []rawAnswer { return answered([3]string{"GET", target, ""}) }

func posted(target, body string) []rawAnswer { return answered([3]string{"POST", target, body}) }

func then(answers ...[]rawAnswer) (all []rawAnswer) {
	for _, a := range answers {
		all = append(all, a...)
	}
	return all
}

// next is a request that shows if the connection is usable.
const (
	nextRequest = "GET /next HTTP/1.1\r\nHost: a\r\n\r\n"
	nextTarget  = "/next"
)

func runRaw(t *testing.T, cases []rawCase) {
	cases = servertest.Some(t, cases)
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			tc.checkSplits(t, tc.server())
		})
	}
	forEachEngine(t, func(t *testing.T, start starter) {
		for _, tc := range cases {
			t.Run(tc.name, func(t *testing.T) { tc.checkEngine(t, start) })
		}
	})
}

// checkSplits sends the input to the portable engine at once, byte by byte, and in
// two parts, split at every position.
func (tc *rawCase) checkSplits(t *testing.T, s *fasthttp.Server) {
	in := []byte(tc.in)
	tc.checkPieces(t, s, "whole", in)
	var single [][]byte
	for i := 0; i < len(in); {
		n := 1
		if i > longInput/4 && len(in)-i > longInput/4 {
			n = 97 // the middle of a long text is uniform
		}
		single = append(single, in[i:i+n])
		i += n
	}
	tc.checkPieces(t, s, "byte by byte", single...)
	for _, i := range splitPositions(len(in)) {
		if t.Failed() {
			return
		}
		tc.checkPieces(t, s, fmt.Sprintf("in two at %d", i), in[:i], in[i:])
	}
}

// longInput is the size above which checkSplits does not try all positions.
const longInput = 2000

// splitPositions returns all positions at which n bytes can be split in two. For a long text
// it returns positions at both ends, and positions near multiples of the sizes of buffers.
func splitPositions(n int) (at []int) {
	for i := 1; i < n; i++ {
		if n <= longInput || i < 200 || n-i < 200 || i%4096 < 2 {
			at = append(at, i)
		}
	}
	return at
}

// checkPieces sends the input to a server in pieces. If the server keeps the
// connection, it then sends one more request.
func (tc *rawCase) checkPieces(t *testing.T, s *fasthttp.Server, how string, pieces ...[]byte) {
	t.Helper()
	c := &servertest.FakeConn{}
	for _, p := range pieces {
		// the server normalises names in place, so it gets a copy
		c.Pieces = append(c.Pieces, bytes.Clone(p))
	}
	waits := 0
	answered := -1 // bytes of responses when the server first waits for more input
	c.Starved = func(c *servertest.FakeConn) {
		if waits++; waits == 1 {
			answered = c.Out.Len()
			c.Pieces = [][]byte{[]byte(nextRequest)}
		}
	}
	_ = s.ServeConn(c)

	out := c.Out.Bytes()
	if waits > 0 {
		out = out[:answered]
	}
	if problem := tc.compare(out); problem != "" {
		t.Errorf("%s: %s\ngot %q", how, problem, out)
		return
	}
	switch {
	case c.Closed == 0:
		t.Errorf("%s: the connection was not closed in the end", how)
	case !tc.keeps && waits > 0:
		t.Errorf("%s: the server waits for more, want the connection closed", how)
	case tc.keeps && waits == 0:
		t.Errorf("%s: the connection was closed", how)
	case tc.keeps:
		probe := rawCase{want: got(nextTarget), keeps: true}
		if tc.s != nil && tc.s.Handler != nil {
			probe.want[0].body = ""
		}
		if problem := probe.compare(c.Out.Bytes()[answered:]); problem != "" {
			t.Errorf("%s: the connection is not usable: %s", how, problem)
		}
	}
}

// compare describes how out differs from the expected responses, or returns "".
func (tc *rawCase) compare(out []byte) string {
	r := bufio.NewReader(bytes.NewReader(out))
	for i, want := range tc.want {
		resp, err := servertest.ReadResponse(r, want.requestMethod())
		if err != nil {
			return fmt.Sprintf("answer %d cannot be read: %v", i, err)
		}
		last := i == len(tc.want)-1
		if problem := tc.compareAnswer(resp, want, last); problem != "" {
			return fmt.Sprintf("answer %d: %s", i, problem)
		}
	}
	if rest, _ := io.ReadAll(r); len(rest) > 0 {
		return fmt.Sprintf("there is more than the %d answers wanted", len(tc.want))
	}
	return ""
}

func (a rawAnswer) requestMethod() string {
	if a.method == "" {
		return "GET"
	}
	return a.method
}

func (tc *rawCase) compareAnswer(resp servertest.Response, want rawAnswer, last bool) string {
	if resp.StatusCode != want.status {
		return fmt.Sprintf("status %d, want %d", resp.StatusCode, want.status)
	}
	switch {
	case want.body == "-" && resp.Content != "":
		return fmt.Sprintf("body %q, want none", resp.Content)
	case want.body != "" && want.body != "-" && want.requestMethod() != "HEAD" && resp.Content != want.body:
		return fmt.Sprintf("body %.200q, want %.200q", resp.Content, want.body)
	}
	if closes := last && !tc.keeps; resp.Close != closes && !(closes && tc.rude) {
		return fmt.Sprintf("says Connection: close: %v, want %v", resp.Close, closes)
	}
	return ""
}

// checkEngine sends the input on connections of an engine, at once and byte by byte.
func (tc *rawCase) checkEngine(t *testing.T, start starter) {
	ts := start(tc.server())
	for _, step := range []int{len(tc.in), 1} {
		if step == 1 && len(tc.in) > 5000 {
			step = 997
		}
		c := ts.Dial()
		done := make(chan struct{})
		go func() {
			defer close(done)
			for rest := tc.in; rest != ""; {
				piece := rest[:min(step, len(rest))]
				rest = rest[len(piece):]
				if _, err := io.WriteString(c.Conn, piece); err != nil {
					// the server has refused the first bytes
					return
				}
			}
		}()
		for i, want := range tc.want {
			resp, err := servertest.ReadResponse(c.R, want.requestMethod())
			if err != nil {
				t.Fatalf("step %d: answer %d cannot be read: %v", step, i, err)
			}
			if problem := tc.compareAnswer(resp, want, i == len(tc.want)-1); problem != "" {
				t.Fatalf("step %d: answer %d: %s", step, i, problem)
			}
		}
		if tc.keeps {
			servertest.Receive(t, "the end of sending", done)
			c.Send(nextRequest)
			if resp := c.Next("GET"); resp.StatusCode != 200 {
				t.Fatalf("step %d: the connection is not usable: status %d", step, resp.StatusCode)
			}
		} else {
			c.ExpectCut()
		}
		_ = c.Close()
		servertest.Receive(t, "the end of sending", done)
	}
}

// server returns a server with the settings of the case.
func (tc *rawCase) server() *fasthttp.Server {
	s := &fasthttp.Server{Handler: echo, Logger: &servertest.Log{}}
	if tc.s == nil {
		return s
	}
	if tc.s.Handler != nil {
		s.Handler = tc.s.Handler
	}
	s.ErrorHandler = tc.s.ErrorHandler
	s.HeaderReceived = tc.s.HeaderReceived
	s.ContinueHandler = tc.s.ContinueHandler
	s.ExpectHandler = tc.s.ExpectHandler
	s.ReadBufferSize = tc.s.ReadBufferSize
	s.MaxRequestBodySize = tc.s.MaxRequestBodySize
	s.MaxRequestsPerConn = tc.s.MaxRequestsPerConn
	s.StreamRequestBody = tc.s.StreamRequestBody
	s.GetOnly = tc.s.GetOnly
	s.DisableKeepalive = tc.s.DisableKeepalive
	return s
}
