package http1

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http/httputil"
	"strings"
	"testing"
)

// reading is the result of decoding a message.
type reading struct {
	content  string
	consumed int
	done     bool
	err      error
}

func (r reading) String() string {
	return fmt.Sprintf("%q, %d bytes consumed, done %v, %v", r.content, r.consumed, r.done, r.err)
}

// next is the interface of the readers of content.
type next interface {
	Next(src []byte) (content []byte, n int, err error)
	Done() bool
}

// readPieces passes raw to r in pieces that end at the positions ends, and checks the
// documented properties of every call.
func readPieces(t *testing.T, r next, raw string, ends ...int) (got reading) {
	t.Helper()
	var content []byte
	from := 0
	for _, end := range append(ends, len(raw)) {
		src := []byte(raw[from:end])
		for len(src) > 0 && !r.Done() {
			piece, n, err := r.Next(src)
			got.consumed += n
			content = append(content, piece...)
			if len(piece) > 0 && !bytes.Equal(piece, src[n-len(piece):n]) {
				t.Fatalf("%q: the content %q does not end the %d bytes that were consumed of %q", raw, piece, n, src)
			}
			if err != nil {
				got.content, got.err = string(content), err
				if len(piece) > 0 {
					t.Fatalf("%q: both content and %v", raw, err)
				}
				return got
			}
			if len(piece) == 0 && n < len(src) && !r.Done() {
				t.Fatalf("%q: consumed %d of %q without a reason to stop", raw, n, src)
			}
			src = src[n:]
		}
		from = end
	}
	got.content, got.done = string(content), r.Done()
	return got
}

// steps returns the ends of pieces of n bytes.
func steps(size, n int) (ends []int) {
	for i := n; i < size; i += n {
		ends = append(ends, i)
	}
	return ends
}

// readChunks decodes raw whole, split at every byte, and byte by byte. The results must be
// equal.
func readChunks(t *testing.T, raw string) reading {
	t.Helper()
	whole := readPieces(t, new(Chunked), raw)
	same := func(how string, got reading) {
		t.Helper()
		if got != whole {
			t.Errorf("%.200q: whole: %v\n%s: %v", raw, whole, how, got)
		}
	}
	same("byte by byte", readPieces(t, new(Chunked), raw, steps(len(raw), 1)...))
	if len(raw) > 300 {
		for _, n := range []int{2, 3, 7, 255, 256} {
			same(fmt.Sprintf("in pieces of %d", n), readPieces(t, new(Chunked), raw, steps(len(raw), n)...))
		}
		return whole
	}
	for cut := range len(raw) {
		same(fmt.Sprintf("split at %d", cut), readPieces(t, new(Chunked), raw, cut))
	}
	return whole
}

// bad is the reading of a message with a wrong byte at position at.
func bad(content string, at int, err error) reading {
	return reading{content, at, false, err}
}

