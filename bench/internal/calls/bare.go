package calls

import (
	"bufio"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/valyala/fasthttp/bench/internal/fakeh2"
	"github.com/valyala/fasthttp/bench/internal/serving"
	"github.com/valyala/fasthttp/bench/internal/traffic"
)

// bare is a minimal HTTP/2 client: it sends requests encoded in advance, all callers' requests
// in one write, and counts the streams that the server ends. Its calls cost only TLS and the
// system; no client with crypto/tls can cost less.
type bare struct {
	conn   net.Conn
	in     *bufio.Reader
	blocks [][]byte // the encoded header section of each call
	next   int      // of blocks
	stream uint32   // the next one
	out    []byte
}

// The frames of RFC 9113 section 6 that bare knows, and their flags.
const (
	frameData         = 0
	frameHeaders      = 1
	frameReset        = 3
	frameSettings     = 4
	frameGoAway       = 7
	frameWindowUpdate = 8

	flagEndStream  = 1
	flagAck        = 1
	flagEndHeaders = 4

	frameHead = 9
)

// bareWindow is more than the total size of the responses of a run.
const bareWindow = 1<<31 - 1

var (
	errBareReset    = errors.New("the server has refused a request")
	errBareNoHTTP2  = errors.New("the server has not agreed to HTTP/2")
	errBareWrong    = errors.New("a wrong response")
	errBareTooLarge = errors.New("a frame that is too large")
)

// newBare connects to the server of c.
func newBare(c *client) (*bare, error) {
	conn, err := c.dial(c.job.Addr)
	if err != nil {
		return nil, err
	}
	if !c.job.Plain {
		config := tlsConfig.Clone()
		config.NextProtos = []string{"h2"}
		secure := tls.Client(conn, config)
		if err := secure.Handshake(); err != nil {
			return nil, errors.Join(err, conn.Close())
		}
		if secure.ConnectionState().NegotiatedProtocol != "h2" {
			return nil, errors.Join(errBareNoHTTP2, conn.Close())
		}
		conn = secure
	}
	b := &bare{conn: conn, in: bufio.NewReaderSize(conn, 16<<10), stream: 1}
	for i := range c.calls {
		b.blocks = append(b.blocks, block(&c.calls[i], c.job))
	}
	hello := []byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
	hello = appendFrame(hello, frameSettings, 0, 0, nil)
	hello = appendFrame(hello, frameWindowUpdate, 0, 0, binary.BigEndian.AppendUint32(nil, bareWindow-(1<<16-1)))
	if _, err := conn.Write(hello); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return b, nil
}

// block encodes a call with only the static table of RFC 7541 appendix A.
func block(call *traffic.Call, j job) []byte {
	scheme := byte(7)
	if j.Plain {
		scheme = 6
	}
	_, rest, _ := strings.Cut(call.URL, "//")
	_, target, _ := strings.Cut(rest, "/")
	b := []byte{0x80 | 2, 0x80 | scheme} // GET, and the scheme
	b = appendText(append(b, 1), j.Addr) // :authority
	b = appendText(append(b, 4), "/"+target)
	if call.ID != "" {
		b = appendText(appendText(append(b, 0), "x-request-id"), call.ID)
	}
	return b
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

func appendFrame(b []byte, kind, flags byte, stream uint32, payload []byte) []byte {
	n := len(payload)
	b = append(b, byte(n>>16), byte(n>>8), byte(n), kind, flags)
	b = binary.BigEndian.AppendUint32(b, stream)
	return append(b, payload...)
}

// calls makes n calls at once.
func (b *bare) calls(n int) error {
	for range n {
		b.out = appendFrame(b.out, frameHeaders, flagEndStream|flagEndHeaders, b.stream, b.blocks[b.next])
		b.stream += 2
		if b.next++; b.next == len(b.blocks) {
			b.next = 0
		}
	}
	if _, err := b.conn.Write(b.out); err != nil {
		return err
	}
	b.out = b.out[:0]
	for n > 0 {
		ended, err := b.frame()
		if err != nil {
			return err
		}
		if ended {
			n--
		}
	}
	return nil
}

// frame reads a frame, and reports whether it ends a stream.
func (b *bare) frame() (ended bool, err error) {
	head, err := b.in.Peek(frameHead)
	if err != nil {
		return false, err
	}
	size := frameHead + int(head[0])<<16 + int(head[1])<<8 + int(head[2])
	if size > b.in.Size() {
		return false, errBareTooLarge
	}
	frame, err := b.in.Peek(size)
	if err != nil {
		return false, err
	}
	kind, flags, payload := frame[3], frame[4], frame[frameHead:]
	switch kind {
	case frameSettings:
		if flags&flagAck == 0 {
			// sent with the next requests
			b.out = appendFrame(b.out, frameSettings, flagAck, 0, nil)
		}
	case frameReset:
		return false, errBareReset
	case frameGoAway:
		return false, io.EOF
	case frameHeaders, frameData:
		isRight := isOK(payload)
		if kind == frameData {
			isRight = len(payload) == 0 || string(payload) == serving.Body
		}
		if !isRight {
			return false, fmt.Errorf("%w: %q", errBareWrong, payload)
		}
		ended = flags&flagEndStream != 0
	}
	_, err = b.in.Discard(size)
	return ended, err
}

// isOK reports whether a header section begins with :status 200, perhaps after a change of the
// size of the table.
func isOK(block []byte) bool {
	block = fakeh2.SkipUpdates(block)
	return len(block) > 0 && block[0] == 0x80|8
}
