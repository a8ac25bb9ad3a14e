package sse

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

// plain is an event with its data as text.
type plain struct {
	id, name, data string
}

// decode returns all events, the reconnection time, and the last ID.
func decode(r io.Reader, limit int) (all []plain, retry time.Duration, id string, err error) {
	d := NewDecoder(r)
	d.MaxEventSize = limit
	for {
		e, err := d.Next()
		if err != nil {
			retry := time.Duration(-1)
			if after, ok := d.Retry(); ok {
				retry = after
			}
			return all, retry, d.LastEventID(), err
		}
		all = append(all, plain{e.ID, e.Name, string(e.Data)})
	}
}

// model is a Decoder that sees the whole stream, after the text of the standard.
func model(stream string) (all []plain, retry time.Duration, lastID string) {
	stream = strings.TrimPrefix(stream, "\ufeff")
	stream = strings.ReplaceAll(strings.ReplaceAll(stream, "\r\n", "\n"), "\r", "\n")
	lines := strings.Split(stream, "\n")
	var data, name, id string
	retry = -1
	for _, line := range lines[:len(lines)-1] {
		field, value, found := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case line == "":
			lastID = id
			if data != "" {
				all = append(all, plain{lastID, name, strings.TrimSuffix(data, "\n")})
			}
			data, name = "", ""
		case found && field == "":
		case field == "data":
			data += value + "\n"
		case field == "event":
			name = value
		case field == "id" && !strings.Contains(value, "\x00"):
			id = value
		case field == "retry" && value != "" && strings.Trim(value, "0123456789") == "":
			if value = strings.TrimLeft(value, "0"); len(value) > 9 {
				retry = maxRetry
			} else {
				ms := 0
				for _, digit := range value {
					ms = 10*ms + int(digit-'0')
				}
				retry = min(time.Duration(ms)*time.Millisecond, maxRetry)
			}
		}
	}
	return all, retry, lastID
}

func TestStreamsAreRead(t *testing.T) {
	for stream, want := range map[string][]plain{
		"":                                     nil,
		"\n\n\n":                               nil,
		"data: a\n\n":                          {{"", "", "a"}},
		"data:a\n\n":                           {{"", "", "a"}},
		"data:  a\n\n":                         {{"", "", " a"}},
		"data\n\n":                             {{"", "", ""}},
		"data:\n\n":                            {{"", "", ""}},
		"data\ndata\n\n":                       {{"", "", "\n"}},
		"data: a":                              nil,
		"data: a\n":                            nil,
		"data: a\n\ndata: b\n":                 {{"", "", "a"}},
		"data: a\r\rdata: b\r\n\r\n":           {{"", "", "a"}, {"", "", "b"}},
		"data: a\n\r\ndata: b\r\n\n":           {{"", "", "a"}, {"", "", "b"}},
		"data: a\ndata: b\n\n":                 {{"", "", "a\nb"}},
		"\ufeffdata: a\n\n":                    {{"", "", "a"}},
		"\ufeff\ufeffdata: a\n\ndata: b\n\n":   {{"", "", "b"}},
		"\xef\xbbdata: a\n\ndata: b\n\n":       {{"", "", "b"}},
		"data: \ufeff\n\n":                     {{"", "", "\ufeff"}},
		":\n: x\ndata: a\n:data: b\n\n":        {{"", "", "a"}},
		"event: n\ndata: a\n\ndata: b\n\n":     {{"", "n", "a"}, {"", "", "b"}},
		"event: n\n\ndata: b\n\n":              {{"", "", "b"}},
		"event: n\nevent:\ndata: b\n\n":        {{"", "", "b"}},
		"id: 1\ndata: a\n\ndata: b\n\n":        {{"1", "", "a"}, {"1", "", "b"}},
		"id: 1\n\ndata: b\n\n":                 {{"1", "", "b"}},
		"id: 1\ndata: a\n\nid\ndata: b\n\n":    {{"1", "", "a"}, {"", "", "b"}},
		"id: 1\ndata: a\n\nid: 2\ndata: b":     {{"1", "", "a"}},
		"id: 1\nid: 2\x00\ndata: a\n\n":        {{"1", "", "a"}},
		"id: a:b\ndata: a\n\n":                 {{"a:b", "", "a"}},
		"Data: a\n data: b\ndata : c\n\n":      nil,
		"datax: a\ndat: b\nother\ndata: c\n\n": {{"", "", "c"}},
		"data: a\x00b\n\n":                     {{"", "", "a\x00b"}},
	} {
		for name, r := range map[string]io.Reader{
			"at once":        strings.NewReader(stream),
			"byte by byte":   iotest.OneByteReader(strings.NewReader(stream)),
			"with the error": iotest.DataErrReader(strings.NewReader(stream)),
		} {
			if got, _, _, err := decode(r, 0); err != io.EOF || !reflect.DeepEqual(got, want) {
				t.Errorf("%q, %s: %q, %v, want %q", stream, name, got, err, want)
			}
		}
		if got, _, _ := model(stream); !reflect.DeepEqual(got, want) {
			t.Errorf("%q: the model has %q, want %q", stream, got, want)
		}
	}
}