func TestChunkedMessages(t *testing.T) {
	for _, c := range []struct {
		raw  string
		want reading
	}{
		{"0\r\n", reading{"", 3, true, nil}},
		{"0\r\n\r\n", reading{"", 3, true, nil}},
		{"000\r\nTrailer: x\r\n\r\n", reading{"", 5, true, nil}},
		{"0000000000000000\r\n", reading{"", 18, true, nil}},
		{"5\r\nhello\r\n0\r\n\r\n", reading{"hello", 13, true, nil}},
		{"5\r\nhello\r\n7\r\n, world\r\n0\r\n\r\nGET /", reading{"hello, world", 25, true, nil}},
		{"a\r\n0123456789\r\nA\r\n0123456789\r\n00\r\n", reading{"01234567890123456789", 34, true, nil}},
		{"0000000000000002\r\nhi\r\n0\r\n", reading{"hi", 25, true, nil}},
		{"2\r\n\r\n\r\n0\r\n", reading{"\r\n", 10, true, nil}},
		{"5\r\n0\r\n\r\n\r\n0\r\n", reading{"0\r\n\r\n", 13, true, nil}},
		{"1F\r\n" + strings.Repeat("\x00", 31) + "\r\n0\r\n", reading{strings.Repeat("\x00", 31), 40, true, nil}},
		{"fe\r\n" + strings.Repeat("\xff", 254) + "\r\n0\r\n", reading{strings.Repeat("\xff", 254), 263, true, nil}},
		// not yet ended
		{"", reading{}},
		{"5", reading{"", 1, false, nil}},
		{"5\r", reading{"", 2, false, nil}},
		{"5\r\nhel", reading{"hel", 6, false, nil}},
		{"5\r\nhello", reading{"hello", 8, false, nil}},
		{"5\r\nhello\r", reading{"hello", 9, false, nil}},
		{"5\r\nhello\r\n", reading{"hello", 10, false, nil}},
		{"5\r\nhello\r\n0", reading{"hello", 11, false, nil}},
		{"7fffffffffffffff\r\nx", reading{"x", 19, false, nil}},

		// known failure 14
		{" 5\r\nhello\r\n", bad("", 0, ErrChunkSize)},
		{"\t5\r\nhello\r\n", bad("", 0, ErrChunkSize)},
		{"+5\r\nhello\r\n", bad("", 0, ErrChunkSize)},
		{"-5\r\nhello\r\n", bad("", 0, ErrChunkSize)},
		{"-0\r\n", bad("", 0, ErrChunkSize)},
		{"0x5\r\nhello\r\n", bad("", 1, ErrChunkSize)},
		{"0X5\r\nhello\r\n", bad("", 1, ErrChunkSize)},
		{"x5\r\nhello\r\n", bad("", 0, ErrChunkSize)},
		{"5h\r\nhello\r\n", bad("", 1, ErrChunkSize)},
		{"1_0\r\n", bad("", 1, ErrChunkSize)},
		{"1,0\r\n", bad("", 1, ErrChunkSize)},
		{"5.0\r\n", bad("", 1, ErrChunkSize)},
		{"g\r\n", bad("", 0, ErrChunkSize)},
		{"\"5\"\r\n", bad("", 0, ErrChunkSize)},
		{"\x005\r\n", bad("", 0, ErrChunkSize)},
		{"5\x00\r\n", bad("", 1, ErrChunkSize)},
		{"\xb5\r\n", bad("", 0, ErrChunkSize)},
		{"\r\n", bad("", 0, ErrChunkSize)},
		{"\n", bad("", 0, ErrChunkSize)},
		{";a=b\r\n", bad("", 0, ErrChunkSize)},
		{"00000000000000000\r\n", bad("", 16, ErrChunkSize)},
		{"00000000000000005\r\nhello\r\n", bad("", 16, ErrChunkSize)},
		{"8000000000000000\r\n", bad("", 15, ErrChunkSize)},
		{"ffffffffffffffff\r\n", bad("", 15, ErrChunkSize)},
		{"10000000000000005\r\nhello\r\n", bad("", 16, ErrChunkSize)},
		// ends of lines
		{"5\nhello\r\n", bad("", 1, ErrChunkSize)},
		{"5\r\r\nhello\r\n", bad("", 2, ErrChunkSize)},
		{"5\rhello\r\n", bad("", 2, ErrChunkSize)},
		{"0\n\n", bad("", 1, ErrChunkSize)},
		{"0\r\r\n", bad("", 2, ErrChunkSize)},
		// ends of data
		{"5\r\nhello\n0\r\n", bad("hello", 8, ErrChunkEnd)},
		{"5\r\nhello0\r\n", bad("hello", 8, ErrChunkEnd)},
		{"5\r\nhello!\r\n0\r\n", bad("hello", 8, ErrChunkEnd)},
		{"5\r\nhell\r\n0\r\n", bad("hell\r", 8, ErrChunkEnd)},
		{"5\r\nhello\rX", bad("hello", 9, ErrChunkEnd)},
		{"5\r\nhello\r\r\n", bad("hello", 9, ErrChunkEnd)},
		{"5\r\nhello\r\n\r\n", bad("hello", 10, ErrChunkSize)},
		{"5\r\nhello\r\n 0\r\n", bad("hello", 10, ErrChunkSize)},
		{"5\r\nhello\r\n0;\x7f\r\n", bad("hello", 12, ErrChunkExtension)},
	} {
		if got := readChunks(t, c.raw); got != c.want {
			t.Errorf("%.60q:\n%v\nwant\n%v", c.raw, got, c.want)
		}
	}
}

