package bodyio

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/valyala/fasthttp/internal/http1"
)

// link is a recvbuf.Source that receives one piece after the other.
type link struct {
	have   []byte
	pieces []string
	end    error
	fills  int
}

func (l *link) Peek() []byte { return l.have }

func (l *link) Discard(n int) { l.have = l.have[n:] }

func (l *link) Fill() error {
	l.fills++
	if len(l.pieces) == 0 {
		return l.end
	}
	l.have = append(l.have[:len(l.have):len(l.have)], l.pieces[0]...)
	l.pieces = l.pieces[1:]
	return nil
}

// receiving is a link that receives text in pieces of size bytes.
func receiving(text string, size int) *link {
	l := &link{end: io.EOF}
	for text != "" {
		n := min(size, len(text))
		l.pieces, text = append(l.pieces, text[:n]), text[n:]
	}
	return l
}

// arrivedOn is a link on which text has arrived, and on which more will arrive.
func arrivedOn(text string, more ...string) *link {
	return &link{have: []byte(text), pieces: more, end: io.EOF}
}

// trailing keeps the trailer section of a message.
type trailing struct {
	section string
	err     error
}

var errBroken = errors.New("broken chunk")

func (r *trailing) FeedTrailers(b []byte) (int, error) {
	if r.err != nil {
		return 0, r.err
	}
	if bytes.HasPrefix(b, []byte("\r\n")) {
		return 2, nil
	}
	n := bytes.Index(b, []byte("\r\n\r\n"))
	if n < 0 {
		return 0, nil
	}
	r.section = string(b[:n])
	return n + 4, nil
}

func (r *trailing) BrokenChunk(err error) error { return fmt.Errorf("%w: %w", errBroken, err) }

var (
	chunks     = http1.Framing{Kind: http1.Chunks}
	untilClose = http1.Framing{Kind: http1.UntilClose}
)

func length(n int64) http1.Framing { return http1.Framing{Kind: http1.Length, Length: n} }

// readPieces reads r to its end through a buffer of size bytes.
func readPieces(r io.Reader, size int) (string, error) {
	var all []byte
	p := make([]byte, size)
	for {
		n, err := r.Read(p)
		all = append(all, p[:n]...)
		if err != nil {
			return string(all), err
		}
	}
}

func TestIncomingReadsAMessage(t *testing.T) {
	const coding = "3\r\nabc\r\nB;x=y\r\ndefghijklmn\r\n0\r\n"
	for name, tt := range map[string]struct {
		framing                   http1.Framing
		text, content, rest, sent string
		err                       error
	}{
		"no content":        {http1.Framing{}, "next", "", "next", "", io.EOF},
		"length":            {length(5), "12345next", "12345", "next", "", io.EOF},
		"no length":         {length(0), "next", "", "next", "", io.EOF},
		"cut length":        {length(5), "1234", "1234", "", "", io.ErrUnexpectedEOF},
		"chunks":            {chunks, coding + "\r\nnext", "abcdefghijklmn", "next", "", io.EOF},
		"trailers":          {chunks, coding + "A: b\r\nC: d\r\n\r\nnext", "abcdefghijklmn", "next", "A: b\r\nC: d", io.EOF},
		"no chunks":         {chunks, "0\r\n\r\nnext", "", "next", "", io.EOF},
		"cut chunks":        {chunks, "3\r\nab", "ab", "", "", io.ErrUnexpectedEOF},
		"without trailers":  {chunks, "3\r\nabc\r\n0\r\n", "abc", "", "", io.ErrUnexpectedEOF},
		"cut trailers":      {chunks, "0\r\nA: b", "", "", "", io.ErrUnexpectedEOF},
		"broken chunks":     {chunks, "3\r\nabc\r\nxyz\r\n", "abc", "", "", errBroken},
		"until the end":     {untilClose, "12345", "12345", "", "", io.EOF},
		"nothing until end": {untilClose, "", "", "", "", io.EOF},
	} {
		t.Run(name, func(t *testing.T) {
			for piece := 1; piece <= len(tt.text)+1; piece++ {
				for _, size := range []int{1, 2, 4, 100} {
					in, to := receiving(tt.text, piece), &trailing{}
					var s Incoming
					s.Start(in, tt.framing, to)
					got, err := readPieces(&s, size)
					if got != tt.content || !errors.Is(err, tt.err) || to.section != tt.sent || s.Ended() != (tt.err == io.EOF) {
						t.Fatalf("pieces of %d through %d: %q, %v, trailers %q, ended %v", piece, size, got, err, to.section, s.Ended())
					}
					if rest := string(in.have) + strings.Join(in.pieces, ""); tt.err == io.EOF && rest != tt.rest {
						t.Fatalf("pieces of %d through %d: %q follows", piece, size, rest)
					}
					if _, again := s.Read(make([]byte, 1)); again != err {
						t.Fatalf("then the error is %v, not %v", again, err)
					}
				}
			}
		})
	}
}

