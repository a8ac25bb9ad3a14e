package http1

import (
	"math"

	"github.com/valyala/fasthttp/internal/ascii"
)

const (
	// MaxChunkLine limits a chunk-size line with its extensions. No application is known to
	// use extensions; an attacker can use them to make a server read many bytes for little
	// content.
	MaxChunkLine = 4 << 10
	// MaxChunkExtensions limits the extensions of all chunks of one message.
	MaxChunkExtensions = 16 << 10
	// MaxTrailers and MaxTrailerFields limit a trailer section.
	MaxTrailers      = 4 << 10
	MaxTrailerFields = 100
)

type chunkState uint8

const (
	chunkSize     chunkState = iota // before or in the hexadecimal digits
	extSpace                        // in white space before an extension or the line end
	extName                         // after ';', before or inside the name
	extAfterName                    // white space after the name
	extValue                        // after '=', before the value
	extToken                        // inside a token value
	extQuoted                       // inside a quoted value
	extQuotedPair                   // after the backslash in a quoted value
	extQuotedEnd                    // after a quoted value
	sizeLF                          // after the CR of a chunk-size line
	chunkData                       // inside chunk data
	dataCR                          // after chunk data
	dataLF                          // after the CR after chunk data
	chunksDone                      // after the line of the last chunk
)

// Chunked decodes the chunked transfer coding (RFC 9112 section 7.1). The zero value is at
// the beginning of a message. It accepts exactly what the RFC allows.
type Chunked struct {
	left       uint64 // unread bytes of the current chunk
	extensions uint32 // bytes of extensions in the message so far
	line       uint16 // bytes of the current chunk-size line
	digits     uint8
	named      bool // a byte of the current extension's name was read
	state      chunkState
	// Loose allows spaces at the end of a size line: see Framing.LooseChunks
	Loose bool
}

// Done reports whether the line of the last chunk was read. A trailer section
// follows, which may be empty.
func (c *Chunked) Done() bool { return c.state == chunksDone }

// Remaining returns how many bytes of the current chunk are unread.
func (c *Chunked) Remaining() uint64 {
	if c.state != chunkData {
		return 0
	}
	return c.left
}

// Next reads src up to the end of the next piece of content. It returns that piece, as a
// part of src, and the number of bytes that it consumed. It consumes all of src unless it
// returns content or is done.
func (c *Chunked) Next(src []byte) (content []byte, n int, err error) {
	for n < len(src) && c.state != chunksDone {
		if c.state == chunkData {
			size := min(c.left, uint64(len(src)-n))
			content = src[n : n+int(size)]
			if c.left -= size; c.left == 0 {
				c.state = dataCR
			}
			return content, n + int(size), nil
		}
		if skipped := c.plainLine(src[n:]); skipped > 0 {
			n += skipped
			continue
		}
		if err := c.step(src[n]); err != nil {
			return nil, n, err
		}
		n++
	}
	return nil, n, nil
}

// plainLine reads at once the bytes that nearly always precede content: the end of the
// previous chunk, a size of usual length, and the end of the line. It returns their
// number. It returns 0 if src begins with other bytes or does not have all of these; step
// must then read them.
func (c *Chunked) plainLine(src []byte) (n int) {
	switch {
	case c.state == dataCR && len(src) > 2 && src[0] == '\r' && src[1] == '\n':
		n = 2
	case c.state != chunkSize || c.digits > 0:
		return 0
	}
	const digits = 8
	from, size := n, uint64(0)
	for ; n < len(src) && n < from+digits; n++ {
		v := ascii.HexValue(src[n])
		if v == ascii.NoHex {
			break
		}
		size = size<<4 | uint64(v)
	}
	if n == from || len(src) < n+2 || src[n] != '\r' || src[n+1] != '\n' {
		return 0
	}
	c.left, c.state = size, chunkData
	if size == 0 {
		c.state = chunksDone
	}
	return n + 2
}

// step reads one byte other than content.
func (c *Chunked) step(b byte) error {
	switch c.state {
	case chunkSize:
		if v := ascii.HexValue(b); v != ascii.NoHex {
			if c.digits == 16 || c.left > math.MaxInt64>>4 {
				return ErrChunkSize
			}
			c.digits++
			c.left = c.left<<4 | uint64(v)
			return nil
		}
		if c.digits == 0 {
			return ErrChunkSize
		}
		return c.afterSize(b, ErrChunkSize)
	case sizeLF:
		if b != '\n' {
			return ErrChunkSize
		}
		c.state = chunkData
		if c.left == 0 {
			c.state = chunksDone
		}
		c.digits, c.line = 0, 0
		return nil
	case dataCR:
		if b != '\r' {
			return ErrChunkEnd
		}
		c.state = dataLF
		return nil
	case dataLF:
		if b != '\n' {
			return ErrChunkEnd
		}
		c.state = chunkSize
		return nil
	}
	return c.extension(b)
}

// afterSize reads a byte after the chunk size, at which the line may end or an
// extension begin. otherwise is the error for any other byte.
func (c *Chunked) afterSize(b byte, otherwise error) error {
	switch b {
	case '\r':
		c.state = sizeLF
		return nil
	case ';':
		c.state, c.named = extName, false
	case ' ', '\t':
		c.state = extSpace
	default:
		return otherwise
	}
	return c.count()
}

// count counts a byte of an extension.
func (c *Chunked) count() error {
	c.line++
	c.extensions++
	switch {
	case c.line > MaxChunkLine:
		return ErrLongChunkLine
	case c.extensions > MaxChunkExtensions:
		return ErrManyExtensions
	}
	return nil
}

// extension reads a byte of
// *( BWS ";" BWS name [ BWS "=" BWS ( token / quoted-string ) ] ).
func (c *Chunked) extension(b byte) error {
	space := b == ' ' || b == '\t'
	token := ascii.Is(b, ascii.Token)
	switch c.state {
	case extSpace:
		// another extension must follow white space, not the line end
		switch {
		case space:
		case b == '\r' && c.Loose:
			c.state = sizeLF
			return nil
		case b == ';':
			c.state, c.named = extName, false
		default:
			return ErrChunkExtension
		}
	case extName:
		switch {
		case token:
			c.named = true
		case !c.named && space:
		case !c.named:
			return ErrChunkExtension
		case space:
			c.state = extAfterName
		case b == '=':
			c.state = extValue
		default:
			return c.afterSize(b, ErrChunkExtension)
		}
	case extAfterName:
		switch {
		case space:
		case b == '\r' && c.Loose:
			c.state = sizeLF
			return nil
		case b == '=':
			c.state = extValue
		case b == ';':
			c.state, c.named = extName, false
		default:
			return ErrChunkExtension
		}
	case extValue:
		switch {
		case space:
		case token:
			c.state = extToken
		case b == '"':
			c.state = extQuoted
		default:
			return ErrChunkExtension
		}
	case extToken:
		if !token {
			return c.afterSize(b, ErrChunkExtension)
		}
	case extQuoted:
		switch {
		case b == '"':
			c.state = extQuotedEnd
		case b == '\\':
			c.state = extQuotedPair
		case !ascii.Is(b, ascii.FieldByte):
			return ErrChunkExtension
		}
	case extQuotedEnd:
		return c.afterSize(b, ErrChunkExtension)
	case extQuotedPair:
		if !ascii.Is(b, ascii.FieldByte) {
			return ErrChunkExtension
		}
		c.state = extQuoted
	}
	return c.count()
}

// putBack takes back the last n bytes of content that Next returned.
func (c *Chunked) putBack(n int) {
	c.left += uint64(n)
	c.state = chunkData
}
