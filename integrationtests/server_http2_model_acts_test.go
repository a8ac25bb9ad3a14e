package integrationtests

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/valyala/fasthttp/internal/servertest"
)

// dialModel opens a connection.
func dialModel(ts *testServer) (io.ReadWriteCloser, error) {
	if !ts.Engine.TLS {
		return ts.Dialer()
	}
	config := servertest.TrustCertificate()
	config.NextProtos = []string{"h2"}
	return tls.Dial(ts.Listener.Addr().Network(), ts.Listener.Addr().String(), config)
}

// act does something random that the rules permit. The caller holds mu.
func (c *modelClient) act(mayBegin bool) {
	glitches := c.glitches < modelGlitches
	switch k := c.rnd.IntN(24); {
	case k == 0 && len(c.acks) == 0 && c.rnd.IntN(5) == 0 && glitches:
		c.settings()
	case k == 1 && c.toReturn > 0:
		_ = c.fr.WriteWindowUpdate(0, uint32(c.toReturn))
		c.recvWindow += c.toReturn
		c.toReturn = 0
	case k == 2 && glitches && c.rnd.IntN(3) == 0:
		_ = c.fr.WritePing(false, [8]byte{1})
		c.pings++
		c.glitches++
	case k == 3 && glitches && c.rnd.IntN(5) == 0:
		c.glitches++
		switch id := 1 + 2*uint32(c.rnd.IntN(100)); c.rnd.IntN(3) {
		case 0:
			_ = c.fr.WriteRawFrame(0xbb, 0xff, id, []byte("whatever"))
		case 1:
			_ = c.fr.WritePriority(id, http2.PriorityParam{StreamDep: id + 1, Weight: 7})
		default:
			_ = c.fr.WriteRawFrame(priorityUpdate, 0, 0, []byte(words(id)+fmt.Sprintf("u=%d, i", c.rnd.IntN(8))))
		}
	case k < 9 && mayBegin:
		if c.rnd.IntN(30) == 0 && c.waste < modelWaste {
			c.malformed()
		} else {
			c.begin()
		}
	default:
		for _, s := range c.open {
			c.actOn(s)
			if c.rnd.IntN(3) == 0 {
				break
			}
		}
	}
}

// settings changes the windows of streams, and the size of frames.
func (c *modelClient) settings() {
	window := int64(c.rnd.IntN(100_000))
	// x/net's decoder does not permit the size to rise again
	c.table -= uint32(c.rnd.IntN(int(c.table)/4 + 1))
	c.acks = append(c.acks, window)
	c.glitches++
	_ = c.fr.WriteSettings(
		http2.Setting{ID: http2.SettingInitialWindowSize, Val: uint32(window)},
		http2.Setting{ID: http2.SettingMaxFrameSize, Val: uint32(1<<14 + c.rnd.IntN(1<<14))},
		http2.Setting{ID: http2.SettingHeaderTableSize, Val: c.table},
	)
}

// begin begins a stream.
func (c *modelClient) begin() {
	kind := modelKinds[c.rnd.IntN(len(modelKinds))]
	if kind == "panics" && (c.waste >= modelWaste || c.rnd.IntN(4) > 0) {
		kind = "raw"
	}
	number, size := c.rnd.IntN(1000), c.rnd.IntN(300)
	switch c.rnd.IntN(60) {
	case 0, 1:
		size = c.rnd.IntN(modelMost)
	default:
		if size%3 == 0 {
			size = c.rnd.IntN(modelMost / 8)
		}
	}
	s := &modelStream{
		id: c.next, kind: kind, name: fmt.Sprintf("%d.%d", c.number, c.next), sendWindow: c.firstSend, recvWindow: c.firstRecv, since: time.Now(),
		want: modelContent(number, size),
	}
	c.next += 2
	method := "GET"
	switch {
	case kind == "echo" || kind == "pipe":
		method, s.unsent = "POST", s.want
	case kind == "raw" && c.rnd.IntN(5) == 0:
		method, s.want = "HEAD", nil
	case kind == "panics":
		s.breaks = "INTERNAL_ERROR"
	case c.rnd.IntN(5) == 0:
		method, s.unsent = "POST", modelContent(number+1, c.rnd.IntN(3000))
	}
	fields := []string{
		":method", method, ":scheme", "http", ":authority", "model", ":path", "/" + kind,
		"x-name", s.name, "x-number", strconv.Itoa(number), "x-size", strconv.Itoa(size), "cookie", "a=b", "cookie", "c",
	}
	if c.rnd.IntN(2) == 0 {
		fields = append(fields, "x-filler", strings.Repeat("f", c.rnd.IntN(2000)))
	}
	if method == "POST" && c.rnd.IntN(2) == 0 {
		fields = append(fields, "content-length", strconv.Itoa(len(s.unsent)))
	}
	s.hasEnded = method != "POST"
	c.open[s.id] = s
	c.headers(s.id, s.hasEnded, fields...)
}

