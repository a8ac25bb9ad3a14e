package http2

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/valyala/fasthttp/internal/bytesconv"
	"github.com/valyala/fasthttp/internal/field"
)

// model is a peer on golang.org/x/net's Framer that keeps the rules: it has windows of its
// own, and detects if the connection's windows differ. The content of messages follows from
// the id of their stream, so that each side can check the other.
type model struct {
	t    *testing.T
	rnd  *rand.Rand
	role Role // of the peer

	in    bytes.Buffer // bytes received
	out   bytes.Buffer // bytes sent
	fr    *http2.Framer
	block bytes.Buffer
	enc   *hpack.Encoder

	streams              map[uint32]*modelStream
	next                 uint32
	sendWindow           int64 // on all streams
	recvWindow           int64
	firstSend, firstRecv int64 // of new streams
	toReturn             int64
	acks                 []int64 // the windows that the other side has not yet acknowledged
	pings                int
	table                uint32
}

type modelStream struct {
	id                     uint32
	sendWindow, recvWindow int64
	unsent                 []byte
	got                    int
	hasSentHead, hasEnded  bool
	gotHead, gotEnd, over  bool
	toReturn               int64
}

func newModel(t *testing.T, role Role, rnd *rand.Rand) *model {
	p := &model{
		t: t, rnd: rnd, role: role, next: 1, streams: map[uint32]*modelStream{},
		table: 4096, sendWindow: firstWindow, recvWindow: firstWindow, firstSend: firstWindow, firstRecv: firstWindow,
	}
	p.fr = http2.NewFramer(&p.out, &p.in)
	p.fr.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	p.enc = hpack.NewEncoder(&p.block)
	if role == Client {
		p.out.WriteString(Preface)
	}
	p.settings()
	return p
}

// content returns the content that one side sends on a stream.
func content(id uint32, from Role) []byte {
	rnd := rand.New(rand.NewPCG(uint64(id), uint64(from)))
	n := rnd.IntN(300)
	if rnd.IntN(3) == 0 {
		n = rnd.IntN(longestContent)
	}
	return contents()[byte(id)][:n:n]
}

// contents has the longest content for each last byte of an id. Each frame is compared with a part
// of it, for which making it anew would take most of the time of a test.
var contents = sync.OnceValue(func() *[256][longestContent]byte {
	all := new([256][longestContent]byte)
	for id := range all {
		for i := range all[id] {
			all[id][i] = byte(i*7) ^ byte(id)
		}
	}
	return all
})

const longestContent = 100_000

// hasTrailers reports whether a message has trailers.
func hasTrailers(id uint32, from Role) bool { return (id/2+uint32(from))%3 == 0 }

func (p *model) other() Role { return 1 - p.role }

func (p *model) stream(id uint32) *modelStream {
	s := p.streams[id]
	if s == nil {
		s = &modelStream{id: id, sendWindow: p.firstSend, recvWindow: p.firstRecv, unsent: slices.Clone(content(id, p.role))}
		p.streams[id] = s
	}
	return s
}

// settings changes the window of streams.
func (p *model) settings() {
	window := int64(p.rnd.IntN(100_000))
	// x/net's decoder refuses two size updates in a block, which would be necessary for a
	// size that rises again (RFC 7541 section 4.2)
	p.table -= uint32(p.rnd.IntN(int(p.table)/4 + 1))
	p.acks = append(p.acks, window)
	p.fr.WriteSettings(
		http2.Setting{ID: http2.SettingInitialWindowSize, Val: uint32(window)},
		http2.Setting{ID: http2.SettingMaxFrameSize, Val: uint32(1<<14 + p.rnd.IntN(1<<14))},
		http2.Setting{ID: http2.SettingHeaderTableSize, Val: p.table},
	)
}

