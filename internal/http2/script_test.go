package http2

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/net/http2/hpack"

	"github.com/valyala/fasthttp/internal/field"
)

// script is the bytes that a peer sends: a naive writer, which writes anything, right or
// wrong.
type script struct {
	b     []byte
	block bytes.Buffer
	enc   *hpack.Encoder
}

func newScript() *script {
	s := new(script)
	s.enc = hpack.NewEncoder(&s.block)
	return s
}

// client begins a script with the beginning of a client, and server with the beginning of a
// server.
func client() *script {
	return newScript().raw(Preface).settings().frame(frameSettings, flagAck, 0, "")
}
func server() *script { return newScript().settings().frame(frameSettings, flagAck, 0, "") }

func (s *script) raw(text string) *script {
	s.b = append(s.b, text...)
	return s
}

func (s *script) frame(kind frameType, flags uint8, id uint32, payload string) *script {
	return s.raw(string(appendFrame(nil, kind, flags, id, len(payload)))).raw(payload)
}

// settings takes pairs of ids and values.
func (s *script) settings(pairs ...uint32) *script {
	var p []byte
	for i := 0; i < len(pairs); i += 2 {
		p = binary.BigEndian.AppendUint16(p, uint16(pairs[i]))
		p = binary.BigEndian.AppendUint32(p, pairs[i+1])
	}
	return s.frame(frameSettings, 0, 0, string(p))
}

// fields encodes a header block: lines of "name: value".
func (s *script) fields(lines ...string) string {
	s.block.Reset()
	for _, line := range lines {
		at := 1 + strings.Index(line[1:], ": ")
		if at == 0 {
			panic(line)
		}
		s.enc.WriteField(hpack.HeaderField{Name: line[:at], Value: line[at+2:]})
	}
	return s.block.String()
}

var get = []string{":method: GET", ":scheme: https", ":authority: example.com", ":path: /"}
var post = []string{":method: POST", ":scheme: https", ":authority: example.com", ":path: /"}

func with(lines []string, more ...string) []string {
	return append(lines[:len(lines):len(lines)], more...)
}

func (s *script) headers(id uint32, flags uint8, lines ...string) *script {
	return s.frame(frameHeaders, flags|flagEndHeaders, id, s.fields(lines...))
}

func (s *script) get(ids ...uint32) *script {
	for _, id := range ids {
		s.headers(id, flagEndStream, get...)
	}
	return s
}

func (s *script) post(ids ...uint32) *script {
	for _, id := range ids {
		s.headers(id, 0, post...)
	}
	return s
}

func (s *script) data(id uint32, flags uint8, p string) *script {
	return s.frame(frameData, flags, id, p)
}

func u32(n ...uint32) string {
	var b []byte
	for _, n := range n {
		b = binary.BigEndian.AppendUint32(b, n)
	}
	return string(b)
}

func (s *script) window(id, n uint32) *script { return s.frame(frameWindowUpdate, 0, id, u32(n)) }

func (s *script) reset(id uint32, code Code) *script {
	return s.frame(frameRSTStream, 0, id, u32(uint32(code)))
}

func (s *script) times(n int, add func(i int)) *script {
	for i := range n {
		add(i)
	}
	return s
}

// show returns the frames in b as text.
func show(t testing.TB, b []byte) (out []string) {
	if rest, found := bytes.CutPrefix(b, []byte(Preface)); found {
		b = rest
	}
	for len(b) > 0 {
		f := parseFrame(b)
		p := b[frameHeadSize:][:f.size]
		b = b[frameHeadSize+f.size:]
		n := func(at int) uint32 { return binary.BigEndian.Uint32(p[at:]) }
		var text string
		switch f.kind {
		case frameData:
			text = fmt.Sprintf("DATA %d: %d", f.id, len(p))
		case frameHeaders:
			text = fmt.Sprintf("HEADERS %d", f.id)
		case frameContinuation:
			text = fmt.Sprintf("CONTINUATION %d", f.id)
		case frameRSTStream:
			text = fmt.Sprintf("RST_STREAM %d: %v", f.id, Code(n(0)))
		case frameGoAway:
			text = fmt.Sprintf("GOAWAY %d: %v", n(0), Code(n(4)))
		case frameWindowUpdate:
			text = fmt.Sprintf("WINDOW_UPDATE %d: %d", f.id, n(0))
		case frameSettings, framePing:
			text = map[frameType]string{frameSettings: "SETTINGS", framePing: "PING"}[f.kind]
			if f.has(flagAck) {
				text += " ack"
			}
			out = append(out, text)
			continue
		default:
			t.Fatalf("a frame of type %d was sent", f.kind)
		}
		if f.kind <= frameHeaders && f.has(flagEndStream) {
			text += " end"
		}
		out = append(out, text)
	}
	return out
}

func filled(l Limits) *Limits {
	l.Fill()
	return &l
}

// run is a connection, with its events and output.
type run struct {
	t      testing.TB
	c      *Conn
	m      Message
	in     []byte
	now    uint32
	events []string
	err    error
	held   map[uint32]*Stream
	out    []byte
	// answer is called for each event, and may send something
	answer func(ev Event)
}