func TestIncomingGoesOnWithADecoder(t *testing.T) {
	var d http1.Body
	d.Start(chunks)
	if content, n, err := d.Next([]byte("8\r\nabc")); string(content) != "abc" || n != 6 || err != nil {
		t.Fatal(string(content), n, err)
	}
	var s Incoming
	s.Resume(receiving("defgh\r\n0\r\n\r\n", 3), d, &trailing{})
	if got, err := readPieces(&s, 100); got != "defgh" || err != io.EOF {
		t.Errorf("the rest is %q, %v", got, err)
	}
}

func TestIncomingFailsWithTheErrorOfItsSource(t *testing.T) {
	broken := errors.New("broken")
	for _, f := range []http1.Framing{length(5), chunks, untilClose} {
		var s Incoming
		s.Start(&link{end: broken}, f, &trailing{})
		if _, err := s.Read(make([]byte, 1)); err != broken || s.Ended() {
			t.Errorf("%v: %v", f, err)
		}
	}
	var s Incoming
	s.Start(arrivedOn("0\r\nA: b\r\n\r\n"), chunks, &trailing{err: broken})
	if _, err := s.Read(make([]byte, 1)); err != broken || s.Ended() {
		t.Errorf("trailers that are refused have the error %v", err)
	}
}

// A read into an empty slice receives nothing.
func TestIncomingReadOfNoBytes(t *testing.T) {
	in := receiving("abc", 3)
	var s Incoming
	s.Start(in, length(3), &trailing{})
	if n, err := s.Read(nil); n != 0 || err != nil || in.fills > 0 {
		t.Errorf("%d, %v, asked %d times for more", n, err, in.fills)
	}
}

func TestIncomingLimit(t *testing.T) {
	const coding = "4\r\n1234\r\n4\r\n5678\r\n0\r\n\r\n"
	for name, tt := range map[string]struct {
		framing http1.Framing
		text    string
		limits  []int64
		at      error // result of the last Limit
		content string
		err     error
	}{
		"length":         {length(8), "12345678", []int64{8}, nil, "12345678", io.EOF},
		"known too long": {length(8), "12345678", []int64{7}, http1.ErrBodyTooLarge, "", http1.ErrBodyTooLarge},
		"chunks":         {chunks, coding, []int64{8}, nil, "12345678", io.EOF},
		"too many":       {chunks, coding, []int64{7}, nil, "1234567", http1.ErrBodyTooLarge},
		"at a chunk":     {chunks, coding, []int64{4}, nil, "1234", http1.ErrBodyTooLarge},
		"none":           {chunks, coding, []int64{0}, nil, "", http1.ErrBodyTooLarge},
		"lower later":    {chunks, coding, []int64{7, 2}, nil, "12", http1.ErrBodyTooLarge},
		"higher later":   {chunks, coding, []int64{2, 7}, nil, "12", http1.ErrBodyTooLarge},
		"until the end":  {untilClose, "12345678", []int64{5}, nil, "12345", http1.ErrBodyTooLarge},
		"empty":          {length(0), "", []int64{0}, nil, "", io.EOF},
	} {
		t.Run(name, func(t *testing.T) {
			for _, size := range []int{1, 3, 100} {
				var s Incoming
				s.Start(receiving(tt.text, 5), tt.framing, &trailing{})
				var at error
				for _, limit := range tt.limits {
					at = s.Limit(limit)
				}
				if got, err := readPieces(&s, size); at != tt.at || got != tt.content || err != tt.err {
					t.Errorf("through %d: %v, then %q, %v", size, at, got, err)
				}
			}
		})
	}
}