// receive reads all frames that have arrived completely.
func (p *model) receive(b []byte) {
	p.in.Write(bytes.TrimPrefix(b, []byte(Preface)))
	for p.in.Len() > 0 {
		f, err := p.fr.ReadFrame()
		if err != nil {
			p.t.Fatalf("the peer cannot read a frame: %v", err)
		}
		switch f := f.(type) {
		case *http2.SettingsFrame:
			p.receiveSettings(f)
		case *http2.WindowUpdateFrame:
			p.receiveWindow(f)
		case *http2.MetaHeadersFrame:
			p.receiveHeaders(f)
		case *http2.DataFrame:
			p.receiveData(f)
		case *http2.RSTStreamFrame:
			p.stream(f.StreamID).over = true
		case *http2.PingFrame:
			p.pings--
		default:
			p.t.Fatalf("the peer has received %v", f)
		}
	}
}

func (p *model) receiveSettings(f *http2.SettingsFrame) {
	if f.IsAck() {
		change := p.acks[0] - p.firstRecv
		p.firstRecv = p.acks[0]
		p.acks = p.acks[1:]
		for _, s := range p.streams {
			s.recvWindow += change
		}
		return
	}
	if v, ok := f.Value(http2.SettingInitialWindowSize); ok {
		for _, s := range p.streams {
			s.sendWindow += int64(v) - p.firstSend
		}
		p.firstSend = int64(v)
	}
	p.fr.WriteSettingsAck()
}

func (p *model) receiveWindow(f *http2.WindowUpdateFrame) {
	if f.StreamID == 0 {
		p.sendWindow += int64(f.Increment)
	} else {
		p.stream(f.StreamID).sendWindow += int64(f.Increment)
	}
}

func (p *model) receiveHeaders(f *http2.MetaHeadersFrame) {
	s := p.stream(f.StreamID)
	switch {
	case s.gotEnd:
		p.t.Fatalf("stream %d: HEADERS after the end", s.id)
	case !s.gotHead && f.PseudoValue("status") == "103":
		return
	case !s.gotHead:
		s.gotHead = true
		for _, field := range f.RegularFields() {
			if field.Name == "x-id" && field.Value != fmt.Sprint(s.id) {
				p.t.Fatalf("stream %d: the head of %s", s.id, field.Value)
			}
		}
	case !hasTrailers(s.id, p.other()) || !f.StreamEnded():
		p.t.Fatalf("stream %d: trailers", s.id)
	}
	if f.StreamEnded() {
		p.end(s)
	}
}

func (p *model) end(s *modelStream) {
	s.gotEnd = true
	if want := len(content(s.id, p.other())); s.got != want && !s.over {
		p.t.Fatalf("stream %d: %d bytes, want %d", s.id, s.got, want)
	}
}

func (p *model) receiveData(f *http2.DataFrame) {
	s := p.stream(f.StreamID)
	n := int64(len(f.Data()))
	s.recvWindow -= n
	p.recvWindow -= n
	// the window can have shrunk under bytes sent before the other side knew
	if p.recvWindow < 0 || s.recvWindow < 0 && len(p.acks) == 0 && n > 0 {
		p.t.Fatalf("stream %d: %d bytes too many, %d on all", s.id, -s.recvWindow, -p.recvWindow)
	}
	if !s.gotHead || s.gotEnd || !bytes.HasPrefix(content(s.id, p.other())[s.got:], f.Data()) {
		p.t.Fatalf("stream %d: wrong content at %d", s.id, s.got)
	}
	s.got += int(n)
	s.toReturn += n
	p.toReturn += n
	if f.StreamEnded() {
		p.end(s)
	}
}

// act does something at random that the rules permit.
func (p *model) act(mayBegin bool) {
	switch k := p.rnd.IntN(20); {
	case k == 0 && len(p.acks) == 0 && p.rnd.IntN(10) == 0:
		p.settings()
	case k == 1 && p.toReturn > 0:
		p.fr.WriteWindowUpdate(0, uint32(p.toReturn))
		p.recvWindow += p.toReturn
		p.toReturn = 0
	case k == 2 && p.rnd.IntN(5) == 0:
		p.fr.WritePing(false, [8]byte{1})
		p.pings++
	case k == 3 && p.rnd.IntN(10) == 0:
		p.fr.WriteRawFrame(0xbb, 0xff, 1, []byte("whatever"))
	case k < 8 && p.role == Client && mayBegin:
		s := p.stream(p.next)
		p.next += 2
		p.sendHead(s)
	default:
		for _, s := range p.streams {
			if !s.over {
				p.actOn(s)
			}
			if p.rnd.IntN(3) == 0 {
				break
			}
		}
	}
}

