// Command message reports how Request and Response read, change and write
// whole messages: bodies of every framing, streams, limits, copies.
package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/valyala/fasthttp/compat/internal/report"
)

func main() {
	defer report.Flush()
	runRequestReads()
	runRequestWrites()
	runRequestHosts()
	runResponseReads()
	runResponseWrites()
}

// read prints the message that f reads from the raw text, and how many bytes it leaves. dump reports whether
// the body could be read.
func read[M any](id, raw string, f func(*M, *bufio.Reader) error, dump func(*report.Case, *M) bool) {
	report.Run(id, func(c *report.Case) {
		m := new(M)
		src := strings.NewReader(raw)
		br := bufio.NewReader(src)
		err := f(m, br)
		c.Err("err", err)
		if err == nil && dump(c, m) {
			c.Val("rest", src.Len()+br.Buffered())
		}
	})
}

// write prints the output of a message, as join returns it. Then it calls after, which returns the other method that
// writes, or nil if a message can be written only once.
func write(c *report.Case, join func(wire string) string, first func(*bufio.Writer) error, after func() (writeTo func(io.Writer) (int64, error))) {
	var buf bytes.Buffer
	bw := bufio.NewWriter(&buf)
	err := first(bw)
	c.Err("write-err", err)
	if err != nil {
		return
	}
	c.Err("flush-err", bw.Flush())
	wire := report.MaskDates(buf.String())
	c.Str("wire", brief(join(wire)))
	if writeTo := after(); writeTo != nil {
		var again bytes.Buffer
		n, err := writeTo(&again)
		c.Val("write-to", fmt.Sprint(n == int64(again.Len()), report.ErrClass(err), report.MaskDates(again.String()) == wire))
	}
}
