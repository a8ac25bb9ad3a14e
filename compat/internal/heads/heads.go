// Package heads is shared by the programs reqheader and respheader, which pass the same kinds of
// input to RequestHeader and to ResponseHeader.
package heads

import (
	"bufio"
	"fmt"
	"iter"
	"strings"

	"github.com/valyala/fasthttp/compat/internal/ops"
	"github.com/valyala/fasthttp/compat/internal/report"
)

// A Header is a RequestHeader or a ResponseHeader.
type Header[H any] interface {
	*H
	All() iter.Seq2[[]byte, []byte]
	ConnectionClose() bool
	ContentLength() int
	Read(r *bufio.Reader) error
	String() string
}

// A Program reports about one of the two types.
type Program[H any, P Header[H]] struct {
	Ops  ops.Set
	Dump func(*report.Case, P) // prints the results of all accessors
}

// Sequence makes the calls and prints the wire form after each of them, then the results of all
// accessors.
func (p *Program[H, P]) Sequence(id string, calls []ops.Op) { p.play(id, calls, p.Dump) }

// Brief does the same, but ends with only the parts that a hostile string could have broken.
func (p *Program[H, P]) Brief(id string, calls []ops.Op) {
	p.play(id, calls, func(c *report.Case, h P) {
		c.Pairs("all", report.PairsOf(h.All()))
		if n := h.ContentLength(); n != 0 {
			c.Val("content-length", n)
		}
		if h.ConnectionClose() {
			c.Str("close", "true")
		}
		c.Str("wire", report.MaskDates(h.String()))
	})
}

func (p *Program[H, P]) play(id string, calls []ops.Op, dump func(*report.Case, P)) {
	report.Run(id, func(c *report.Case) {
		h := P(new(H))
		last := ""
		p.Ops.Play(c, h, calls, func(i int) {
			if wire := report.MaskDates(h.String()); wire != last && i < len(calls)-1 {
				c.Str(fmt.Sprintf("%d.wire", i), wire)
				last = wire
			}
		})
		dump(c, h)
	})
}

// Peeks prints the values of each of the names.
func Peeks(c *report.Case, all func(name string) [][]byte, first func(name string) []byte, names ...string) {
	for _, k := range names {
		list := all(k)
		c.List("peek-all "+k, list)
		if one := first(k); len(list) == 0 || string(list[0]) != string(one) {
			c.Bytes("peek "+k, one)
		}
	}
}

// A Head is raw input. What comes after its end stays in the reader.
type Head = struct{ ID, Raw string }

// Reads reads all of the heads, some of them with each of the modes, too, and a whole head that
// is cut at every place.
func (p *Program[H, P]) Reads(list []Head, whole string, modes ...Mode[P]) {
	read := func(id, raw string, set func(P)) {
		p.read(id, raw, func(_ *report.Case, h P, r *bufio.Reader) error {
			set(h)
			return h.Read(r)
		})
	}
	asIs := func(P) {}
	for _, x := range list {
		read("read/"+x.ID, x.Raw, asIs)
	}
	for _, x := range list {
		if strings.Contains(x.ID, "names") || strings.HasPrefix(x.ID, "dup") || strings.HasPrefix(x.ID, "conn") || strings.HasPrefix(x.ID, "fold") {
			for _, m := range modes {
				read(m.Name+"/"+x.ID, x.Raw, m.Set)
			}
		}
	}
	for n := range len(whole) {
		read(fmt.Sprintf("read-cut/%02d", n), whole[:n], asIs)
	}
}

// A Mode is a setting of a header.
type Mode[P any] struct {
	Name string
	Set  func(P)
}

// Trailers reads trailer sections. The function reads one into a header that announces some.
func (p *Program[H, P]) Trailers(read func(c *report.Case, h P, r *bufio.Reader) error) {
	for _, x := range trailers {
		p.read("trailer/"+x.ID, x.Raw, read)
	}
}

// read prints the header that f reads from the raw text, and how many bytes it has taken.
func (p *Program[H, P]) read(id, raw string, f func(*report.Case, P, *bufio.Reader) error) {
	report.Run(id, func(c *report.Case) {
		h := P(new(H))
		src := strings.NewReader(raw)
		br := bufio.NewReader(src)
		err := f(c, h, br)
		c.Err("err", err)
		if err != nil {
			return
		}
		c.Val("consumed", len(raw)-src.Len()-br.Buffered())
		p.Dump(c, h)
	})
}