func (p *model) actOn(s *modelStream) {
	switch {
	case s.toReturn > 0 && !s.gotEnd && p.rnd.IntN(2) == 0:
		p.fr.WriteWindowUpdate(s.id, uint32(s.toReturn))
		s.recvWindow += s.toReturn
		s.toReturn = 0
	case s.hasEnded:
	case !s.hasSentHead:
		if s.gotHead {
			p.sendHead(s)
		}
	case p.rnd.IntN(100) == 0:
		p.fr.WriteRSTStream(s.id, http2.ErrCodeCancel)
		s.over = true
	default:
		p.sendData(s)
	}
}

func (p *model) sendData(s *modelStream) {
	n := min(int64(len(s.unsent)), s.sendWindow, p.sendWindow, int64(p.rnd.IntN(1<<14)))
	padding := min(int64(p.rnd.IntN(10)), max(0, s.sendWindow-n-1), max(0, p.sendWindow-n-1), 1<<14-n-1)
	if len(s.unsent) > 0 && n <= 0 {
		return
	}
	last := int(n) == len(s.unsent)
	s.hasEnded = last && !hasTrailers(s.id, p.role)
	if padding > 0 {
		p.fr.WriteDataPadded(s.id, s.hasEnded, s.unsent[:n], make([]byte, padding))
		n += padding + 1
		s.unsent = s.unsent[n-padding-1:]
	} else {
		p.fr.WriteData(s.id, s.hasEnded, s.unsent[:n])
		s.unsent = s.unsent[n:]
	}
	s.sendWindow -= n
	p.sendWindow -= n
	if last && !s.hasEnded {
		s.hasEnded = true
		p.headers(s.id, true, "x-trailer", "yes")
	}
}

func (p *model) sendHead(s *modelStream) {
	s.hasSentHead = true
	s.hasEnded = len(s.unsent) == 0 && !hasTrailers(s.id, p.role)
	fields := []string{":status", "200"}
	if p.role == Client {
		fields = []string{":method", "POST", ":scheme", "https", ":path", "/" + fmt.Sprint(s.id), ":authority", "a"}
	} else if p.rnd.IntN(4) == 0 {
		p.headers(s.id, false, ":status", "103", "link", "a")
	}
	fields = append(fields, "x-id", fmt.Sprint(s.id), "cookie", "a=b", "cookie", "c")
	if p.rnd.IntN(2) == 0 {
		fields = append(fields, "content-length", fmt.Sprint(len(s.unsent)))
	}
	p.headers(s.id, s.hasEnded, fields...)
}

// headers writes a header block, whole or in parts.
func (p *model) headers(id uint32, end bool, pairs ...string) {
	p.block.Reset()
	for i := 0; i < len(pairs); i += 2 {
		p.enc.WriteField(hpack.HeaderField{Name: pairs[i], Value: pairs[i+1], Sensitive: p.rnd.IntN(5) == 0})
	}
	b := p.block.Bytes()
	first := b
	if p.rnd.IntN(4) == 0 {
		first = b[:p.rnd.IntN(len(b))]
	}
	param := http2.HeadersFrameParam{StreamID: id, BlockFragment: first, EndStream: end, EndHeaders: len(first) == len(b)}
	if p.rnd.IntN(4) == 0 {
		param.PadLength = uint8(p.rnd.IntN(256))
	}
	if p.rnd.IntN(8) == 0 {
		param.Priority = http2.PriorityParam{StreamDep: 0, Weight: 5}
	}
	p.fr.WriteHeaders(param)
	for b = b[len(first):]; len(b) > 0; {
		n := min(len(b), 1+len(b)/2)
		p.fr.WriteContinuation(id, n == len(b), b[:n])
		b = b[n:]
	}
}