func TestReconnectionTimeIsDigits(t *testing.T) {
	for value, want := range map[string]time.Duration{
		"0": 0, "1": time.Millisecond, " 1500": 1500 * time.Millisecond, "007": 7 * time.Millisecond,
		"": -1, " ": -1, "-1": -1, "+1": -1, "1.5": -1, "1e3": -1, "1 ": -1, "  1": -1, "0x10": -1, "1_0": -1, "١": -1, "1s": -1,
		"86400000": maxRetry, "86400001": maxRetry, strings.Repeat("9", 100): maxRetry,
	} {
		if _, got, _, _ := decode(strings.NewReader("retry:"+value+"\n"), 0); got != want {
			t.Errorf("%q: %v, want %v", value, got, want)
		}
		if _, got, _ := model("retry:" + value + "\n"); got != want {
			t.Errorf("%q: the model has %v, want %v", value, got, want)
		}
	}
	// it belongs to an event, too
	d := NewDecoder(strings.NewReader("retry: 5\ndata: a\n\ndata: b\n\n"))
	for _, want := range []time.Duration{5 * time.Millisecond, 0} {
		if e, err := d.Next(); err != nil || e.Retry != want {
			t.Errorf("%+v, %v, want %v", e, err, want)
		}
	}
}

// An event is returned when its empty line has arrived, even if that ends with a CR, which
// may be the first half of a line break.
func TestEventsAreNotHeldBack(t *testing.T) {
	for _, lineBreak := range []string{"\n", "\r", "\r\n"} {
		r, w := io.Pipe()
		d := NewDecoder(r)
		for range 3 {
			go func() { _, _ = io.WriteString(w, "data: a"+lineBreak+lineBreak) }()
			if e, err := d.Next(); err != nil || string(e.Data) != "a" {
				t.Errorf("%q: %+v, %v", lineBreak, e, err)
			}
		}
	}
}

func TestSizeOfEventsIsLimited(t *testing.T) {
	const limit = 100
	data := func(n int) string { return "data:" + strings.Repeat("x", n) + "\n" }
	for name, c := range map[string]struct {
		stream string
		fits   bool
	}{
		"largest":           {data(limit-5) + "\n", true},
		"one more":          {data(limit-4) + "\n", false},
		"no end of a line":  {strings.Repeat("x", limit+1), false},
		"a comment":         {":" + strings.Repeat("x", limit) + "\n", false},
		"an ID":             {"id:" + strings.Repeat("x", limit) + "\n", false},
		"many lines":        {strings.Repeat(data(1), 48) + "\n", true},
		"too many lines":    {strings.Repeat(data(1), 49) + "\n", false},
		"many events":       {strings.Repeat(data(1)+"\n", 1000), true},
		"many comments":     {strings.Repeat(":"+strings.Repeat("x", 90)+"\n", 1000), true},
		"many empty fields": {strings.Repeat("data\n", limit) + "\n", false},
	} {
		for _, r := range []io.Reader{strings.NewReader(c.stream), iotest.OneByteReader(strings.NewReader(c.stream))} {
			d := NewDecoder(r)
			d.MaxEventSize = limit
			var err error
			for err == nil {
				_, err = d.Next()
			}
			if fits := err == io.EOF; fits != c.fits || !fits && err != ErrEventTooLarge {
				t.Errorf("%s: %v", name, err)
			}
			if _, again := d.Next(); again != err {
				t.Errorf("%s: first %v, then %v", name, err, again)
			}
			if cap(d.buf) > 2*(limit+2*minSpace) {
				t.Errorf("%s: the buffer has %d bytes", name, cap(d.buf))
			}
		}
	}
}

