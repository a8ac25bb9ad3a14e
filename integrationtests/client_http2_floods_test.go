package integrationtests

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
)

// h2Hostility is the input from a hostile server during a call; r is the request of the call.
type h2Hostility struct {
	send func(c *h2Side, r *h2Request)
	// times is how often it is sent, unless the connection ends earlier.
	times int
	// end is the code with which the client ends the connection. Without a code the connection
	// stays open.
	end http2.ErrCode
	// fails is set if the call fails although the connection stays open.
	fails bool
	// set changes the client.
	set func(hc *fasthttp.HostClient)
}

// survives is the code of a connection that stays open.
const survives = http2.ErrCode(1 << 31)

func frameOf(kind http2.FrameType, flags http2.Flags, id uint32, payload string) func(c *h2Side, r *h2Request) {
	return func(c *h2Side, _ *h2Request) { c.Frame(kind, flags, id, payload) }
}

func onStream(kind http2.FrameType, flags http2.Flags, payload string) func(c *h2Side, r *h2Request) {
	return func(c *h2Side, r *h2Request) { c.Frame(kind, flags, r.ID, payload) }
}

func settingOf(id http2.SettingID, value uint32) func(c *h2Side, r *h2Request) {
	return func(c *h2Side, _ *h2Request) { c.Settings(uint32(id), value) }
}

