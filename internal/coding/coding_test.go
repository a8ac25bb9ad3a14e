package coding

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/valyala/fasthttp/internal/http1"
	"github.com/valyala/fasthttp/internal/servertest"
)

// encodings are all codings but Identity.
var encodings = []Coding{Deflate, Gzip, Zstd, Brotli}

// usual is a level that no coding has, so encoders use their default.
const usual = -1

func appendUsual(dst, src []byte, c Coding) []byte { return AppendEncoded(dst, src, c, usual) }

func appendPlain(dst, src []byte, c Coding) ([]byte, error) {
	return AppendDecoded(dst, src, c, HelperBound())
}

func TestDeflateIsReadWithAndWithoutZlibHeader(t *testing.T) {
	content := servertest.SampleText(20_000)
	for level := flate.HuffmanOnly; level <= flate.BestCompression; level++ {
		var raw, wrapped bytes.Buffer
		f, _ := flate.NewWriter(&raw, level)
		_, _ = f.Write(content)
		_ = f.Close()
		z, _ := zlib.NewWriterLevel(&wrapped, level)
		_, _ = z.Write(content)
		_ = z.Close()
		// the decoders in the pool must accept both forms
		for _, encoded := range [][]byte{raw.Bytes(), wrapped.Bytes(), raw.Bytes()} {
			if got, err := appendPlain(nil, encoded, Deflate); err != nil || !bytes.Equal(got, content) {
				t.Errorf("level %d: %d bytes, %v", level, len(got), err)
			}
		}
	}
}

func TestDecodingTellsWhatIsWrong(t *testing.T) {
	content := servertest.SampleText(50_000)
	for _, c := range encodings {
		encoded := appendUsual(nil, content, c)
		for _, n := range []int{1, len(encoded) / 2, len(encoded) - 1} {
			got, err := appendPlain([]byte("before"), encoded[:n], c)
			if !errors.Is(err, io.ErrUnexpectedEOF) || !strings.Contains(err.Error(), c.String()) {
				t.Errorf("%s cut after %d bytes: %v", c, n, err)
			}
			if !strings.HasPrefix("before"+string(content), string(got)) {
				t.Errorf("%s cut after %d bytes: decoded to something else", c, n)
			}
		}
		if _, err := appendPlain(nil, []byte("this is no encoded text at all"), c); err == nil {
			t.Errorf("%s: plain text was decoded", c)
		}
		// a decoder that failed decodes the next stream
		if got, err := appendPlain(nil, encoded, c); err != nil || !bytes.Equal(got, content) {
			t.Errorf("%s after failures: %d bytes, %v", c, len(got), err)
		}
	}
}

// Garbage after a gzip member is reported like every other fault of the content.
func TestBytesBehindAGzipMember(t *testing.T) {
	encoded := AppendEncoded(nil, []byte("content"), Gzip, 1)
	for _, behind := range []string{"no member, but text behind one", "\x1f\x8c", "\x00"} {
		_, err := appendPlain(nil, append(bytes.Clone(encoded), behind...), Gzip)
		if err == nil || !strings.HasPrefix(err.Error(), "fasthttp: cannot decode gzip: ") {
			t.Errorf("%q: %v", behind, err)
		}
	}
}

// Programs compare these errors, and their tests compare the texts.
func TestDecodingWhatIsNoStreamAtAll(t *testing.T) {
	for _, text := range []string{"this is no encoded text at all", "\x1f\x8c is not the start", "\x78\x00 neither"} {
		if _, err := appendPlain(nil, []byte(text), Gzip); err != gzip.ErrHeader {
			t.Errorf("gzip, %q: %v", text, err)
		}
		if _, err := appendPlain(nil, []byte(text), Deflate); err != zlib.ErrHeader {
			t.Errorf("deflate, %q: %v", text, err)
		}
	}
	// a fault after the beginning of a stream has another error
	broken := append(appendUsual(nil, servertest.SampleText(50_000), Deflate)[2:500], "\xff\xff\xff\xff\xff\xff\xff\xff"...)
	if _, err := appendPlain(nil, broken, Deflate); err == nil || err == zlib.ErrHeader {
		t.Errorf("a broken stream: %v", err)
	}
}

func TestWritingToABrokenWriterFails(t *testing.T) {
	content := servertest.Noise(300_000)
	for _, c := range encodings {
		encoded, level := appendUsual(nil, content, c), lowestLevel(c)
		if _, err := WriteEncoded(closedWriter{}, content, c, level); err != io.ErrClosedPipe {
			t.Errorf("%s: encoding: %v", c, err)
		}
		if n, err := WriteDecoded(closedWriter{}, encoded, c); n != 0 || err != io.ErrClosedPipe {
			t.Errorf("%s: decoding: %d, %v", c, n, err)
		}
		// an encoder that failed can be reused
		if got, err := appendPlain(nil, AppendEncoded(nil, content, c, level), c); err != nil || !bytes.Equal(got, content) {
			t.Errorf("%s after a failure: %d bytes, %v", c, len(got), err)
		}
	}
}

type closedWriter struct{}