// app is the user of the connection: it sends content, and compares received content.
type app struct {
	*run
	rnd  *rand.Rand
	role Role
	open map[*Stream]*task
	done int
}

type task struct {
	s       *Stream
	got     int
	unread  int
	rest    []byte
	isBegun bool
	isOver  bool // of the peer's message
	isReset bool
}

func (a *app) handle(ev Event) {
	t := a.open[ev.Stream]
	switch ev.Kind {
	case Rejected, TooLarge, Malformed, GoAway:
		a.t.Fatalf("an event of kind %d: %v", ev.Kind, ev.Err)
	case Headers:
		if t == nil {
			t = &task{s: ev.Stream, rest: slices.Clone(content(ev.Stream.id, a.role))}
			a.open[ev.Stream] = t
		}
		if got := list(&a.m.Fields); got != "" && !bytes.Contains([]byte(got), fmt.Appendf(nil, "X-Id=%d,", ev.Stream.id)) {
			a.t.Fatalf("stream %d: fields %q", ev.Stream.id, got)
		}
	case Data:
		if !bytes.HasPrefix(content(ev.Stream.id, 1-a.role)[t.got:], ev.Payload) {
			a.t.Fatalf("stream %d: wrong content", ev.Stream.id)
		}
		t.got += len(ev.Payload)
		t.unread += len(ev.Payload)
	case Trailers:
		if list(&a.m.Fields) != "X-Trailer=yes" {
			a.t.Fatalf("stream %d: trailers %q", ev.Stream.id, list(&a.m.Fields))
		}
	case Reset:
		if ev.Err != nil {
			a.t.Fatalf("stream %d: %v", ev.Stream.id, ev.Err)
		}
		t.isReset = true
	}
	if ev.End {
		t.isOver = true
		if want := len(content(ev.Stream.id, 1-a.role)); t.got != want {
			a.t.Fatalf("stream %d: %d bytes, want %d", ev.Stream.id, t.got, want)
		}
	}
}

func (a *app) act(mayBegin bool) {
	if a.role == Client && mayBegin && a.rnd.IntN(3) == 0 {
		if s := a.c.Open(); s != nil {
			t := &task{s: s}
			a.open[s] = t
			a.sendHead(t)
		}
	}
	for _, t := range a.open {
		a.actOn(t)
		if a.rnd.IntN(3) == 0 {
			break
		}
	}
}

func (a *app) actOn(t *task) {
	s := t.s
	if t.unread > 0 {
		n := 1 + a.rnd.IntN(t.unread)
		a.c.Consumed(s, n)
		t.unread -= n
	}
	switch {
	case t.isReset || s.Closed() && t.isOver && t.unread == 0, a.rnd.IntN(500) == 0:
		a.c.Release(s)
		delete(a.open, s)
		a.done++
	case !t.isBegun:
		a.sendHead(t)
	case s.Sending() == BodyAhead && s.Unsent() == 0:
		n := a.rnd.IntN(len(t.rest) + 1)
		if a.rnd.IntN(2) == 0 {
			n = len(t.rest)
		}
		part := t.rest[:n]
		t.rest = t.rest[n:]
		trailers := hasTrailers(s.id, a.role)
		if len(t.rest) == 0 && n == 0 && trailers {
			if a.c.CanSend(s, SendTrailers) {
				b := a.c.Encoder().AppendField(a.c.BeginHeaders(), field.Unknown, []byte("X-Trailer"), []byte("yes"), 0)
				a.c.EndHeaders(s, b, SendTrailers)
			}
			return
		}
		if a.c.CanSend(s, SendTrailers) {
			a.c.Send(s, part, len(t.rest) == 0 && !trailers)
		}
	}
}

