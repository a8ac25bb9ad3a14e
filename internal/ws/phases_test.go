package ws

import (
	"slices"
	"strings"
	"testing"
)

func panics(f func()) (yes bool) {
	defer func() { yes = recover() != nil }()
	f()
	return false
}

func TestPhasesOfTheClosingHandshake(t *testing.T) {
	names := []string{"open", "close sent", "close received", "failed", "closed"}
	events := []string{"sends close", "receives close", "fails"}
	want := map[string]string{
		"open: sends close":           "close sent",
		"open: receives close":        "close received",
		"open: fails":                 "failed",
		"close sent: receives close":  "closed",
		"close sent: fails":           "closed",
		"close received: sends close": "closed",
		"failed: sends close":         "closed",
	}
	if int(phases) != len(names) || int(moves) != len(events) {
		t.Fatal("the names above are not those of all phases and moves")
	}
	for from, name := range names {
		for m, event := range events {
			c := &Conn{phase: Phase(from)}
			after := ""
			if !panics(func() { c.move(move(m)) }) {
				after = names[c.Phase()]
			} else if c.Phase() != Phase(from) || c.may(move(m)) {
				t.Errorf("%s: %s is refused, and changes it", name, event)
			}
			if after != want[name+": "+event] {
				t.Errorf("%s: %s leads to %q, want %q", name, event, after, want[name+": "+event])
			}
		}
	}
}

// Each phase determines the results of Feed and Send, and the phases that follow.
func TestClosingHandshakes(t *testing.T) {
	fault := to(Server).frame(3, "").b
	closeFrame, text := to(Server).frame(fClose, closeBody(1000, "")).b, to(Server).frame(fText, "a").b
	for _, tt := range []struct {
		name  string
		steps string // frames: "<" is received, ">" is sent
		want  string // the phase after each step, or its error
	}{
		{"of the peer", "<text <close >text >ping <text >close >text >close <fault", "open received received received received closed ! ! closed"},
		{"of this side", ">close >text >ping >close <text <close <text >close", "sent ! ! ! sent closed closed !"},
		{"at the same time", ">close <close >close", "sent closed !"},
		{"a fault", "<text <fault <text >text >ping >close >close <text <close", "open failed error ! ! closed ! error error"},
		{"a fault of a closing peer", ">close <fault >close <close", "sent closed ! error"},
	} {
		s := setup{limits: small}
		s.limits.Fill()
		c := new(Conn)
		c.Init(Server, &s.limits, Extensions{})
		var got []string
		for step := range strings.FieldsSeq(tt.steps) {
			var err error
			if in, received := map[string][]byte{"<text": text, "<close": closeFrame, "<fault": fault}[step]; received {
				wasOver := c.fault != 0
				_, _, err = feed(c, slices.Clone(in))
				if err != nil && wasOver {
					got = append(got, "error")
					continue
				}
			} else {
				h := Head{Opcode: map[string]Opcode{">text": Text, ">ping": Ping, ">close": Close}[step], Fin: true}
				before := []byte("before")
				out, err := c.Send(before, h, nil)
				if err != nil {
					if err != ErrClosing || string(out) != "before" {
						t.Errorf("%s: %s: %q, %v", tt.name, step, out, err)
					}
					got = append(got, "!")
					continue
				}
			}
			got = append(got, []string{"open", "sent", "received", "failed", "closed"}[c.Phase()])
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%s: %s: %q, want %q", tt.name, tt.steps, got, tt.want)
		}
	}
}

// A fault that the caller detects ends the connection like a fault that Feed detects.
func TestFaultsThatTheCallerFinds(t *testing.T) {
	var l Limits
	l.Fill()
	c := new(Conn)
	c.Init(Client, &l, Extensions{Compression: true})
	if _, ev, err := feed(c, to(Client).head(fText|bitRSV1, 1, 10).raw('a').b); err != nil || string(ev.Payload) != "a" || c.Left() != 9 {
		t.Fatalf("%+v, %v, %d bytes are left", ev, err, c.Left())
	}
	if err := c.Fail(ErrMalformedData); err != ErrMalformedData || c.Phase() != Failed || c.Left() != 0 {
		t.Errorf("%v, phase %d, %d bytes are left", err, c.Phase(), c.Left())
	}
	if n, _, err := feed(c, []byte("b")); n != 0 || err != ErrMalformedData {
		t.Errorf("%d, %v", n, err)
	}
	if err := c.Fail(ErrText); err != ErrText {
		t.Error(err)
	}
	if _, _, err := feed(c, []byte("b")); err != ErrMalformedData {
		t.Errorf("a second fault takes the place of the first: %v", err)
	}
}

func TestErrorsHaveCodesThatCanBeSent(t *testing.T) {
	for _, e := range []*Error{
		ErrReserved, ErrOpcode, ErrFragmented, ErrControlSize, ErrContinuation, ErrUnfinished, ErrUnmasked, ErrMasked, ErrLongLength,
		ErrLength, ErrCloseSize, ErrCloseCode, ErrCloseReason, ErrText, ErrMalformedData, ErrMessageSize, ErrManyFragments, ErrEmptyFragments,
	} {
		p, err := AppendClose(nil, e.Code, e.Error())
		if err != nil || len(p) < 10 {
			t.Errorf("%v: %v", e, err)
		}
	}
	for code, want := range map[Code]string{1000: "1000 (normal closure)", 1004: "1004", 1015: "1015 (TLS handshake)", 1016: "1016", 999: "999", 0: "0", 4000: "4000"} {
		if got := code.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