// known failure 3: extensions by the grammar of RFC 9112 section 7.1.1
func TestChunkExtensions(t *testing.T) {
	for _, ext := range []string{
		"", ";a", ";a=b", ";a;b", ";a=b;c=d", "; a", ";a =b", ";a= b", ";a = b", " ;a", "\t; \ta\t=\t b",
		";a=b ;c", ";a ;b", ";a\t;b=c ; d", " ; a = b ; c = d",
		`;a=""`, `;a="b"`, `;a="b c;d=e,\"f\""`, `;a="\\"`, `;a="\ ` + "\t" + `"`, `;a="b" ;c="d"`, `;a="b";c`,
		";a=\"\x80\xff\t\"", ";a=\"\\\xff\"", ";!#$%&'*+-.^_`|~09azAZ=!#$%&'*+-.^_`|~09azAZ",
	} {
		for _, size := range []string{"2", "02", "0"} {
			raw, want := size+ext+"\r\nhi\r\n0\r\n", reading{"hi", len(size+ext) + 9, true, nil}
			if size == "0" {
				want = reading{"", len(size+ext) + 2, true, nil}
			}
			if got := readChunks(t, raw); got != want {
				t.Errorf("%q:\n%v\nwant\n%v", raw, got, want)
			}
		}
	}
	// at is the position of the wrong byte, counted from the semicolon
	for _, c := range []struct {
		ext string
		at  int
	}{
		{";\r\n", 1}, {"; \r\n", 2}, {";;a\r\n", 1}, {";=b\r\n", 1}, {"; =b\r\n", 2}, {";a;\r\n", 3}, {";a ;\r\n", 4}, {";a=b ;\r\n", 6}, {";a ;=b\r\n", 4}, {";a;;b\r\n", 3},
		{" \r\n", 1}, {"\t\r\n", 1}, {" 5\r\n", 1}, {" a\r\n", 1}, {" =b\r\n", 1},
		{";a \r\n", 3}, {";a=b \r\n", 5}, {`;a="b" ` + "\r\n", 7}, {";a b\r\n", 3}, {";a=b c\r\n", 5}, {`;a="b" c` + "\r\n", 7},
		{";a=\r\n", 3}, {";a= \r\n", 4}, {";a==b\r\n", 3}, {";a=b=c\r\n", 4}, {";a=;b\r\n", 3}, {";a=\"b\"c\r\n", 6}, {`;a="b"="c"` + "\r\n", 6},
		{`;a=b"c"` + "\r\n", 4}, {`;"a"=b` + "\r\n", 1}, {";a,b\r\n", 2}, {";a:b\r\n", 2}, {";a/b\r\n", 2}, {";a=b/c\r\n", 4}, {";a=[]\r\n", 3},
		// bytes in places that do not allow them
		{";\n", 1}, {";a\n", 2}, {";a=\n", 3}, {";a=b\n", 4}, {";a=\"\n\"", 4}, {" \n", 1}, {";a \n", 3}, {";a=\"b\"\n", 6},
		{";a\x00\r\n", 2}, {";\xffa\r\n", 1}, {";a\xff\r\n", 2}, {";a=\xff\r\n", 3}, {";a=b\x7f\r\n", 4},
		{";a=\"\x00\"", 4}, {";a=\"\x7f\"", 4}, {";a=\"\r\n\"", 4}, {";a=\"b\\\r\n", 6}, {";a=\"\\\n\"", 5}, {";a=\"\\\x00\"", 5},
	} {
		if got, want := readChunks(t, "5"+c.ext+"hello\r\n"), bad("", 1+c.at, ErrChunkExtension); got != want {
			t.Errorf("%q:\n%v\nwant\n%v", c.ext, got, want)
		}
	}
	// only LF may follow a bare CR
	for _, ext := range []string{"", ";a", ";a=b", `;a="b"`} {
		if got, want := readChunks(t, "5"+ext+"\rhello"), bad("", len(ext)+2, ErrChunkSize); got != want {
			t.Errorf("%q:\n%v\nwant\n%v", ext, got, want)
		}
	}
}

