package calls

import (
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"

	"github.com/valyala/fasthttp/bench/internal/h2frame"
	"github.com/valyala/fasthttp/bench/internal/serving"
)

// bare is a minimal HTTP/2 client: it sends requests encoded in advance, all callers' requests
// in one write, and counts the streams that the server ends. Its calls cost only TLS and the
// system; no client with crypto/tls can cost less.
type bare struct {
	conn   net.Conn
	in     h2frame.Reader
	buf    []byte
	block  []byte // the encoded header section of a call
	stream uint32 // the next one
	out    []byte
	ended  int // streams
}

var (
	errBareReset   = errors.New("the server has refused a request")
	errBareNoHTTP2 = errors.New("the server has not agreed to HTTP/2")
	errBareWrong   = errors.New("a wrong response")
)

// newBare connects to the server of c.
func newBare(c *client) (*bare, error) {
	conn, err := c.dial(c.job.Addr)
	if err != nil {
		return nil, err
	}
	config := tlsConfig.Clone()
	config.NextProtos = []string{"h2"}
	secure := tls.Client(conn, config)
	if err := secure.Handshake(); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	if secure.ConnectionState().NegotiatedProtocol != "h2" {
		return nil, errors.Join(errBareNoHTTP2, conn.Close())
	}
	b := &bare{conn: secure, buf: make([]byte, 16<<10), stream: 1, block: block(c.job.Addr)}
	hello := h2frame.AppendSettings([]byte(h2frame.Preface))
	// more than the total size of the responses of a run
	hello = h2frame.AppendWindow(hello, h2frame.LargestWindow-h2frame.FirstWindow)
	if _, err := secure.Write(hello); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return b, nil
}

// block encodes a call with only the static table of RFC 7541 appendix A.
func block(addr string) []byte {
	b := []byte{0x80 | 2, 0x80 | 7}    // GET, https
	b = appendText(append(b, 1), addr) // :authority
	return appendText(append(b, 4), target)
}

// appendText appends a string literal (RFC 7541 section 5.2), which is not compressed.
func appendText(b []byte, text string) []byte {
	const most = 1<<7 - 1
	if n := len(text); n < most {
		b = append(b, byte(n))
	} else {
		b = binary.AppendUvarint(append(b, most), uint64(n-most))
	}
	return append(b, text...)
}

// calls makes n calls at once.
func (b *bare) calls(n int) error {
	for range n {
		b.out = h2frame.Append(b.out, h2frame.Headers, h2frame.EndStream|h2frame.EndHeaders, b.stream, b.block)
		b.stream += 2
	}
	if _, err := b.conn.Write(b.out); err != nil {
		return err
	}
	b.out = b.out[:0]
	for b.ended = 0; b.ended < n; {
		read, err := b.conn.Read(b.buf)
		if err != nil {
			return err
		}
		if err := b.in.Feed(b.buf[:read], b.frame); err != nil {
			return err
		}
	}
	return nil
}

// frame processes a frame, and counts the stream that it ends.
func (b *bare) frame(f h2frame.Frame) error {
	isRight := true
	switch f.Kind {
	case h2frame.Reset:
		return errBareReset
	case h2frame.GoAway:
		return io.EOF
	case h2frame.Headers:
		isRight = h2frame.IsOK(f.Payload)
	case h2frame.Data:
		isRight = len(f.Payload) == 0 || string(f.Payload) == serving.Body
	default:
		b.out = h2frame.AppendAnswer(b.out, f) // sent with the next requests
		return nil
	}
	if !isRight {
		return fmt.Errorf("%w: %q", errBareWrong, f.Payload)
	}
	if f.Is(h2frame.EndStream) {
		b.ended++
	}
	return nil
}