func TestIncomingDrains(t *testing.T) {
	const coding = "4\r\n1234\r\n4\r\n5678\r\n0\r\n"
	for name, tt := range map[string]struct {
		in      *link
		framing http1.Framing
		limit   int
		arrived Drained // result of DrainArrived
		all     Drained // result of Drain after it
		left    int     // bytes left of the limit
		section string
	}{
		"all is there":         {arrivedOn("12345678next"), length(8), 8, DrainedAll, DrainedAll, 0, ""},
		"some is there":        {arrivedOn("123", "45", "678next"), length(8), 10, DrainedLater, DrainedAll, 2, ""},
		"nothing is there":     {arrivedOn("", "12345678next"), length(8), 10, DrainedLater, DrainedAll, 2, ""},
		"too much":             {arrivedOn("12345678next"), length(8), 7, DrainedNever, DrainedNever, 7, ""},
		"chunks":               {arrivedOn(coding + "A: b\r\n\r\nnext"), chunks, 10, DrainedAll, DrainedAll, 2, "A: b"},
		"chunks that come":     {arrivedOn("4\r\n1234\r\n4\r\n5", "678\r\n0\r\n\r\nnext"), chunks, 10, DrainedLater, DrainedAll, 2, ""},
		"chunks and an end":    {arrivedOn(coding, "\r\nnext"), chunks, 10, DrainedLater, DrainedAll, 2, ""},
		"trailers that come":   {arrivedOn(coding+"A: ", "b\r\n", "\r\nnext"), chunks, 10, DrainedLater, DrainedAll, 2, "A: b"},
		"too much in chunks":   {arrivedOn(coding + "\r\n"), chunks, 7, DrainedNever, DrainedNever, 0, ""},
		"broken chunks":        {arrivedOn("4\r\n1234\r\nxyz"), chunks, 10, DrainedNever, DrainedNever, 6, ""},
		"cut":                  {arrivedOn("12"), length(8), 10, DrainedLater, DrainedNever, 8, ""},
		"until the end":        {arrivedOn("12", "34"), untilClose, 10, DrainedLater, DrainedAll, 6, ""},
		"too long for the end": {arrivedOn("12", "34"), untilClose, 3, DrainedLater, DrainedNever, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			for _, closed := range []bool{false, true} {
				in, to, limit := *tt.in, &trailing{}, tt.limit
				var s Incoming
				s.Start(&in, tt.framing, to)
				if closed {
					_ = s.Close()
				}
				if got := s.DrainArrived(&limit); got != tt.arrived || in.fills > 0 {
					t.Errorf("the arrived part: %v, %d waits, want %v", got, in.fills, tt.arrived)
				}
				if _, err := s.Read(nil); closed && !s.Ended() && s.phase.Load() != incomingFailed && err != ErrClosed {
					t.Errorf("a closed stream has the error %v while it is drained", err)
				}
				if got := s.Drain(&limit); got != tt.all || limit != tt.left || to.section != tt.section || s.Ended() != (got == DrainedAll) {
					t.Errorf("all: %v, %d left, trailers %q, ended %v", got, limit, to.section, s.Ended())
				}
				if rest := string(in.have) + strings.Join(in.pieces, ""); s.Ended() && tt.framing != untilClose && rest != "next" {
					t.Errorf("%q follows", rest)
				}
			}
		})
	}
}

// A large message is drained to its end, in more than one step.
func TestIncomingDrainsMuch(t *testing.T) {
	text := strings.Repeat("x", 10_000)
	limit := len(text)
	var s Incoming
	s.Start(receiving(text, 1000), length(int64(len(text))), &trailing{})
	if got := s.Drain(&limit); got != DrainedAll || limit != 0 {
		t.Errorf("%v, %d left", got, limit)
	}
}

