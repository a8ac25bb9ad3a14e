package fasthttp

import (
	"io"
	"sync"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
)

// encoder encodes what is written to it. Flush makes all of that decodable for
// the peer, Close ends the encoded stream. It must be released on every path,
// whether it was closed or not.
type encoder struct {
	encoderState
	home *sync.Pool
	out  appendWriter // where encoders write that append to a slice
}

// encoderState is what the encoders of all libraries have.
type encoderState interface {
	io.WriteCloser
	Flush() error
	Reset(w io.Writer)
}

// maxLevels is how many levels of compression a coding has at most.
const maxLevels = 12

// encoders are the encoders that are not in use, by coding and level: changing
// the level of an encoder would cost its tables.
var encoders [numCodings][maxLevels]sync.Pool

// newEncoder returns an encoder that writes to w. coding must not be
// codingIdentity; a level that the coding does not have stands for its default.
func newEncoder(coding contentCoding, level int, w io.Writer) *encoder {
	e := acquireEncoder(coding, level)
	e.Reset(w)
	return e
}

func acquireEncoder(coding contentCoding, level int) *encoder {
	level = knownLevel(coding, level)
	home := &encoders[coding][level-lowestLevel(coding)]
	if e, ok := home.Get().(*encoder); ok {
		return e
	}
	return &encoder{encoderState: newEncoderState(coding, level), home: home}
}

// release gives the encoder back. What was not flushed is lost.
func (e *encoder) release() {
	e.Reset(io.Discard)
	e.out.b = nil
	e.home.Put(e)
}

// appendTo encodes src as a whole stream that is appended to dst.
func (e *encoder) appendTo(dst, src []byte) []byte {
	e.out.b = dst
	e.Reset(&e.out)
	// an appendWriter takes everything
	_, _ = e.Write(src)
	_ = e.Close()
	return e.out.b
}

// appendEncoded appends src to dst as a whole encoded stream.
func appendEncoded(dst, src []byte, coding contentCoding, level int) []byte {
	e := acquireEncoder(coding, level)
	defer e.release()
	return e.appendTo(dst, src)
}

// writeEncoded writes src to w as a whole encoded stream, and returns how many
// bytes of src were taken.
func writeEncoded(w io.Writer, src []byte, coding contentCoding, level int) (int, error) {
	e := newEncoder(coding, level, w)
	defer e.release()
	n, err := e.Write(src)
	if closed := e.Close(); err == nil {
		err = closed
	}
	return n, err
}

// appendWriter appends to a slice.
type appendWriter struct{ b []byte }

func (w *appendWriter) Write(p []byte) (int, error) {
	w.b = append(w.b, p...)
	return len(p), nil
}

// lowestLevel returns the lowest level of the coding.
func lowestLevel(coding contentCoding) int {
	switch coding {
	case codingBrotli:
		return CompressBrotliBestSpeed
	case codingZstd:
		return CompressZstdBestSpeed
	}
	return CompressHuffmanOnly
}

// knownLevel returns the level, or the default where the coding has no such
// level.
func knownLevel(coding contentCoding, level int) int {
	highest, usual := CompressBestCompression, CompressDefaultCompression
	switch coding {
	case codingBrotli:
		highest, usual = CompressBrotliBestCompression, CompressBrotliDefaultCompression
	case codingZstd:
		highest, usual = CompressZstdBestCompression, CompressZstdDefault
	}
	// -1 is the default of the library, which is ours
	if level < lowestLevel(coding) || level > highest || level == -1 {
		return usual
	}
	return level
}

// Encoders find repetitions within a window, and hold at least that much
// memory. A server has as many of them as it has responses on their way, so
// windows are as large as it takes to encode pages and API answers well; only
// the levels that are for files, made once and sent often, have larger ones.
const (
	brotliWindowBits     = 19
	brotliFileWindowBits = 22
	brotliFileLevel      = 10
	zstdWindow           = 1 << 20
	zstdFileWindow       = zstdContentWindow
)

// newEncoderState makes a new encoder of a level that knownLevel has returned.
func newEncoderState(coding contentCoding, level int) encoderState {
	switch coding {
	case codingDeflate:
		return mustEncode(zlib.NewWriterLevel(io.Discard, level))
	case codingGzip:
		return mustEncode(gzip.NewWriterLevel(io.Discard, level))
	case codingZstd:
		window := zstdWindow
		if level == CompressZstdBestCompression {
			window = zstdFileWindow
		}
		return mustEncode(zstd.NewWriter(io.Discard,
			zstd.WithEncoderLevel(zstd.EncoderLevel(level)),
			zstd.WithWindowSize(window),
			zstd.WithLowerEncoderMem(true),
			// more would start goroutines
			zstd.WithEncoderConcurrency(1),
			// an empty body is encoded as an empty frame, as with other codings
			zstd.WithZeroFrames(true)))
	case codingBrotli:
		window := brotliWindowBits
		if level >= brotliFileLevel {
			window = brotliFileWindowBits
		}
		return brotli.NewWriterOptions(io.Discard, brotli.WriterOptions{Quality: level, LGWin: window})
	}
	panic("BUG: there is no encoder for " + coding.String())
}

// mustEncode returns e. The libraries refuse only levels and windows that they
// do not know.
func mustEncode[E encoderState](e E, err error) encoderState {
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return e
}
