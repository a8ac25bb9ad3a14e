package coding

import (
	"io"
	"sync"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"

	"github.com/valyala/fasthttp/internal/bufpool"
)

// Encoder encodes a stream. After Flush the peer can decode everything written so
// far. Close ends the encoded stream. NewEncoder returns an Encoder; the caller must
// call Release on every path, whether it has called Close or not.
type Encoder struct {
	encoderState
	home *sync.Pool
	out  bufpool.Buffer // the output of encoders that append to a slice; not from a pool
}

// encoderState has the methods that the encoders of all libraries share.
type encoderState interface {
	io.WriteCloser
	Flush() error
	Reset(w io.Writer)
}

// maxLevels is the largest number of compression levels of a coding.
const maxLevels = 12

// encoders holds the unused encoders, by coding and level. An encoder keeps its level,
// since another one needs other tables.
var encoders [Count][maxLevels]sync.Pool

// NewEncoder returns an Encoder that writes to w. The coding must not be Identity. A
// level that the coding does not have means its default level.
func NewEncoder(coding Coding, level int, w io.Writer) *Encoder {
	e := acquireEncoder(coding, level)
	e.Reset(w)
	return e
}

func acquireEncoder(coding Coding, level int) *Encoder {
	level = knownLevel(coding, level)
	home := &encoders[coding][level-lowestLevel(coding)]
	if e, ok := home.Get().(*Encoder); ok {
		return e
	}
	return &Encoder{encoderState: newEncoderState(coding, level), home: home}
}

// Release returns the Encoder to its pool. It must not be used afterwards. Data that
// was not flushed is lost.
func (e *Encoder) Release() {
	e.Reset(io.Discard)
	e.out.B = nil
	e.home.Put(e)
}

// appendTo encodes src as a complete stream and appends that to dst.
func (e *Encoder) appendTo(dst, src []byte) []byte {
	e.out.B = dst
	e.Reset(&e.out)
	// writing to a Buffer never fails
	_, _ = e.Write(src)
	_ = e.Close()
	return e.out.B
}

// AppendEncoded encodes src as a complete stream, appends that to dst, and returns the
// extended slice. See NewEncoder for coding and level.
func AppendEncoded(dst, src []byte, coding Coding, level int) []byte {
	e := acquireEncoder(coding, level)
	defer e.Release()
	return e.appendTo(dst, src)
}

// WriteEncoded encodes src as a complete stream and writes that to w. It returns the
// number of bytes of src that it has encoded: all of them unless w fails.
func WriteEncoded(w io.Writer, src []byte, coding Coding, level int) (int, error) {
	e := NewEncoder(coding, level, w)
	defer e.Release()
	n, err := e.Write(src)
	if closed := e.Close(); err == nil {
		err = closed
	}
	return n, err
}

// The default levels. The default of zstd is zstd.SpeedDefault.
const (
	usualLevel       = 6 // of gzip and deflate
	usualBrotliLevel = 4 // takes about as long as usualLevel does with gzip
)

// lowestLevel returns the lowest level of the coding.
func lowestLevel(coding Coding) int {
	switch coding {
	case Brotli:
		return brotli.BestSpeed
	case Zstd:
		return int(zstd.SpeedFastest)
	}
	return gzip.HuffmanOnly
}

// knownLevel returns the level, or the default if the coding has no such level.
func knownLevel(coding Coding, level int) int {
	highest, usual := gzip.BestCompression, usualLevel
	switch coding {
	case Brotli:
		highest, usual = brotli.BestCompression, usualBrotliLevel
	case Zstd:
		highest, usual = int(zstd.SpeedBestCompression), int(zstd.SpeedDefault)
	}
	// -1 means the library's default, which is also this package's
	if level < lowestLevel(coding) || level > highest || level == -1 {
		return usual
	}
	return level
}

// LevelsFor returns the levels of the codings that correspond to a level of gzip. The
// level of brotli is not among them.
func LevelsFor(level int) (levels [Count]int) {
	level = knownLevel(Gzip, level)
	levels[Gzip], levels[Deflate] = level, level
	switch {
	case level < 3:
		levels[Zstd] = int(zstd.SpeedFastest)
	case level < 7:
		levels[Zstd] = int(zstd.SpeedDefault)
	case level < 9:
		levels[Zstd] = int(zstd.SpeedBetterCompression)
	default:
		levels[Zstd] = int(zstd.SpeedBestCompression)
	}
	return levels
}

// Encoders find repetitions within a window, and need at least that much memory. A
// server may have one for each response in progress. So windows are only as large as
// needed to encode pages and responses of APIs well. The levels for files, which are
// encoded once and sent often, have larger ones.
const (
	brotliWindowBits     = 19
	brotliFileWindowBits = 22
	brotliFileLevel      = 10
	zstdWindow           = 1 << 20
	zstdFileWindow       = ZstdContentWindow
)

// newEncoderState returns a new encoder of a level that knownLevel has returned.
func newEncoderState(coding Coding, level int) encoderState {
	switch coding {
	case Deflate:
		return mustEncode(zlib.NewWriterLevel(io.Discard, level))
	case Gzip:
		return mustEncode(gzip.NewWriterLevel(io.Discard, level))
	case Zstd:
		window := zstdWindow
		if level == int(zstd.SpeedBestCompression) {
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
	case Brotli:
		window := brotliWindowBits
		if level >= brotliFileLevel {
			window = brotliFileWindowBits
		}
		return brotli.NewWriterOptions(io.Discard, brotli.WriterOptions{Quality: level, LGWin: window})
	}
	panic("BUG: there is no encoder for " + coding.String())
}

// mustEncode returns e. It panics on an error: the libraries reject only levels and
// windows that they do not know.
func mustEncode[E encoderState](e E, err error) encoderState {
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return e
}
