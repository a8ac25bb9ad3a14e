package ws

import (
	"bytes"
	"strings"
	"testing"
)

// receiver passes the same frames to a connection again and again. Feed unmasks in place,
// and a second pass would mask the payload again: so it is binary, or the key is 0.
type receiver struct {
	c     *Conn
	a     Assembler
	l     Limits
	in    []byte
	step  int
	bytes int // of whole messages
}

func newReceiver(r Role, in []byte, step int) *receiver {
	x := &receiver{c: new(Conn), in: in, step: step}
	x.l.Fill()
	x.a.Limit = x.l.Message
	x.c.Init(r, &x.l, Extensions{})
	return x
}

func (x *receiver) next(tb testing.TB) {
	rest := x.in
	var ev Event
	for len(rest) > 0 {
		b := rest[:min(x.step, len(rest))]
		rest = rest[len(b):]
		for len(b) > 0 {
			n, err := x.c.Feed(b, &ev)
			if err != nil {
				tb.Fatal(err)
			}
			if ev.Opcode == Text || ev.Opcode == Binary {
				m, err := x.a.Add(&ev)
				if err != nil {
					tb.Fatal(err)
				}
				if ev.End {
					x.bytes += len(m)
					x.a.Release()
				}
			}
			if b = b[n:]; ev.Opcode == Continuation && n == 0 {
				tb.Fatal("a frame does not end where it should")
			}
		}
	}
}

// zeroKey adds a frame that is masked with zeros.
func zeroKey(dst []byte, o Opcode, p string) []byte {
	return AppendFrame(dst, Head{Opcode: o, Fin: true, Masked: true}, []byte(p))
}

const frames = 64

func smallFrames() []byte {
	s := to(Server)
	for range frames {
		s.frame(fBinary, strings.Repeat("a", 125))
	}
	return s.b
}

func BenchmarkUnmask64KiB(b *testing.B) {
	p := make([]byte, 64<<10+1)[1:]
	b.SetBytes(int64(len(p)))
	for b.Loop() {
		Mask(p, key)
	}
}

func BenchmarkTextCheck64KiB(b *testing.B) {
	for name, text := range map[string]string{"ASCII": "0123456789abcdef", "CJK": "日本語の文字"} {
		p := bytes.Repeat([]byte(text), 64<<10/len(text))
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(p)))
			for b.Loop() {
				var c TextCheck
				if !c.Add(p) {
					b.Fatal("not text")
				}
			}
		})
	}
}

func benchmarkReceive(b *testing.B, r Role, in []byte, messages, step int) {
	x := newReceiver(r, in, step)
	b.SetBytes(int64(len(in)))
	b.ReportAllocs()
	for b.Loop() {
		x.next(b)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*messages), "ns/message")
}

func BenchmarkReceive125(b *testing.B) {
	var text []byte
	for range frames {
		text = zeroKey(text, Text, strings.Repeat("a", 125))
	}
	plain := to(Client)
	for range frames {
		plain.frame(fBinary, strings.Repeat("a", 125))
	}
	b.Run("binary", func(b *testing.B) { benchmarkReceive(b, Server, smallFrames(), frames, 1<<20) })
	b.Run("text", func(b *testing.B) { benchmarkReceive(b, Server, text, frames, 1<<20) })
	b.Run("client", func(b *testing.B) { benchmarkReceive(b, Client, plain.b, frames, 1<<20) })
}

func BenchmarkReceive64KiB(b *testing.B) {
	in := to(Server).frame(fBinary, strings.Repeat("a", 64<<10)).b
	text := zeroKey(nil, Text, strings.Repeat("a", 64<<10))
	b.Run("whole", func(b *testing.B) { benchmarkReceive(b, Server, in, 1, 1<<20) })
	b.Run("text", func(b *testing.B) { benchmarkReceive(b, Server, text, 1, 1<<20) })
	b.Run("parts", func(b *testing.B) { benchmarkReceive(b, Server, in, 1, 16<<10) })
}

func BenchmarkSend125(b *testing.B) {
	payload := []byte(strings.Repeat("a", 125))
	for name, r := range map[string]Role{"server": Server, "client": Client} {
		b.Run(name, func(b *testing.B) {
			c := open(r, Extensions{})
			var out []byte
			b.ReportAllocs()
			for b.Loop() {
				out, _ = c.Send(out[:0], Head{Opcode: Binary, Fin: true, Key: key}, payload)
			}
			if len(out) < len(payload) {
				b.Fatal("nothing was sent")
			}
		})
	}
}