var h2Hostilities = map[string]h2Hostility{
	// forbidden frames
	"DATA on stream 0":                {send: frameOf(http2.FrameData, 0, 0, "x"), end: http2.ErrCodeProtocol},
	"HEADERS on stream 0":             {send: frameOf(http2.FrameHeaders, whole, 0, "\x88"), end: http2.ErrCodeProtocol},
	"RST_STREAM on stream 0":          {send: frameOf(http2.FrameRSTStream, 0, 0, words(8)), end: http2.ErrCodeProtocol},
	"SETTINGS on a stream":            {send: onStream(http2.FrameSettings, 0, ""), end: http2.ErrCodeProtocol},
	"PING on a stream":                {send: onStream(http2.FramePing, 0, "01234567"), end: http2.ErrCodeProtocol},
	"GOAWAY on a stream":              {send: onStream(http2.FrameGoAway, 0, words(0, 0)), end: http2.ErrCodeProtocol},
	"DATA on an idle stream":          {send: frameOf(http2.FrameData, 0, 101, "x"), end: http2.ErrCodeProtocol},
	"HEADERS on an idle stream":       {send: frameOf(http2.FrameHeaders, whole, 101, "\x88"), end: http2.ErrCodeProtocol},
	"HEADERS on an even stream":       {send: frameOf(http2.FrameHeaders, whole, 2, "\x88"), end: http2.ErrCodeProtocol},
	"RST_STREAM of an idle stream":    {send: frameOf(http2.FrameRSTStream, 0, 101, words(8)), end: http2.ErrCodeProtocol},
	"WINDOW_UPDATE of an idle stream": {send: frameOf(http2.FrameWindowUpdate, 0, 101, words(8)), end: http2.ErrCodeProtocol},
	"PUSH_PROMISE":                    {send: onStream(http2.FramePushPromise, endHeaders, words(2)+"\x82\x86\x84\x41\x01a"), end: http2.ErrCodeProtocol},
	"CONTINUATION alone":              {send: onStream(http2.FrameContinuation, endHeaders, "\x88"), end: http2.ErrCodeProtocol},
	"another frame in a block": {send: func(c *h2Side, r *h2Request) {
		c.Frame(http2.FrameHeaders, 0, r.ID, "\x88").Frame(http2.FramePing, 0, 0, "01234567")
	}, end: http2.ErrCodeProtocol},
	"CONTINUATION of another stream": {send: func(c *h2Side, r *h2Request) {
		c.Frame(http2.FrameHeaders, 0, r.ID, "\x88").Frame(http2.FrameContinuation, endHeaders, 101, "")
	}, end: http2.ErrCodeProtocol},
	"padding without end":     {send: onStream(http2.FrameData, http2.FlagDataPadded, "\x05abc"), end: http2.ErrCodeProtocol},
	"padding of HEADERS":      {send: onStream(http2.FrameHeaders, endHeaders|http2.FlagHeadersPadded, "\x05\x88"), end: http2.ErrCodeProtocol},
	"a large frame":           {send: onStream(http2.FrameData, 0, strings.Repeat("x", 16385)), end: http2.ErrCodeFrameSize},
	"a large unknown frame":   {send: onStream(0xbb, 0, strings.Repeat("x", 16385)), end: http2.ErrCodeFrameSize},
	"a short PING":            {send: frameOf(http2.FramePing, 0, 0, "0123"), end: http2.ErrCodeFrameSize},
	"a short GOAWAY":          {send: frameOf(http2.FrameGoAway, 0, 0, "0123"), end: http2.ErrCodeFrameSize},
	"a short RST_STREAM":      {send: onStream(http2.FrameRSTStream, 0, "012"), end: http2.ErrCodeFrameSize},
	"a short WINDOW_UPDATE":   {send: frameOf(http2.FrameWindowUpdate, 0, 0, "012"), end: http2.ErrCodeFrameSize},
	"GOAWAY for more streams": {send: func(c *h2Side, _ *h2Request) { c.GoAway(3, 0).GoAway(5, 0) }, end: http2.ErrCodeProtocol},

	// windows
	"WINDOW_UPDATE of 0":           {send: frameOf(http2.FrameWindowUpdate, 0, 0, words(0)), end: http2.ErrCodeProtocol},
	"WINDOW_UPDATE of 0, a stream": {send: onStream(http2.FrameWindowUpdate, 0, words(0)), end: survives, fails: true},
	"a window too large":           {send: frameOf(http2.FrameWindowUpdate, 0, 0, words(1<<31-1)), times: 2, end: http2.ErrCodeFlowControl},
	"a window too large, a stream": {send: onStream(http2.FrameWindowUpdate, 0, words(1<<31-1)), end: survives, fails: true},
	"more than the window of a stream": {
		set: func(hc *fasthttp.HostClient) {
			hc.HTTP2.MaxReceiveBufferPerStream, hc.StreamResponseBody = 20_000, true
		},
		send: func(c *h2Side, r *h2Request) {
			c.Head(r, endHeaders, "200")
			for range 10 {
				c.Data(r.ID, 0, strings.Repeat("x", 4000))
			}
		}, end: survives, fails: true,
	},
	"more than the window of the connection": {
		set: func(hc *fasthttp.HostClient) {
			hc.HTTP2.MaxReceiveBufferPerConnection, hc.StreamResponseBody = 65535, true
		},
		send: func(c *h2Side, r *h2Request) {
			c.Head(r, endHeaders, "200")
			for range 20 {
				c.Data(r.ID, 0, strings.Repeat("x", 4000))
			}
		}, end: http2.ErrCodeFlowControl,
	},

	// settings
	"a window setting too large": {send: settingOf(http2.SettingInitialWindowSize, 1<<31), end: http2.ErrCodeFlowControl},
	"frames of size 0":           {send: settingOf(http2.SettingMaxFrameSize, 0), end: http2.ErrCodeProtocol},
	"frames of 16 KiB less 1":    {send: settingOf(http2.SettingMaxFrameSize, 1<<14-1), end: http2.ErrCodeProtocol},
	"frames of 16 MiB":           {send: settingOf(http2.SettingMaxFrameSize, 1<<24), end: http2.ErrCodeProtocol},
	"push is enabled":            {send: settingOf(http2.SettingEnablePush, 1), end: http2.ErrCodeProtocol},
	"push is what":               {send: settingOf(http2.SettingEnablePush, 2), end: http2.ErrCodeProtocol},
	"a setting of 5 bytes":       {send: frameOf(http2.FrameSettings, 0, 0, "01234"), end: http2.ErrCodeFrameSize},
	"an acknowledgement of 6":    {send: frameOf(http2.FrameSettings, http2.FlagSettingsAck, 0, "012345"), end: http2.ErrCodeFrameSize},
	"a thousand settings":        {send: frameOf(http2.FrameSettings, 0, 0, strings.Repeat("\x00\x04\x00\x00\xff\xff", 1000)), end: http2.ErrCodeEnhanceYourCalm},
	"unknown settings":           {send: settingOf(0x7777, 1<<31), end: survives},
	"a header list of no size":   {send: settingOf(http2.SettingMaxHeaderListSize, 0), end: survives},

	// compression
	"garbage in a block":        {send: onStream(http2.FrameHeaders, whole, "\xff\xff\xff\xff\xff\xff\xff\xff"), end: http2.ErrCodeCompression},
	"an index beyond the table": {send: onStream(http2.FrameHeaders, whole, "\xc8"), end: http2.ErrCodeCompression},
	"half a literal":            {send: onStream(http2.FrameHeaders, whole, "\x88\x40\x05ab"), end: http2.ErrCodeCompression},
	"a table too large":         {send: onStream(http2.FrameHeaders, whole, "\x3f\xff\xff\x7f\x88"), end: http2.ErrCodeCompression},
	"bad Huffman code":          {send: onStream(http2.FrameHeaders, whole, "\x88\x40\x01a\x84\xff\xff\xff\xff"), end: http2.ErrCodeCompression},
	"garbage for a dead stream": {send: func(c *h2Side, r *h2Request) {
		c.Reset(r.ID, http2.ErrCodeInternal).Frame(http2.FrameHeaders, whole, r.ID, "\xff\xff\xff\xff\xff\xff")
	}, end: http2.ErrCodeCompression},

	// floods
	"SETTINGS":                    {send: frameOf(http2.FrameSettings, 0, 0, ""), times: 100_000, end: http2.ErrCodeEnhanceYourCalm},
	"PING":                        {send: frameOf(http2.FramePing, 0, 0, "01234567"), times: 100_000, end: http2.ErrCodeEnhanceYourCalm},
	"answers to PING":             {send: frameOf(http2.FramePing, http2.FlagPingAck, 0, "01234567"), times: 100_000, end: http2.ErrCodeEnhanceYourCalm},
	"PRIORITY":                    {send: onStream(http2.FramePriority, 0, "\x00\x00\x00\x00\x07"), times: 100_000, end: http2.ErrCodeEnhanceYourCalm},
	"unknown frames":              {send: onStream(0xbb, 0, ""), times: 100_000, end: http2.ErrCodeEnhanceYourCalm},
	"empty DATA":                  {send: onStream(http2.FrameData, 0, ""), times: 100_000, end: http2.ErrCodeEnhanceYourCalm},
	"small WINDOW_UPDATE":         {send: onStream(http2.FrameWindowUpdate, 0, words(1)), times: 100_000, end: http2.ErrCodeEnhanceYourCalm},
	"RST_STREAM of a dead stream": {send: onStream(http2.FrameRSTStream, 0, words(8)), times: 100_000, end: http2.ErrCodeEnhanceYourCalm},
	"1xx":                         {send: func(c *h2Side, r *h2Request) { c.Head(r, endHeaders, "103", "x: y") }, times: 100, end: survives, fails: true},
	"large 1xx": {send: func(c *h2Side, r *h2Request) {
		c.Head(r, endHeaders, "103", "x: "+strings.Repeat("y", 10_000))
	}, times: 100, end: survives, fails: true},
	"CONTINUATION": {send: func(c *h2Side, r *h2Request) {
		c.Frame(http2.FrameHeaders, 0, r.ID, "\x88")
		for range 1000 {
			c.Frame(http2.FrameContinuation, 0, r.ID, "\x00\x01a\x01b")
		}
	}, end: http2.ErrCodeEnhanceYourCalm},
	"empty CONTINUATION": {send: func(c *h2Side, r *h2Request) {
		c.Frame(http2.FrameHeaders, 0, r.ID, "\x88").Frame(http2.FrameContinuation, 0, r.ID, "")
	}, end: http2.ErrCodeEnhanceYourCalm},

	// header sections
	"a large header list": {send: func(c *h2Side, r *h2Request) { sendLarge(c, r, 70) }, end: survives, fails: true},
	"a huge header list":  {send: func(c *h2Side, r *h2Request) { sendLarge(c, r, 200) }, end: http2.ErrCodeEnhanceYourCalm},
	"a bomb": {send: func(c *h2Side, r *h2Request) {
		block := c.Block(":status: 200", "x: "+strings.Repeat("y", 4000))
		c.Frame(http2.FrameHeaders, whole, r.ID, block+strings.Repeat("\xbe", 12_000))
	}, end: http2.ErrCodeEnhanceYourCalm},
	"too many fields": {send: func(c *h2Side, r *h2Request) {
		c.Head(r, whole, "200", slicesRepeat("x: y", 600)...)
	}, end: survives, fails: true},
	"more than ReadBufferSize": {set: func(hc *fasthttp.HostClient) { hc.ReadBufferSize = 2000 }, send: func(c *h2Side, r *h2Request) {
		c.Head(r, whole, "200", "x: "+strings.Repeat("y", 2000))
	}, end: survives, fails: true},
	"large trailers": {send: func(c *h2Side, r *h2Request) {
		c.Head(r, endHeaders, "200")
		sendTrailers(c, r, 70)
	}, end: survives, fails: true},
}

