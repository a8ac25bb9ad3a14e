package engine

import (
	"crypto/tls"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp/internal/servertest"
)

// narrow is a protocol of lines with room for as many bytes as a turn has reads. Its Step makes
// room again.
type narrow struct {
	lines
	line   []byte
	unused bool // ReadBuffer has returned no room
}

func (p *narrow) ReadBuffer() []byte {
	p.unused = p.unused || len(p.in) == ioBudget
	return p.in[len(p.in):ioBudget]
}

func (p *narrow) Step() Action {
	if len(p.in) == ioBudget || len(p.in) > 0 && p.in[len(p.in)-1] == '\n' {
		p.line, p.in = append(p.line, p.in...), p.in[:0]
	}
	if len(p.line) > 0 && p.line[len(p.line)-1] == '\n' {
		if p.unused {
			p.line = []byte("no room\n")
		}
		p.out, p.line = append(p.out, p.line...), nil
	}
	return p.lines.Step()
}

func (*narrow) Yield() (w Wait, until time.Time) { return WaitInput, until }

type narrowHost struct{ tlsHost }

func (*narrowHost) AcquireProtocol(c *Conn, _ Link, _ Protocol) Protocol {
	c.Concurrent = true
	return &narrow{lines: lines{c: c, in: make([]byte, 0, ioBudget)}}
}

// together is a connection that writes nothing before send.
type together struct {
	net.Conn
	out []byte
}

func (c *together) Write(p []byte) (int, error) {
	c.out = append(c.out, p...)
	return len(p), nil
}

// The last read of a turn may fill the buffer of a protocol that other goroutines use at the same
// time. Its Step follows then, not another read.
func TestFullBufferAtTheEndOfATurn(t *testing.T) {
	s := newTLSServer(t, new(narrowHost), Limits{})
	raw := s.dial()
	over := &switchable{Conn: raw}
	c := tls.Client(over, clientConfig())
	servertest.Must(t, c.Handshake())
	all := &together{Conn: raw}
	over.Conn = all
	want := strings.Repeat("x", 5*ioBudget) + "\n"
	for i := range want {
		if _, err := c.Write([]byte(want[i : i+1])); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := raw.Write(all.out); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, len(want))
	n, err := c.Read(got)
	for err == nil && !strings.HasSuffix(string(got[:n]), "\n") {
		var more int
		more, err = c.Read(got[n:])
		n += more
	}
	if string(got[:n]) != want || err != nil {
		t.Errorf("got %q, %v", got[:n], err)
	}
}

// switchable is a connection that another one may replace.
type switchable struct{ net.Conn }
