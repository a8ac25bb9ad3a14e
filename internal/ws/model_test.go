package ws

import (
	"fmt"
	"math"
	"testing"
	"unicode/utf8"
)

// outcome is the result of receiving a peer's bytes.
type outcome struct {
	events []string // whole messages and control frames
	part   []byte   // the beginning of a message that has not ended
	err    error
}

func (o outcome) String() string { return fmt.Sprintf("%q, then %q, %v", o.events, o.part, o.err) }

func showMessage(opcode Opcode, compressed bool, payload []byte) string {
	return fmt.Sprintf("%d %v %s", opcode, compressed, payload)
}

func showControl(opcode Opcode, code Code, payload []byte) string {
	return fmt.Sprintf("%d %d %s", opcode, code, payload)
}

// setup is a connection to which a test passes bytes.
type setup struct {
	role   Role
	ext    Extensions
	limits Limits
}

// feed is Conn.Feed with the event as a result.
func feed(c *Conn, b []byte) (n int, ev Event, err error) {
	n, err = c.Feed(b, &ev)
	return n, ev, err
}

// feed passes a copy of in to a new connection, in pieces of step bytes, and checks the
// guarantees of Feed for its events.
func (s setup) feed(t *testing.T, in []byte, step int) (o outcome) {
	t.Helper()
	s.limits.Fill()
	c := new(Conn)
	c.Init(s.role, &s.limits, s.ext)
	in = append([]byte(nil), in...)
	from, to := 0, 0
	var opcode Opcode // of the message that has begun
	for to < len(in) || from < to {
		if to < len(in) {
			to = min(to+step, len(in))
		}
		for {
			n, ev, err := feed(c, in[from:to:to])
			from += n
			if err != nil {
				o.err = err
				if n, ev, again := feed(c, in[from:to:to]); n != 0 || ev.Opcode != Continuation || again != err {
					t.Fatalf("after %v: %d, %v, %v", err, n, ev, again)
				}
				if c.Phase() != Failed {
					t.Fatalf("after %v the phase is %d", err, c.Phase())
				}
				return o
			}
			if ev.Opcode == Continuation {
				break
			}
			if ev.Opcode.IsControl() {
				if cap(ev.Payload) != len(ev.Payload) {
					t.Fatalf("appending to %+v changes what follows it", ev)
				}
				o.events = append(o.events, showControl(ev.Opcode, ev.Code, ev.Payload))
				continue
			}
			if ev.First != (opcode == Continuation) || !ev.First && ev.Opcode != opcode || len(ev.Payload) == 0 && !ev.End || cap(ev.Payload) != len(ev.Payload) {
				t.Fatalf("a part %+v in a message of type %d", ev, opcode)
			}
			opcode, o.part = ev.Opcode, append(o.part, ev.Payload...)
			if ev.End {
				o.events = append(o.events, showMessage(ev.Opcode, ev.Compressed, o.part))
				opcode, o.part = Continuation, nil
			}
		}
		if left := to - from; left >= MaxNeeded {
			t.Fatalf("Feed does not take any of %d bytes", left)
		} else if to == len(in) {
			break
		}
	}
	return o
}

// model returns the expected outcome for in. It follows RFC 6455 frame by frame, with
// everything in memory.
func (s setup) model(in []byte) outcome {
	s.limits.Fill()
	m := &model{setup: s}
	for len(in) > 0 {
		f, rest := m.head(in)
		if f == nil {
			break
		}
		in = rest
		if !m.take(f) {
			break
		}
	}
	m.o.part = m.message
	return m.o
}

// model is the state of a connection.
type model struct {
	setup
	o                   outcome
	message             []byte
	opcode              byte
	begun, compressed   bool
	frames, empty, size uint64
}

// modelFrame is a frame. Its payload is incomplete if the rest has not arrived.
type modelFrame struct {
	fin      bool
	rsv, op  byte
	length   uint64
	payload  []byte
	complete bool
}

