package fasthttp

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/valyala/fasthttp/internal/http1"
)

// feedHead does with a head what an exchange does, and tells all that is known
// of it afterwards.
func feedHead(h *RequestHeader, raw []byte) string {
	h.Reset()
	h.head.Reset()
	h.head.KeepNames = h.is(namesKept)
	n, err := h.feed(http1.Request, bytes.Clone(raw))
	if n == 0 || err != nil {
		return fmt.Sprint(n, err)
	}
	if err := h.check(); err != nil {
		return err.Error()
	}
	h.learn(h.memo)
	known := fmt.Sprint(n, h.head.Facts, h.head.Minor, h.contentLength, h.state, h.slots, h.raw, h.list.Entries)
	return fmt.Sprintf("%s\n%q\n%q\n%q\n%q", known, h.list.Block, h.String(), h.RawHeaders(), h.trailerNames())
}

func newMemoHeader() *RequestHeader {
	h := new(RequestHeader)
	h.memo = new(memo)
	return h
}

func checkMemo(t *testing.T, h *RequestHeader, raw []byte) {
	t.Helper()
	fresh := new(RequestHeader)
	fresh.setState(namesKept, h.is(namesKept))
	want := feedHead(fresh, raw)
	if got := feedHead(h, raw); got != want {
		t.Fatalf("%q\nis, after others: %s\nby itself: %s", raw, got, want)
	}
}

func TestFieldsOfTheLastRequestAreRecalled(t *testing.T) {
	const lines = "Host: h\r\nuser-agent: a\r\nCookie: a=b; c=d\r\nX-Other: \t x \r\nContent-Length: 3\r\n\r\n"
	h := newMemoHeader()
	recalled := 0
	for i, line := range []string{
		"GET /1 HTTP/1.1", "GET /2 HTTP/1.1", "GET /3 HTTP/1.1", "POST /much/longer HTTP/1.1", "GET /5 HTTP/1.0", "GET / HTTP/1.1",
	} {
		checkMemo(t, h, []byte(line+"\r\n"+lines+"GET /next"))
		if h.memo.recalled {
			recalled++
		}
		if i == 3 && string(h.UserAgent())+string(h.Cookie("c"))+string(h.Peek("x-other")) != "adx" {
			t.Errorf("%q", h.String())
		}
		// what a handler makes of the header is not remembered
		h.Set("X-Other", strings.Repeat("y", 100))
		h.SetHost("changed")
		h.Del("Cookie")
		h.Add("More", "z")
	}
	if recalled != 3 {
		t.Errorf("recalled %d times", recalled)
	}
}

func TestTheStartLineIsRecalledWhereItIsTheSame(t *testing.T) {
	h := newMemoHeader()
	for i, next := range []struct {
		target          string
		recalled, whole bool
	}{{"/a", false, false}, {"/a", false, false}, {"/a", true, true}, {"/b", true, false}, {"/a", true, true}, {"*", true, false}} {
		raw := "OPTIONS " + next.target + " HTTP/1.1\r\nHost: h\r\n\r\n"
		checkMemo(t, h, []byte(raw))
		if string(h.RequestURI()) != next.target || h.memo.recalled != next.recalled || h.memo.whole != next.whole {
			t.Errorf("request %d for %q: recalled %t, with its start line %t", i, h.RequestURI(), h.memo.recalled, h.memo.whole)
		}
	}
	h.head.Limits.Line = 10
	if got := feedHead(h, []byte("OPTIONS /a HTTP/1.1\r\nHost: h\r\n\r\n")); got != "0 "+http1.ErrLongRequestLine.Error() {
		t.Errorf("a line over the limit: %s", got)
	}
}

func TestRecallingKeepsTheLimits(t *testing.T) {
	h := newMemoHeader()
	h.head.Limits = http1.Limits{Head: 100}
	head := "GET / HTTP/1.1\r\nHost: h\r\nX: " + strings.Repeat("x", 50) + "\r\n\r\n"
	for range 3 {
		if got := feedHead(h, []byte(head)); strings.HasPrefix(got, "0") {
			t.Fatal(got)
		}
	}
	if !h.memo.recalled {
		t.Fatal("not recalled")
	}
	long := strings.Replace(head, "/", "/"+strings.Repeat("y", 50), 1)
	if got := feedHead(h, []byte(long)); got != "0 "+http1.ErrLongHead.Error() {
		t.Errorf("%s", got)
	}
}

