package sse

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"time"
)

func TestEventsAreEncoded(t *testing.T) {
	for _, c := range []struct {
		e    Event
		want string
	}{
		{Event{}, ""},
		{Event{Data: []byte{}}, "data: \n\n"},
		{Event{Data: []byte("a")}, "data: a\n\n"},
		{Event{Data: []byte(" a: b ")}, "data:  a: b \n\n"},
		{Event{Data: []byte("a\nb")}, "data: a\ndata: b\n\n"},
		{Event{Data: []byte("a\rb\r\nc\n\rd")}, "data: a\ndata: b\ndata: c\ndata: \ndata: d\n\n"},
		{Event{Data: []byte("\n")}, "data: \ndata: \n\n"},
		{Event{Data: []byte("\r\n\r\n")}, "data: \ndata: \ndata: \n\n"},
		{Event{Data: []byte("a\r")}, "data: a\ndata: \n\n"},
		{Event{Data: []byte("\ra")}, "data: \ndata: a\n\n"},
		{Event{Name: "n"}, "event: n\ndata: \n\n"},
		{Event{ID: "7"}, "id: 7\n\n"},
		{Event{ID: " 7", Name: ":n", Data: []byte("x"), Retry: 1500 * time.Millisecond}, "retry: 1500\nid:  7\nevent: :n\ndata: x\n\n"},
		{Event{Retry: time.Nanosecond}, "retry: 1\n\n"},
		{Event{Retry: time.Millisecond + 1}, "retry: 2\n\n"},
		{Event{Retry: 1<<63 - 1}, "retry: 9223372036855\n\n"},
	} {
		if got := string(appendEvent(nil, &c.e)); got != c.want {
			t.Errorf("%+v: %q, want %q", c.e, got, c.want)
		}
		if err := c.e.check(); err != nil {
			t.Errorf("%+v: %v", c.e, err)
		}
	}
}

// The end of each line is searched for once, whatever the line breaks are.
func TestLinesTakeLinearTime(t *testing.T) {
	const n = 1 << 20
	for _, lineBreak := range []string{"\n", "\r", "\r\n"} {
		// if each line was searched to the end of the text this would take minutes
		got := appendLines(nil, "", bytes.Repeat([]byte(lineBreak), n))
		if len(got) != n+1 {
			t.Errorf("%q: %d lines, want %d", lineBreak, len(got), n+1)
		}
	}
}

func TestInvalidEventsAreRefused(t *testing.T) {
	for _, e := range []Event{
		{Name: "a\nb"}, {Name: "a\rb"}, {Name: "a\x00b"},
		{ID: "a\nb"}, {ID: "\r"}, {ID: "\x00"},
		{Retry: -1},
	} {
		e.Data = []byte("data")
		if err := new(Topic).Publish(e); !errors.Is(err, ErrInvalidEvent) {
			t.Errorf("%+v: a topic returns %v", e, err)
		}
		if err := new(Stream).Send(e); !errors.Is(err, ErrInvalidEvent) {
			t.Errorf("%+v: a stream returns %v", e, err)
		}
	}
}

// FuzzEvent checks that an event arrives as it was sent, with LF for each line break.
func FuzzEvent(f *testing.F) {
	f.Add("1", "n", []byte("a\r\nb\rc\n"), int64(5))
	f.Add("", "", []byte(""), int64(0))
	f.Add("\ufeff", " ", []byte(": x\n\ndata: y\n\r"), int64(1<<62))
	f.Fuzz(func(t *testing.T, id, name string, data []byte, retry int64) {
		e := Event{ID: id, Name: name, Data: data, Retry: time.Duration(retry)}
		if err := e.check(); err != nil {
			if retry >= 0 && !strings.ContainsAny(id+name, "\x00\r\n") {
				t.Fatalf("%+v: %v", e, err)
			}
			return
		}
		d := NewDecoder(bytes.NewReader(appendEvent(nil, &e)))
		d.MaxEventSize = 1 << 30
		got, err := d.Next()
		if data == nil && name == "" {
			if err != io.EOF {
				t.Fatalf("%+v without data: %v", got, err)
			}
			return
		}
		data = bytes.ReplaceAll(bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n")), []byte("\r"), []byte("\n"))
		// an ID and a name are sent even if they consist of a space
		if err != nil || got.ID != id || got.Name != name || !bytes.Equal(got.Data, data) {
			t.Fatalf("%+v, %v, want %+v with %q", got, err, e, data)
		}
		if ms := time.Millisecond; got.Retry != min((e.Retry+ms-1)/ms*ms, maxRetry) && e.Retry < maxRetry {
			t.Fatalf("the time is %v, want %v", got.Retry, e.Retry)
		}
		if got, err := d.Next(); err != io.EOF {
			t.Fatalf("one more event: %+v, %v", got, err)
		}
	})
}