// The effect of each call in each phase.
func TestIncomingPhases(t *testing.T) {
	names := []string{incomingEnded: "ended", incomingOpen: "open", incomingClosed: "closed", incomingFailed: "failed"}
	begin := func(phase uint32) *Incoming {
		s := new(Incoming)
		if phase == incomingEnded {
			return s
		}
		s.Start(arrivedOn("12", "3"), length(3), &trailing{})
		switch phase {
		case incomingClosed:
			_ = s.Close()
		case incomingFailed:
			s.fail(errBroken)
		}
		return s
	}
	many := 100
	calls := map[string]struct {
		call func(s *Incoming)
		to   [4]uint32 // next phase, by the phase before
	}{
		"Read":         {func(s *Incoming) { _, _ = s.Read(make([]byte, 2)) }, [4]uint32{incomingEnded, incomingOpen, incomingClosed, incomingFailed}},
		"ReadAll":      {func(s *Incoming) { _, _ = io.ReadAll(s) }, [4]uint32{incomingEnded, incomingEnded, incomingClosed, incomingFailed}},
		"Limit":        {func(s *Incoming) { _ = s.Limit(5) }, [4]uint32{incomingEnded, incomingOpen, incomingClosed, incomingFailed}},
		"a low Limit":  {func(s *Incoming) { _ = s.Limit(1) }, [4]uint32{incomingEnded, incomingFailed, incomingClosed, incomingFailed}},
		"Close":        {func(s *Incoming) { _ = s.Close() }, [4]uint32{incomingEnded, incomingClosed, incomingClosed, incomingFailed}},
		"DrainArrived": {func(s *Incoming) { s.DrainArrived(&many) }, [4]uint32{incomingEnded, incomingOpen, incomingClosed, incomingFailed}},
		"Drain":        {func(s *Incoming) { s.Drain(&many) }, [4]uint32{incomingEnded, incomingEnded, incomingEnded, incomingFailed}},
	}
	for name, tt := range calls {
		for before, after := range tt.to {
			s := begin(uint32(before))
			tt.call(s)
			if got := s.phase.Load(); got != after {
				t.Errorf("%s makes %s %s, want %s", name, names[before], names[got], names[after])
			}
		}
	}
}

func TestIncomingSaysHowMuchIsLeft(t *testing.T) {
	var s Incoming
	s.Start(arrivedOn("12345"), length(5), &trailing{})
	_, _ = s.Read(make([]byte, 2))
	if n, known := s.Remaining(); n != 3 || !known {
		t.Errorf("%d, %v", n, known)
	}
	for _, f := range []http1.Framing{chunks, untilClose} {
		s.Start(arrivedOn("12345"), f, &trailing{})
		if n, known := s.Remaining(); n != 0 || known {
			t.Errorf("%v: %d, %v", f, n, known)
		}
	}
}

func TestIncomingAllocatesNothing(t *testing.T) {
	in, to, p := &link{end: io.EOF}, &trailing{}, make([]byte, 100)
	text := []byte("5\r\n12345\r\n3\r\nabc\r\n0\r\n\r\n")
	var s Incoming
	if n := testing.AllocsPerRun(100, func() {
		in.have = text
		s.Start(in, chunks, to)
		_, _ = s.Read(p)
		limit := 10
		if s.DrainArrived(&limit) != DrainedAll {
			t.Error("it is not drained")
		}
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// FuzzIncoming reads chunked messages in pieces of any size, which must all give the
// same result.
func FuzzIncoming(f *testing.F) {
	f.Add("3\r\nabc\r\n0\r\n\r\n", uint8(1), uint8(2))
	f.Add("a\r\n0123456789\r\n5\r\nabcde\r\n0\r\nA: b\r\n\r\nnext", uint8(3), uint8(4))
	f.Add("3\r\nabcd", uint8(7), uint8(1))
	f.Fuzz(func(t *testing.T, text string, piece, size uint8) {
		read := func(piece, size int) string {
			in, to := receiving(text, piece), &trailing{}
			var s Incoming
			s.Start(in, chunks, to)
			content, err := readPieces(&s, size)
			result := fmt.Sprintf("%q %v %q", content, err, to.section)
			if s.Ended() {
				result += string(in.have) + strings.Join(in.pieces, "")
			}
			return result
		}
		if got, want := read(int(piece)+1, int(size)+1), read(len(text)+1, len(text)+1); got != want {
			t.Errorf("pieces of %d through %d: %s, want %s", int(piece)+1, int(size)+1, got, want)
		}
	})
}