func slicesRepeat(text string, n int) (all []string) {
	for range n {
		all = append(all, text)
	}
	return all
}

// sendLarge sends the head of a response of n KiB.
func sendLarge(c *h2Side, r *h2Request, n int) {
	sendBlock(c, r, c.Block(append([]string{":status: 200"}, slicesRepeat("x: "+strings.Repeat("y", 1000), n)...)...))
}

func sendTrailers(c *h2Side, r *h2Request, n int) {
	sendBlock(c, r, c.Block(slicesRepeat("x: "+strings.Repeat("y", 1000), n)...))
}

func sendBlock(c *h2Side, r *h2Request, block string) {
	kind, flags := http2.FrameHeaders, http2.Flags(endStream)
	for len(block) > 0 {
		part := block[:min(len(block), 16<<10)]
		if block = block[len(part):]; block == "" {
			flags |= endHeaders
		}
		c.Frame(kind, flags, r.ID, part)
		kind, flags = http2.FrameContinuation, 0
	}
}

// TestHTTP2ClientMeetsHostileServers has servers that send forbidden or too many frames.
// Either the connection ends with the right code, or the call fails and the connection stays
// open. In any case calls to other hosts continue, and the next call to the same host
// succeeds.
func TestHTTP2ClientMeetsHostileServers(t *testing.T) {
	t.Parallel()
	for name, tt := range h2Hostilities {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newH2Peer(t)
			hc := p.client()
			if tt.set != nil {
				tt.set(hc)
			}
			c := p.greeted(hc)
			call := startCall(t, hc.Do, "POST", p.URL("/"))
			tt.attack(c, c.Whole())
			if tt.end != survives {
				if got := c.Ending(); got != tt.end.String() {
					t.Errorf("the connection ends with %s, want %v", got, tt.end)
				}
				_ = c.Close()
			} else {
				if !tt.fails {
					c.Respond(c.Streams[c.Order[len(c.Order)-1]], "200", "well")
				}
				c.Sync()
			}
			err := call.wait()
			if err == nil && call.resp.IsBodyStream() {
				_, err = io.ReadAll(call.resp.BodyStream())
				_ = call.resp.CloseBodyStream()
			}
			switch {
			case err == nil && (tt.end != survives || tt.fails):
				t.Errorf("the call succeeds with %d %.20q", call.resp.StatusCode(), call.resp.Body())
			case err != nil && tt.end == survives && !tt.fails:
				t.Errorf("the call fails: %v", err)
			case err != nil:
				t.Logf("the call fails: %v", err)
			}
			next := startCall(t, hc.Do, "POST", p.URL("/next"))
			if tt.end != survives {
				c = p.Greet()
			}
			c.Serve()
			next.is(200, "/next")
			if n := p.Conns.Load(); tt.end == survives && n != 1 {
				t.Errorf("%d connections", n)
			}
		})
	}
}