// known failure 3: a little content with a lot of extensions
func TestExtensionsAreLimited(t *testing.T) {
	ext := func(n int) string { return ";" + strings.Repeat("a", n-1) }
	chunk := func(n int) string { return "1" + ext(n) + "\r\nx\r\n" }
	if got, want := readChunks(t, chunk(MaxChunkLine)), (reading{"x", MaxChunkLine + 6, false, nil}); got != want {
		t.Errorf("the longest line: %v, want %v", got, want)
	}
	for _, e := range []string{
		ext(MaxChunkLine + 1),
		";" + strings.Repeat(" ", MaxChunkLine),
		" " + strings.Repeat("\t", MaxChunkLine),
		";a=\"" + strings.Repeat("\\\"", MaxChunkLine),
		strings.Repeat(";a=b", MaxChunkLine/4) + ";c",
		";a" + strings.Repeat(" ", MaxChunkLine),
	} {
		if got, want := readChunks(t, "1"+e+"\r\nx\r\n"), bad("", 1+MaxChunkLine, ErrLongChunkLine); got != want {
			t.Errorf("%.20q...: %v, want %v", e, got, want)
		}
	}
	// the limit of a line begins again with each chunk, the limit of a message does not
	const many = MaxChunkExtensions / 1024
	raw := strings.Repeat(chunk(1024), many)
	if got, want := readChunks(t, raw+"0\r\n"), (reading{strings.Repeat("x", many), len(raw) + 3, true, nil}); got != want {
		t.Errorf("the most extensions: %v, want %v", got, want)
	}
	if got, want := readChunks(t, raw+"1;a\r\nx\r\n"), bad(strings.Repeat("x", many), len(raw)+1, ErrManyExtensions); got != want {
		t.Errorf("one extension more: %v, want %v", got, want)
	}
	if got, want := readChunks(t, strings.Repeat("1;a\r\nx\r\n", 10000)), MaxChunkExtensions/2; len(got.content) != want || got.err != ErrManyExtensions {
		t.Errorf("one-byte chunks with extensions: %v, want %d bytes", got, want)
	}
	// without extensions there is nothing to limit
	if got := readPieces(t, new(Chunked), strings.Repeat("1\r\nx\r\n", 20000)+"0\r\n"); len(got.content) != 20000 || !got.done {
		t.Errorf("many small chunks: %v", got.err)
	}
}

func TestContentIsAPartOfTheSource(t *testing.T) {
	var c Chunked
	src := []byte("5\r\nhello\r\n0\r\n")
	content, n, err := c.Next(src)
	if string(content) != "hello" || n != 8 || err != nil {
		t.Fatalf("%q, %d, %v", content, n, err)
	}
	if &content[0] != &src[3] {
		t.Error("the content was copied")
	}
}

func TestLeftOfAChunk(t *testing.T) {
	var c Chunked
	for _, step := range []struct {
		src  string
		n    int
		left uint64
		done bool
	}{
		{"", 0, 0, false},
		{"1", 1, 0, false},
		{"0", 1, 0, false},
		{"\r", 1, 0, false},
		{"\n", 1, 16, false},
		{"", 0, 16, false},
		{"0123456", 7, 9, false},
		{"789abcdef\r\n", 9, 0, false},
		{"\r\n", 2, 0, false},
		{"0\r\nX", 3, 0, true},
		{"X", 0, 0, true},
	} {
		_, n, err := c.Next([]byte(step.src))
		if n != step.n || err != nil || c.Remaining() != step.left || c.Done() != step.done {
			t.Errorf("%q: %d, %v, %d left, done %v", step.src, n, err, c.Remaining(), c.Done())
		}
	}
}

// appendChunks writes content in chunks of the given sizes, in turn.
func appendChunks(content []byte, sizes ...int) (raw []byte) {
	for i := 0; len(content) > 0; i++ {
		size := min(max(sizes[i%len(sizes)], 1), len(content))
		raw = AppendChunkStart(raw, size)
		raw = append(raw, content[:size]...)
		raw = AppendChunkEnd(raw)
		content = content[size:]
	}
	return append(AppendLastChunk(raw), "\r\n"...)
}

func TestWhatIsWrittenInChunksIsReadBack(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	content := make([]byte, 70000)
	for i := range content {
		content[i] = byte(r.Uint32())
	}
	for _, size := range []int{0, 1, 9, 10, 15, 16, 17, 255, 256, 4095, 4096, 65535, 65536, 70000} {
		for _, chunk := range []int{1, 16, 255, 4096, 1 << 20} {
			if chunk == 1 && size > 300 {
				continue
			}
			raw := appendChunks(content[:size], chunk)
			want := reading{string(content[:size]), len(raw) - 2, true, nil}
			if got := readPieces(t, new(Chunked), string(raw), steps(len(raw), 1000)...); got != want {
				t.Errorf("%d bytes in chunks of %d: %d bytes, %d of %d consumed, %v", size, chunk, len(got.content), got.consumed, len(raw), got.err)
			}
			std, err := io.ReadAll(httputil.NewChunkedReader(bytes.NewReader(raw)))
			if !bytes.Equal(std, content[:size]) || err != nil {
				t.Errorf("%d bytes in chunks of %d: the standard library reads %d bytes, %v", size, chunk, len(std), err)
			}
		}
	}
	if got := string(appendChunks([]byte("hello, world"), 10)); got != "a\r\nhello, wor\r\n2\r\nld\r\n0\r\n\r\n" {
		t.Errorf("%q", got)
	}
}