func (closedWriter) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestLargeContentIsDecodedWhole(t *testing.T) {
	if servertest.RaceDetector {
		t.Skip("16 MiB in each coding, several times, take too long under the race detector")
	}
	content := bytes.Repeat([]byte("0123456789abcdef"), (eagerSize+100)/16)
	for _, c := range encodings {
		encoded := AppendEncoded(nil, content, c, 1)
		got, err := appendPlain([]byte("before"), encoded, c)
		if err != nil || len(got) != len("before")+len(content) || !bytes.HasSuffix(got, content) {
			t.Errorf("%s: %d bytes, %v", c, len(got), err)
		}
		for limit, want := range map[int]error{len(content) - 1: http1.ErrBodyTooLarge, len(content): nil, len(content) + 1: nil} {
			if _, err := Decode(encoded, c, ExplicitBound(limit)); err != want {
				t.Errorf("%s, limit %d of %d: %v", c, limit, len(content), err)
			}
		}
	}
}

func TestLargeFaultyContentIsDecodedUpToTheFault(t *testing.T) {
	if servertest.RaceDetector {
		t.Skip("32 MiB in each coding, several times, take too long under the race detector")
	}
	content := bytes.Repeat([]byte("0123456789abcdef"), 2*eagerSize/16)
	for _, c := range encodings {
		encoded := AppendEncoded(nil, content, c, 1)
		for cut, large := range map[int]bool{1: true, len(encoded) / 10: true, len(encoded) * 3 / 4: false} {
			faulty := encoded[:len(encoded)-cut]
			d := NewDecoder(c, bytes.NewReader(faulty), HelperBound())
			want, wantErr := io.ReadAll(d)
			d.Release()
			if isLarge := len(want) > eagerSize+1; isLarge != large {
				t.Fatalf("%s without %d bytes: only %d bytes can be decoded", c, cut, len(want))
			}
			got, err := appendPlain([]byte("before"), faulty, c)
			if !bytes.Equal(got, append([]byte("before"), want...)) {
				t.Errorf("%s without %d bytes: %d of %d bytes were decoded", c, cut, len(got)-len("before"), len(want))
			}
			if err == nil || err.Error() != wantErr.Error() {
				t.Errorf("%s without %d bytes: %v, want %v", c, cut, err, wantErr)
			}
		}
	}
}

func TestDecodersReadStreamsInPieces(t *testing.T) {
	content := servertest.SampleText(30_000)
	for _, c := range encodings {
		for range 3 {
			d := NewDecoder(c, iotest.OneByteReader(bytes.NewReader(appendUsual(nil, content, c))), streamBound())
			if got, err := io.ReadAll(iotest.HalfReader(d)); err != nil || !bytes.Equal(got, content) {
				t.Errorf("%s: %d bytes, %v", c, len(got), err)
			}
			if n, err := d.Read(make([]byte, 1)); n != 0 || err != io.EOF {
				t.Errorf("%s after the end: %d, %v", c, n, err)
			}
			d.Release()
		}
	}
}

func TestFlushedEncodersHoldNothingBack(t *testing.T) {
	for _, c := range encodings {
		pr, pw := io.Pipe()
		written := make(chan struct{})
		go func() {
			e := NewEncoder(c, lowestLevel(c), pw)
			defer e.Release()
			_, _ = e.Write([]byte("first"))
			_ = e.Flush()
			<-written
			_, _ = e.Write([]byte("second"))
			_ = pw.CloseWithError(e.Close())
		}()
		d := NewDecoder(c, pr, streamBound())
		first := make([]byte, 5)
		if _, err := io.ReadFull(d, first); err != nil || string(first) != "first" {
			t.Errorf("%s: %q, %v", c, first, err)
		}
		close(written)
		if rest, err := io.ReadAll(d); err != nil || string(rest) != "second" {
			t.Errorf("%s: %q, %v", c, rest, err)
		}
		d.Release()
	}
}

func FuzzCodingsRoundTrip(f *testing.F) {
	f.Add([]byte("some text, some text"), 6, uint8(1))
	f.Add([]byte{}, -2, uint8(2))
	f.Add(servertest.Noise(1000), 11, uint8(4))
	f.Fuzz(func(t *testing.T, content []byte, level int, which uint8) {
		c := encodings[int(which)%len(encodings)]
		encoded := AppendEncoded(nil, content, c, level)
		got, err := appendPlain(nil, encoded, c)
		if err != nil || !bytes.Equal(got, content) {
			t.Fatalf("%s %d: %q, %v, want %q", c, level, got, err, content)
		}
		limited, err := Decode(encoded, c, ExplicitBound(max(len(content), 1)))
		if err != nil || !bytes.Equal(limited, content) {
			t.Fatalf("%s %d within the limit: %q, %v", c, level, limited, err)
		}
		if len(content) > 1 {
			if _, err := Decode(encoded, c, ExplicitBound(len(content)-1)); err != http1.ErrBodyTooLarge {
				t.Fatalf("%s %d over the limit: %v", c, level, err)
			}
		}
	})
}

func FuzzDecoding(f *testing.F) {
	for i, c := range encodings {
		f.Add(appendUsual(nil, servertest.SampleText(500), c), uint8(i))
		f.Add(appendUsual(nil, nil, c), uint8(i))
		f.Add([]byte{0x78, 0x9c}, uint8(i))
	}
	const limit = 100_000
	f.Fuzz(func(t *testing.T, encoded []byte, which uint8) {
		c := encodings[int(which)%len(encodings)]
		got, err := Decode(encoded, c, ExplicitBound(limit))
		if len(got) > limit || err != nil && got != nil {
			t.Fatalf("%s: %d bytes, %v", c, len(got), err)
		}
		var w bytes.Buffer
		if err == nil {
			if n, err := WriteDecoded(&w, encoded, c); err != nil || n != len(got) || !bytes.Equal(w.Bytes(), got) {
				t.Fatalf("%s: written %d bytes, %v; appended %d", c, n, err, len(got))
			}
		}
	})
}