// headers writes a header block, whole or in parts.
func (c *modelClient) headers(id uint32, end bool, pairs ...string) {
	c.block.Reset()
	for i := 0; i < len(pairs); i += 2 {
		_ = c.enc.WriteField(hpack.HeaderField{Name: pairs[i], Value: pairs[i+1], Sensitive: c.rnd.IntN(5) == 0})
	}
	b := c.block.Bytes()
	first := b
	if c.rnd.IntN(4) == 0 {
		first = b[:c.rnd.IntN(len(b))]
	}
	param := http2.HeadersFrameParam{StreamID: id, BlockFragment: first, EndStream: end, EndHeaders: len(first) == len(b)}
	if c.rnd.IntN(4) == 0 {
		param.PadLength = uint8(c.rnd.IntN(256))
	}
	if c.rnd.IntN(8) == 0 {
		param.Priority = http2.PriorityParam{Weight: 5}
	}
	_ = c.fr.WriteHeaders(param)
	b = b[len(first):]
	for part := 1 + len(b)/5; len(b) > 0; {
		n := min(part, len(b))
		_ = c.fr.WriteContinuation(id, n == len(b), b[:n])
		b = b[n:]
	}
}

// actOn continues a stream.
func (c *modelClient) actOn(s *modelStream) {
	switch {
	case s.toReturn > 0 && c.rnd.IntN(2) == 0:
		_ = c.fr.WriteWindowUpdate(s.id, uint32(s.toReturn))
		s.recvWindow += s.toReturn
		s.toReturn = 0
	case c.rnd.IntN(400) == 0 && c.waste < modelWaste:
		_ = c.fr.WriteRSTStream(s.id, http2.ErrCodeCancel)
		c.waste++
		c.close(s, cancelled)
	case !s.hasEnded:
		c.sendData(s)
	}
}

// sendData sends a part of the content, which is not small unless it is the last.
func (c *modelClient) sendData(s *modelStream) {
	n := min(int64(len(s.unsent)), s.sendWindow, c.sendWindow, int64(256+c.rnd.IntN(1<<14-256)))
	last := n == int64(len(s.unsent))
	if n <= 0 && !last || n < 256 && !last && (c.glitches >= modelGlitches || s.sendWindow < 0) {
		return
	}
	if n < 256 && !last {
		c.glitches++
	}
	padding := min(int64(c.rnd.IntN(10)), s.sendWindow-n-1, c.sendWindow-n-1, 1<<14-n-1)
	trailers := last && c.rnd.IntN(4) == 0
	s.hasEnded = last && !trailers
	if padding > 0 {
		_ = c.fr.WriteDataPadded(s.id, s.hasEnded, s.unsent[:n], make([]byte, padding))
		padding++
	} else {
		_ = c.fr.WriteData(s.id, s.hasEnded, s.unsent[:n])
		padding = 0
	}
	s.unsent = s.unsent[n:]
	s.sendWindow -= n + padding
	c.sendWindow -= n + padding
	if trailers {
		s.hasEnded = true
		if n < 256 {
			c.glitches++
		}
		c.headers(s.id, true, "x-trailer", "yes")
	}
}