func TestDecodingChunksDoesNotAllocate(t *testing.T) {
	raw := []byte("5;a=\"b\"\r\nhello\r\n7\r\n, world\r\n0\r\n")
	wrong := []byte("5;a=\"\x00\"\r\n")
	allocs := testing.AllocsPerRun(100, func() {
		var c Chunked
		total := 0
		for src := raw; !c.Done(); {
			content, n, err := c.Next(src)
			if err != nil {
				t.Fatal(err)
			}
			total += len(content)
			src = src[n:]
		}
		if total != 12 {
			t.Error(total)
		}
		c = Chunked{}
		if _, _, err := c.Next(wrong); err != error(ErrChunkExtension) {
			t.Error(err)
		}
	})
	if allocs != 0 {
		t.Errorf("%v allocations", allocs)
	}
}

// FuzzChunked reads a message whole and in pieces, which must give the same result. It
// compares the result with the standard library: a message that Chunked accepts must mean
// the same there. The standard library accepts more, such as lone LFs.
func FuzzChunked(f *testing.F) {
	for _, s := range []string{
		"5\r\nhello\r\n0\r\n\r\n", "5;a=b; c = \"d\\\"\"\r\nhello\r\n00;x\r\nA: b\r\n\r\n", "FFFFFFFFFFFFFFFF0\r\n", "2\n\r\nhi", "1 ;a\r\nx\r\n1 \r\n",
	} {
		f.Add([]byte(s), uint8(1))
	}
	f.Fuzz(func(t *testing.T, raw []byte, step uint8) {
		whole := readPieces(t, new(Chunked), string(raw))
		for _, n := range []int{1, int(step) + 2} {
			if got := readPieces(t, new(Chunked), string(raw), steps(len(raw), n)...); got != whole {
				t.Fatalf("%q: whole: %v\nin pieces of %d: %v", raw, whole, n, got)
			}
		}
		if whole.consumed > len(raw) || whole.done && whole.err != nil {
			t.Fatalf("%q: %v", raw, whole)
		}
		if !whole.done {
			return
		}
		std, err := io.ReadAll(httputil.NewChunkedReader(io.MultiReader(bytes.NewReader(raw[:whole.consumed]), strings.NewReader("\r\n"))))
		// it refuses the white space that the grammar allows before a semicolon, and has
		// lower limits for extensions
		stricter := bytes.Contains(raw, []byte(" ;")) || bytes.Contains(raw, []byte("\t;")) || whole.consumed > 4096
		if !strings.HasPrefix(whole.content, string(std)) || !stricter && (len(std) != len(whole.content) || err != nil) {
			t.Fatalf("%q: %v\nthe standard library: %q, %v", raw, whole, std, err)
		}
	})
}

func BenchmarkChunked(b *testing.B) {
	for _, chunk := range []int{16, 512, 16 << 10} {
		raw := appendChunks(make([]byte, 64<<10), chunk)
		b.Run(fmt.Sprintf("chunk=%d", chunk), func(b *testing.B) {
			b.SetBytes(int64(len(raw)))
			b.ReportAllocs()
			for b.Loop() {
				var c Chunked
				for src := raw; !c.Done(); {
					_, n, err := c.Next(src)
					if err != nil {
						b.Fatal(err)
					}
					src = src[n:]
				}
			}
		})
	}
}

// Spaces after a chunk size are allowed in responses only.
func TestSpacesBehindAChunkSize(t *testing.T) {
	for _, raw := range []string{
		"5 \r\nhello\r\n0\r\n", "5 \t \r\nhello\r\n0  \r\n", "5;a=b \r\nhello\r\n0 ;c\t\r\n", "0005   \r\nhello\r\n00 \r\n",
	} {
		for from := 1; from < len(raw); from++ {
			var loose Body
			loose.Start(Framing{Kind: Chunks, LooseChunks: true})
			if got, want := readPieces(t, &loose, raw, from), (reading{"hello", len(raw), true, nil}); got != want {
				t.Errorf("%q: %v", raw, got)
			}
		}
		var strict Body
		strict.Start(Framing{Kind: Chunks})
		if got := readPieces(t, &strict, raw); got.err != error(ErrChunkExtension) {
			t.Errorf("%q in a request: %v", raw, got)
		}
	}
	for _, raw := range []string{" 5\r\n", "5 5\r\nhello", "5 x\r\n", "5 \n", "5;a= \r\n", "5; \r\n"} {
		var loose Body
		loose.Start(Framing{Kind: Chunks, LooseChunks: true})
		if got := readPieces(t, &loose, raw); got.err == nil {
			t.Errorf("%q: %v", raw, got)
		}
	}
}