func TestHeadsThatAllDifferAreNotLearnedForLong(t *testing.T) {
	h := newMemoHeader()
	learned := 0
	for i := range 1000 {
		feedHead(h, fmt.Appendf(nil, "GET / HTTP/1.1\r\nHost: h\r\nX-Request-Id: %05d\r\n\r\n", i))
		if h.memo.learning {
			learned++
		}
	}
	if learned > 40 {
		t.Errorf("learned %d times", learned)
	}
}

func TestHeadsThatAreOfNoUseAreForgottenUntilTheNextAttempt(t *testing.T) {
	h := newMemoHeader()
	for i := range 100 {
		checkMemo(t, h, fmt.Appendf(nil, "GET / HTTP/1.1\r\nHost: h\r\nX-Request-Id: %05d\r\n\r\n", i))
	}
	if !h.memo.rests() {
		t.Error("what came last is compared with all that comes")
	}
	for range maxPenalty + 3 {
		checkMemo(t, h, []byte("GET / HTTP/1.1\r\nHost: h\r\nX-Request-Id: same\r\n\r\n"))
	}
	if !h.memo.recalled {
		t.Error("equal heads were not learned")
	}
}

func TestRecallingAllocatesNothing(t *testing.T) {
	h := newMemoHeader()
	head := []byte(typicalRequestHead)
	checkAllocs(t, "recalling", func() {
		h.Reset()
		h.head.Reset()
		if n, err := h.feed(http1.Request, head); n == 0 || err != nil {
			t.Fatal(n, err)
		}
		h.learn(h.memo)
	})
	if !h.memo.recalled {
		t.Error("not recalled")
	}
}

// FuzzMemo reads requests one after the other, each of them several times, by a
// header that remembers them and by one that does not.
func FuzzMemo(f *testing.F) {
	f.Add([]byte("GET / HTTP/1.1\r\nHost: h\r\n\r\n\xffGET /a HTTP/1.1\r\nhost: h\r\nCookie: a\r\n\r\n"), false)
	f.Add([]byte("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\n\xffPOST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nTrailer: a\r\n\r\n"), true)
	f.Add([]byte("GET / HTTP/1.0\r\nX: a\r\n\r\n\xffGET / HTTP/1.1\r\nX: a\r\n\r\n\xffGET / HTTP/1.1\r\nHost: b@c\r\n\r\n\xffGET / HTTP/1.1\r\n\r\n"), false)
	f.Fuzz(func(t *testing.T, data []byte, keepNames bool) {
		h := newMemoHeader()
		h.setState(namesKept, keepNames)
		for raw := range bytes.SplitSeq(data, []byte{0xff}) {
			for range 3 {
				h.setState(namesKept, keepNames)
				// one that ends in the middle is not learned
				_ = feedHead(h, raw[:len(raw)*2/3])
				h.setState(namesKept, keepNames)
				checkMemo(t, h, raw)
				h.Set("Host", "another")
				h.Add("Name", string(raw))
			}
		}
	})
}

// A head that is not learned, since it is wrong or not complete, leaves nothing
// behind that the next one could stumble over.
func TestHeadsThatWereNotLearnedAreForgotten(t *testing.T) {
	const lines = "Host: h\r\nX: y\r\n\r\n"
	for _, odd := range []string{
		"GET / HTTP/1.1\r\nHost: h\r\nX; y\r\n\r\n", // wrong
		"GET / HTTP/1.1\r\nHost: h\r\nXY",           // not complete
	} {
		h := newMemoHeader()
		for range 2 {
			checkMemo(t, h, []byte("GET /much/longer/than/all/the/others/are HTTP/1.1\r\n"+lines))
		}
		for range 2 {
			checkMemo(t, h, []byte(odd))
		}
		for range 3 {
			checkMemo(t, h, []byte("GET / HTTP/1.1\r\n"+lines))
		}
	}
}