// malformed sends a request whose stream is refused.
func (c *modelClient) malformed() {
	s := &modelStream{id: c.next, kind: "malformed", breaks: protocolFail, sendWindow: c.firstSend, recvWindow: c.firstRecv, since: time.Now(), hasEnded: true}
	c.next += 2
	c.waste++
	c.open[s.id] = s
	good := []string{":method", "GET", ":scheme", "http", ":authority", "model", ":path", "/raw", "x-name", "malformed"}
	switch c.rnd.IntN(5) {
	case 0:
		c.headers(s.id, true, append(good, "Upper", "case")...)
	case 1:
		c.headers(s.id, true, append(good, "connection", "close")...)
	case 2:
		c.headers(s.id, true, good[2:]...)
	case 3:
		c.headers(s.id, true, append(good, "content-length", "5")...)
	default:
		// the head is good, the content is not: no handler sees it unless bodies are streamed
		c.headers(s.id, true, append(good, "x", "a\r\nb")...)
	}
}

// modelFaults are frames that end a connection, and the resulting codes.
var modelFaults = []struct {
	write func(c *modelClient)
	code  string
}{
	{func(c *modelClient) { _ = c.fr.WriteRawFrame(http2.FrameSettings, 0, 0, []byte("12345")) }, "FRAME_SIZE_ERROR"},
	{func(c *modelClient) { _ = c.fr.WriteRawFrame(http2.FramePing, 0, 0, []byte("12345")) }, "FRAME_SIZE_ERROR"},
	{func(c *modelClient) { _ = c.fr.WriteRawFrame(http2.FramePing, 0, 1, []byte("12345678")) }, protocolFail},
	{func(c *modelClient) { _ = c.fr.WriteRawFrame(http2.FrameData, 0, 0, []byte("a")) }, protocolFail},
	{func(c *modelClient) { _ = c.fr.WriteRawFrame(http2.FrameData, 0, c.next+100, []byte("a")) }, protocolFail},
	{func(c *modelClient) { _ = c.fr.WriteRawFrame(http2.FramePushPromise, 4, 1, []byte(words(2))) }, protocolFail},
	{func(c *modelClient) { _ = c.fr.WriteRawFrame(http2.FrameWindowUpdate, 0, 0, []byte(words(0))) }, protocolFail},
	{func(c *modelClient) {
		// the window may be at 0
		for range 2 {
			_ = c.fr.WriteRawFrame(http2.FrameWindowUpdate, 0, 0, []byte(words(largeStep)))
		}
	}, "FLOW_CONTROL_ERROR"},
	{func(c *modelClient) {
		_ = c.fr.WriteRawFrame(http2.FrameHeaders, 5, c.next, []byte("\xff\xff\xff\xff\xff\xff\xff"))
	}, "COMPRESSION_ERROR"},
	{func(c *modelClient) { _ = c.fr.WriteRawFrame(http2.FrameHeaders, 5, c.next+1, []byte("\x82")) }, protocolFail},
	{func(c *modelClient) { _ = c.fr.WriteRawFrame(http2.FrameContinuation, 4, 1, []byte("\x82")) }, protocolFail},
	{func(c *modelClient) {
		_ = c.fr.WriteSettings(http2.Setting{ID: http2.SettingMaxFrameSize, Val: 0})
	}, protocolFail},
	{func(c *modelClient) {
		_ = c.fr.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 31})
	}, "FLOW_CONTROL_ERROR"},
	{func(c *modelClient) {
		_ = c.fr.WriteRawFrame(0xbb, 0, 0, bytes.Repeat([]byte("a"), 1<<14+1))
	}, "FRAME_SIZE_ERROR"},
}

// breakRules sends something that ends the connection, possibly while streams are open.
func (c *modelClient) breakRules() {
	for range c.rnd.IntN(5) {
		c.begin()
	}
	f := modelFaults[c.rnd.IntN(len(modelFaults))]
	c.fault = f.code
	f.write(c)
}
