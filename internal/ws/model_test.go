package ws

import (
	"fmt"
	"testing"
	"unicode/utf8"
)

// outcome is what becomes of bytes that a peer has sent.
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

// feed passes a copy of in to a new connection, step bytes at a time, and checks what Feed
// promises of its events.
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
				o.events = append(o.events, showControl(ev.Opcode, ev.Code, ev.Payload))
				continue
			}
			if ev.First != (opcode == Continuation) || !ev.First && ev.Opcode != opcode || len(ev.Payload) == 0 && !ev.End {
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

// model returns what must become of bytes, by going through RFC 6455 frame by frame, with
// everything in memory.
func (s setup) model(in []byte) (o outcome) {
	s.limits.Fill()
	var message []byte
	var opcode Opcode
	compressed, begun, frames, empty, size := false, false, int64(0), int64(0), uint64(0)
	defer func() { o.part = message }()
	for len(in) > 0 {
		fin, rsv, op := in[0]>>7 == 1, in[0]>>4&7, in[0]&15
		control := op >= 8
		may := s.ext.Compression && op > 0 && op < 8
		switch {
		case rsv != 0 && !(rsv == 4 && may):
			o.err = ErrReserved
		case op != 0 && op != 1 && op != 2 && op != 8 && op != 9 && op != 10:
			o.err = ErrOpcode
		case control && !fin:
			o.err = ErrFragmented
		case op == 0 && !begun:
			o.err = ErrContinuation
		case op > 0 && op < 8 && begun:
			o.err = ErrUnfinished
		case len(in) == 1:
		case s.role == Server && in[1] < 128:
			o.err = ErrUnmasked
		case s.role == Client && in[1] >= 128:
			o.err = ErrMasked
		case control && in[1]%128 > 125:
			o.err = ErrControlSize
		}
		if o.err != nil || len(in) == 1 {
			return o
		}
		length, rest := uint64(in[1]%128), in[2:]
		if more := map[uint64]int{126: 2, 127: 8}[length]; more > 0 {
			if len(rest) < more {
				return o
			}
			length = 0
			for _, c := range rest[:more] {
				length = length*256 + uint64(c)
			}
			rest = rest[more:]
			switch least := map[int]uint64{2: 126, 8: 65536}[more]; {
			case length >= 1<<63:
				o.err = ErrLength
			case length < least:
				o.err = ErrLongLength
			}
		}
		if !control {
			frames++
			if length == 0 {
				empty++
			}
			size += length
			limit := uint64(s.limits.Message)
			if compressed || !begun && rsv == 4 {
				limit += limit/8 + 1024
			}
			switch {
			case o.err != nil:
			case size > limit:
				o.err = ErrMessageSize
			case frames > s.limits.Fragments:
				o.err = ErrManyFragments
			case empty > s.limits.Empty:
				o.err = ErrEmptyFragments
			}
		}
		if o.err != nil {
			return o
		}
		key := []byte{0, 0, 0, 0}
		if s.role == Server {
			if len(rest) < 4 {
				return o
			}
			key, rest = rest[:4], rest[4:]
		}
		complete := uint64(len(rest)) >= length
		if control && !complete {
			return o
		}
		var payload []byte
		for i := 0; uint64(i) < length && i < len(rest); i++ {
			payload = append(payload, rest[i]^key[i%4])
		}
		in = rest[len(payload):]
		if op == 8 {
			var event string
			if event, o.err = modelClose(payload); o.err == nil {
				o.events = append(o.events, event)
			}
			return o
		}
		if control {
			o.events = append(o.events, showControl(Opcode(op), 0, payload))
			continue
		}
		if !begun {
			begun, opcode, compressed = true, Opcode(op), rsv == 4
		}
		message = append(message, payload...)
		ended := fin && complete
		if opcode == Text && !compressed && (!modelText(message) || ended && !utf8.Valid(message)) {
			o.err = ErrText
			return o
		}
		if ended {
			o.events = append(o.events, showMessage(opcode, compressed, message))
			message, opcode, compressed, begun, frames, empty, size = nil, 0, false, false, 0, 0, 0
		}
	}
	return o
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