func (a *app) sendHead(t *task) {
	t.isBegun = true
	part := SendHead
	if a.role == Server && a.rnd.IntN(4) == 0 {
		a.c.EndHeaders(t.s, a.c.Encoder().AppendStatus(a.c.BeginHeaders(), 103), SendInterim)
	}
	if a.role == Server {
		if len(t.rest) == 0 && !hasTrailers(t.s.id, a.role) {
			part = SendWhole
		}
		b := a.c.Encoder().AppendStatus(a.c.BeginHeaders(), 200)
		b = a.c.Encoder().AppendField(b, field.Unknown, []byte("X-Id"), fmt.Append(nil, t.s.id), 0)
		a.c.EndHeaders(t.s, b, part)
		return
	}
	b := a.c.BeginHeaders()
	for _, pair := range [][2]string{{":method", "POST"}, {":scheme", "http"}, {":path", "/"}, {":authority", "b"}} {
		b = a.c.Encoder().AppendField(b, field.Unknown, bytesconv.Bytes(pair[0]), bytesconv.Bytes(pair[1]), 0)
	}
	a.c.EndHeaders(t.s, b, SendHead)
	t.rest = slices.Clone(content(t.s.id, a.role))
}

// exchange moves bytes both ways, in parts of any size.
func (a *app) exchange(p *model) {
	for sent, _ := io.ReadAll(&p.out); len(sent) > 0 && a.err == nil; {
		n := min(1+a.rnd.IntN(20000), len(sent))
		a.feed(sent[:n], 1+a.rnd.IntN(20000))
		sent = sent[n:]
	}
	if a.err != nil {
		a.t.Fatalf("the connection ends: %v", a.err)
	}
	var out []byte
	for a.c.HasOutput() {
		out = a.c.Output(out, 522+a.rnd.IntN(20000))
	}
	for a.c.Drained() != nil {
	}
	p.receive(out)
}

// TestExchangesWithAnotherImplementation makes thousands of exchanges with a peer on
// another implementation, in both roles. At the end, all windows have their initial sizes.
func TestExchangesWithAnotherImplementation(t *testing.T) {
	exchanges := 3000
	if testing.Short() {
		exchanges = 300
	}
	for _, role := range []Role{Server, Client} {
		for seed := range uint64(4) {
			rnd := rand.New(rand.NewPCG(seed, 7))
			limits := filled(Limits{
				Window: 1000 + rnd.IntN(200_000), ConnWindow: firstWindow + rnd.IntN(300_000), Glitches: -1, Wasted: -1, Continuations: 20,
			})
			a := &app{run: begin(t, role, limits), rnd: rnd, role: role, open: map[*Stream]*task{}}
			a.answer = a.handle
			p := newModel(t, 1-role, rnd)
			p.receive(a.run.out)
			for a.done < exchanges/4 {
				for range 1 + rnd.IntN(20) {
					p.act(len(a.open) < 50)
				}
				a.exchange(p)
				a.act(len(a.open) < 50)
				a.exchange(p)
				checkBooks(t, a.c)
				a.events = nil
			}
			// open streams run to their end, or are reset
			for i := 0; len(a.open) > 0; i++ {
				if i > 100_000 {
					t.Fatalf("role %d, seed %d: %d streams do not end", role, seed, len(a.open))
				}
				p.act(false)
				a.act(false)
				a.exchange(p)
			}
			a.endLingering()
			a.exchange(p)
			for len(p.acks) > 0 || p.pings > 0 {
				a.exchange(p)
			}
			checkBooks(t, a.c)
			if got := int64(a.c.recvWindow); got != p.sendWindow {
				t.Errorf("role %d, seed %d: the peer may send %d, we accept %d", role, seed, p.sendWindow, got)
			}
			if got := int64(a.c.sendWindow); got != p.recvWindow {
				t.Errorf("role %d, seed %d: we may send %d, the peer accepts %d", role, seed, got, p.recvWindow)
			}
			if a.c.Held() != 0 || a.c.Streams() != 0 || a.c.heads != 0 {
				t.Errorf("role %d, seed %d: %d streams are held, %d open", role, seed, a.c.Held(), a.c.Streams())
			}
		}
	}
}