// attack sends the hostile frames as often as required, and reads the frames of the client.
func (h *h2Hostility) attack(c *h2Side, r *h2Request) {
	c.T.Helper()
	for i := range max(h.times, 1) {
		h.send(c, r)
		if c.Out.Len() < 32<<10 && i < h.times-1 {
			continue
		}
		if c.TryFlush() != nil {
			return
		}
		for sendsMore(c) {
			if c.Take() != nil {
				return
			}
		}
	}
}

// sendsMore reports whether there is something to read at once.
func sendsMore(c *h2Side) bool {
	if c.R.Buffered() > 0 {
		return true
	}
	_ = c.SetReadDeadline(time.Now().Add(time.Microsecond))
	defer func() { _ = c.SetReadDeadline(time.Now().Add(servertest.Patience)) }()
	_, err := c.R.Peek(1)
	return !errors.Is(err, os.ErrDeadlineExceeded)
}

// TestHTTP2ClientHostileServersCostLittle has many servers at once that make the client hold
// as much memory as possible: with responses that the caller does not read, header blocks
// without an end, and answers to PING that the server does not read. Meanwhile the client
// calls another host.
func TestHTTP2ClientHostileServersCostLittle(t *testing.T) {
	servertest.Apart(t, testHTTP2ClientHostileServersCostLittle)
}