func TestErrorsOfTheReaderAreReturned(t *testing.T) {
	broken := errors.New("broken")
	got, _, _, err := decode(io.MultiReader(strings.NewReader("data: a\n\ndata: b\n"), iotest.ErrReader(broken)), 0)
	if err != broken || len(got) != 1 {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := NewDecoder(stuck{}).Next(); err != io.ErrNoProgress {
		t.Errorf("a reader without progress: %v", err)
	}
}

// stuck is a reader that returns nothing.
type stuck struct{}

func (stuck) Read([]byte) (int, error) { return 0, nil }

func TestDecodingAllocatesNothing(t *testing.T) {
	text := []byte("id: 1\nevent: n\ndata: a\ndata: b\n\n: x\n\n")
	r := bytes.NewReader(text)
	d := NewDecoder(r)
	allocs := testing.AllocsPerRun(100, func() {
		r.Reset(text)
		if e, err := d.Next(); err != nil || e.ID != "1" || e.Name != "n" || string(e.Data) != "a\nb" {
			t.Errorf("%+v, %v", e, err)
		}
	})
	if allocs != 0 {
		t.Errorf("an event allocates %v times", allocs)
	}
}

// pieces is a reader that returns pieces of sizes in turn.
type pieces struct {
	text  []byte
	sizes []byte
	at    int
}

func (p *pieces) Read(b []byte) (int, error) {
	if len(p.text) == 0 {
		return 0, io.EOF
	}
	n := len(p.text)
	if len(p.sizes) > 0 {
		n = min(n, 1+int(p.sizes[p.at%len(p.sizes)]))
		p.at++
	}
	n = copy(b, p.text[:n])
	p.text = p.text[n:]
	return n, nil
}

// FuzzDecode compares the decoder with the model, for pieces of any size.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{
		"\ufeffid: 1\r\ndata: a\r\n\r\n", "data\n\ndata:\r\rdata: \n\n", "retry: 10\nretry:x\nevent:e\n\n: c\n\n",
		"id: a\x00\ndata: x\n\nid\ndata\n\n", "\xef\xbb\n\n", "data: a\n\ndata: b",
	} {
		f.Add([]byte(s), []byte{0})
		f.Add([]byte(s), []byte{1, 0, 4})
		f.Add([]byte(s), []byte{})
	}
	f.Fuzz(func(t *testing.T, stream, sizes []byte) {
		want, wantRetry, wantID := model(string(stream))
		got, retry, id, err := decode(&pieces{text: stream, sizes: sizes}, len(stream)+1)
		if err != io.EOF || !reflect.DeepEqual(got, want) || retry != wantRetry || id != wantID {
			t.Errorf("%q: %q, %v, %q, %v\nwant %q, %v, %q", stream, got, retry, id, err, want, wantRetry, wantID)
		}
		// a small limit changes nothing but the end
		some, _, _, err := decode(&pieces{text: stream, sizes: sizes}, 10)
		if err != io.EOF && err != ErrEventTooLarge || len(some) > len(want) || len(some) > 0 && !reflect.DeepEqual(some, want[:len(some)]) {
			t.Errorf("%q with a limit: %q, %v", stream, some, err)
		}
	})
}