// head reads the next frame. It returns none if the head, or the payload of a control
// frame, has not arrived or is a fault.
func (m *model) head(in []byte) (f *modelFrame, rest []byte) {
	f = &modelFrame{fin: in[0]>>7 == 1, rsv: in[0] >> 4 & 7, op: in[0] & 15}
	m.o.err = m.firstBytes(f, in)
	if m.o.err != nil || len(in) == 1 {
		return nil, nil
	}
	f.length, rest = uint64(in[1]%128), in[2:]
	if more := map[uint64]int{126: 2, 127: 8}[f.length]; more > 0 {
		if len(rest) < more {
			return nil, nil
		}
		f.length = 0
		for _, c := range rest[:more] {
			f.length = f.length*256 + uint64(c)
		}
		rest = rest[more:]
		switch least := map[int]uint64{2: 126, 8: 65536}[more]; {
		case f.length >= 1<<63:
			m.o.err = ErrLength
		case f.length < least:
			m.o.err = ErrLongLength
		}
	}
	if m.o.err == nil && f.op < 8 {
		m.o.err = m.count(f)
	}
	if m.o.err != nil {
		return nil, nil
	}
	key := []byte{0, 0, 0, 0}
	if m.role == Server {
		if len(rest) < 4 {
			return nil, nil
		}
		key, rest = rest[:4], rest[4:]
	}
	for i := 0; uint64(i) < f.length && i < len(rest); i++ {
		f.payload = append(f.payload, rest[i]^key[i%4])
	}
	f.complete = uint64(len(f.payload)) == f.length
	if f.op >= 8 && !f.complete {
		return nil, nil
	}
	return f, rest[len(f.payload):]
}

// firstBytes returns the error in the first two bytes of a frame, or in the first one if
// the second has not arrived.
func (m *model) firstBytes(f *modelFrame, in []byte) error {
	control := f.op >= 8
	switch {
	case f.rsv != 0 && !(f.rsv == 4 && m.ext.Compression && f.op > 0 && !control):
		return ErrReserved
	case f.op != 0 && f.op != 1 && f.op != 2 && f.op != 8 && f.op != 9 && f.op != 10:
		return ErrOpcode
	case control && !f.fin:
		return ErrFragmented
	case f.op == 0 && !m.begun:
		return ErrContinuation
	case f.op > 0 && !control && m.begun:
		return ErrUnfinished
	case len(in) == 1:
	case m.role == Server && in[1] < 128:
		return ErrUnmasked
	case m.role == Client && in[1] >= 128:
		return ErrMasked
	case control && in[1]%128 > 125:
		return ErrControlSize
	}
	return nil
}

// count returns the error of a data frame that exceeds a limit.
func (m *model) count(f *modelFrame) error {
	m.frames++
	if f.length == 0 {
		m.empty++
	}
	m.size += f.length
	limit := uint64(m.limits.Message)
	if m.compressed || !m.begun && f.rsv == 4 {
		limit = min(limit+limit/8+1024, math.MaxInt64)
	}
	switch {
	case m.size > limit:
		return ErrMessageSize
	case m.frames > uint64(m.limits.Fragments):
		return ErrManyFragments
	case m.empty > uint64(m.limits.Empty):
		return ErrEmptyFragments
	}
	return nil
}

// take makes events of a frame, and reports whether more frames may follow.
func (m *model) take(f *modelFrame) bool {
	if f.op == 8 {
		var event string
		if event, m.o.err = modelClose(f.payload); m.o.err == nil {
			m.o.events = append(m.o.events, event)
		}
		return false
	}
	if f.op > 8 {
		m.o.events = append(m.o.events, showControl(Opcode(f.op), 0, f.payload))
		return true
	}
	if !m.begun {
		m.begun, m.opcode, m.compressed = true, f.op, f.rsv == 4
	}
	m.message = append(m.message, f.payload...)
	ended := f.fin && f.complete
	if m.opcode == 1 && !m.compressed && (!modelText(m.message) || ended && !utf8.Valid(m.message)) {
		m.o.err = ErrText
		return false
	}
	if ended {
		m.o.events = append(m.o.events, showMessage(Opcode(m.opcode), m.compressed, m.message))
		*m = model{setup: m.setup, o: m.o}
	}
	return true
}

func modelClose(payload []byte) (event string, err error) {
	if len(payload) == 0 {
		return showControl(Close, 1005, nil), nil
	}
	if len(payload) == 1 {
		return "", ErrCloseSize
	}
	code := Code(payload[0])*256 + Code(payload[1])
	if !modelOnWire(code) {
		return "", ErrCloseCode
	}
	if !utf8.Valid(payload[2:]) {
		return "", ErrCloseReason
	}
	return showControl(Close, code, payload[2:]), nil
}

func modelOnWire(c Code) bool {
	switch c {
	case 1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 1012, 1013, 1014:
		return true
	}
	return 3000 <= c && c <= 4999
}

// modelText reports whether p can be the beginning of a text.
func modelText(p []byte) bool {
	for len(p) > 0 && utf8.FullRune(p) {
		r, n := utf8.DecodeRune(p)
		if r == utf8.RuneError && n == 1 {
			return false
		}
		p = p[n:]
	}
	return true
}