func testHTTP2ClientHostileServersCostLittle(t *testing.T) {
	const conns = 20
	p, good := newH2Peer(t), newH2Peer(t)
	hc, other := p.client(), good.client()
	hc.MaxConns = conns
	hc.HTTP2.MaxReceiveBufferPerStream = 100_000
	g := good.greeted(other)
	var sides []*h2Side
	var calls []*h2Call
	for range conns {
		calls = append(calls, p.stream(hc, "/"))
		c := p.Greet(maxStreams, 1)
		c.Request()
		c.Sync() // it knows the number of streams
		sides = append(sides, c)
	}
	_ = numbered(1) // it is made once
	before := heap()
	for i, c := range sides {
		r := c.Streams[1]
		switch i % 3 {
		case 0:
			c.Head(r, endHeaders, "200")
			fillWindow(c, r)
		case 1: // a block without an end, of 15 KiB a frame
			c.Frame(http2.FrameHeaders, 0, r.ID, c.Block(":status: 200", "x: "+strings.Repeat("y", 20_000)))
			_ = c.TryFlush()
		case 2:
			var ping [9]byte
			binary.BigEndian.PutUint32(ping[:], 8<<8|uint32(http2.FramePing))
			flood := strings.Repeat(string(ping[:])+"01234567", 10_000)
			_ = c.SetWriteDeadline(time.Now().Add(2 * servertest.Short))
			for range 20 { // 3.4 MB of answers, which are not read
				if _, err := io.WriteString(c.Conn, flood); err != nil {
					break
				}
			}
		}
		call := good.get(other, fmt.Sprint("/", i))
		g.Serve()
		call.is(200, fmt.Sprint("/", i))
	}
	if got := heap() - before; got > conns*150<<10 {
		t.Errorf("%d connections hold %d KiB", conns, got>>10)
	} else {
		t.Logf("%d connections hold %d KiB", conns, got>>10)
	}
	p.Stop()
	for _, call := range calls {
		if call.wait() == nil && call.resp.IsBodyStream() {
			_ = call.resp.CloseBodyStream()
		}
	}
}

func heap() int {
	runtime.GC()
	runtime.GC() // pools keep objects for one collection
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}