// begin begins a connection that has sent its preface.
func begin(t testing.TB, r Role, l *Limits) *run {
	x := &run{t: t, c: new(Conn), held: map[uint32]*Stream{}}
	x.c.Init(r, l, 0)
	x.take()
	return x
}

func (x *run) take() {
	x.out = append(x.out, x.c.Output(nil, 1<<24)...)
	for x.c.Drained() != nil {
	}
}

// feed passes bytes to the connection in pieces of step.
func (x *run) feed(b []byte, step int) {
	for len(b) > 0 && x.err == nil {
		n := min(step, len(b))
		x.in = append(x.in, b[:n]...)
		b = b[n:]
		x.drive()
	}
}

// drive processes the received bytes as far as possible.
func (x *run) drive() {
	for x.err == nil {
		n, ev, err := x.c.Feed(x.in, x.now, &x.m)
		x.err = err
		x.note(ev)
		x.in = x.in[n:]
		if n == 0 && ev.Kind == None {
			return
		}
	}
}

var kindNames = []string{"", "headers", "interim", "too large", "malformed", "data", "trailers", "reset", "rejected", "go away", "settings", "pong"}

func (x *run) note(ev Event) {
	if ev.Kind == None || ev.Kind == Settings {
		return
	}
	text := kindNames[ev.Kind]
	if ev.Stream != nil {
		text += fmt.Sprintf(" %d", ev.Stream.id)
		if ev.Kind == Headers || ev.Kind == TooLarge || ev.Kind == Malformed {
			x.held[ev.Stream.id] = ev.Stream
		}
	}
	switch ev.Kind {
	case Headers, Interim, Trailers:
		text += ": " + list(&x.m.Fields)
	case Data:
		text += fmt.Sprintf(": %d", len(ev.Payload))
	case Reset, Rejected, GoAway:
		text += ": " + ev.Code.String()
	}
	if ev.End {
		text += " end"
	}
	x.events = append(x.events, strings.TrimSuffix(text, ": "))
	if x.answer != nil {
		x.answer(ev)
	}
}

func list(l *field.List) string {
	var lines []string
	for i := range l.Entries {
		lines = append(lines, fmt.Sprintf("%s=%s", l.Name(i), l.Value(i)))
	}
	return strings.Join(lines, ", ")
}

// frames returns the frames sent since the last call, as text.
func (x *run) frames() []string {
	x.take()
	out := show(x.t, x.out)
	x.out = x.out[:0]
	return out
}

// respond sends a response with a body.
func (x *run) respond(s *Stream, body []byte) {
	if !x.c.CanSend(s, SendHead) {
		return
	}
	b := x.c.Encoder().AppendStatus(x.c.BeginHeaders(), 200)
	x.c.EndHeaders(s, b, SendHead)
	x.c.Send(s, body, true)
}

// request sends a request.
func (x *run) request(s *Stream, part Part) {
	b := x.c.BeginHeaders()
	for _, line := range get {
		name, value, _ := strings.Cut(line[1:], ": ")
		b = x.c.Encoder().AppendField(b, field.Unknown, []byte(":"+name), []byte(value), 0)
	}
	x.c.EndHeaders(s, b, part)
}

// endLingering lets the time pass for which streams may linger.
func (x *run) endLingering() {
	x.t.Helper()
	for range 2 {
		x.now += 1000
		if err := x.c.Tick(x.now); err != nil && x.err == nil {
			x.t.Error(err)
		}
	}
}

// checkBooks compares the counters of a connection with each other.
func checkBooks(t testing.TB, c *Conn) {
	t.Helper()
	unread, kept, heads, open, lingering := int32(0), 0, 0, 0, 0
	for s := range c.table.all {
		open++
		unread += s.unread
		kept += int(s.kept)
		heads += int(s.headSize)
		if !s.held {
			lingering++
			if s.Receiving() != BodyAhead || s.Sending() != Ended || s.unread > 0 || s.place != nowhere {
				t.Errorf("stream %d lingers: receiving %v, sending %v, unread %d, in queue %v", s.id, s.Receiving(), s.Sending(), s.unread, s.place)
			}
		} else if got := s.recvWindow + s.credit + s.unread; s.Receiving() < Ended && got != c.streamWindow() {
			t.Errorf("stream %d: window %d, credit %d, unread %d", s.id, s.recvWindow, s.credit, s.unread)
		}
		if c.table.find(s.id) != s {
			t.Errorf("stream %d is not found", s.id)
		}
	}
	known := c.held + lingering
	if open != c.table.n || c.life != LifeClosed && open > c.active || c.active > known {
		t.Errorf("%d streams in the table of %d, %d active, %d held, %d lingering", open, c.table.n, c.active, c.held, lingering)
	}
	if open == known && (kept != c.kept || heads != c.heads) {
		t.Errorf("%d kept, want %d; heads of %d, want %d", c.kept, kept, c.heads, heads)
	}
	if got := c.recvWindow + c.credit + unread; open == known && c.life != LifeClosed && int(got) != c.l.ConnWindow {
		t.Errorf("connection: window %d, credit %d, unread %d", c.recvWindow, c.credit, unread)
	}
}
