// Package fakeh2 is like fakenet, for HTTP/2: a net.Listener whose connections are clients in
// memory. A read from a connection returns frames made in advance, and a write to it counts
// and checks the responses. Neither needs a system call or an allocation.
//
// A client keeps a number of streams busy: after the end of each response the next Read has
// another request. Before the measured requests it sends one request, so that the server's
// table has all fields that do not change.
//
// Server is the opposite, to measure clients.
//
// Start reading at Listener.
package fakeh2

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"golang.org/x/net/http2/hpack"

	"github.com/valyala/fasthttp/bench/internal/h2frame"
)

// Field is a field of a request.
type Field struct {
	Name, Value string
	// Changes reports that the value differs between messages. The field is then sent as a
	// literal, and not added to the server's table.
	Changes bool
}

// Message is a request.
type Message struct {
	Fields []Field
	Body   []byte
}

// Config configures the clients of a Listener.
type Config struct {
	// Each client sends Messages in turn, repeatedly. Clients begin at different messages.
	Messages []Message
	// ContentType and Body are the type and the content that each response must have.
	ContentType, Body string

	Requests int // of all clients together
	Clients  int // connections
	Streams  int // concurrent streams of a client
}

// usualTable is the size of a table, unless a setting changes it.
const usualTable = 4096

// message is the frames of a request, without the numbers of the stream.
type message struct {
	text []byte
	data int // offset of the DATA frame, 0 if there is none
	body int // size of the content
}

// appendTo appends the request with the id of a stream.
func (m *message) appendTo(b []byte, id uint32) []byte {
	at := len(b)
	b = append(b, m.text...)
	binary.BigEndian.PutUint32(b[at+5:], id)
	if m.data > 0 {
		binary.BigEndian.PutUint32(b[at+m.data+5:], id)
	}
	return b
}

// encode returns the first request of a connection, which fills the server's table, and the
// following ones.
func encode(messages []Message) (first message, others []message, err error) {
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	one := func(m *Message) (message, error) {
		block.Reset()
		for _, f := range m.Fields {
			if err := encoder.WriteField(hpack.HeaderField{Name: f.Name, Value: f.Value, Sensitive: f.Changes}); err != nil {
				return message{}, err
			}
		}
		if block.Len() > h2frame.Largest || len(m.Body) > h2frame.Largest {
			return message{}, errors.New("fakeh2: a request needs more than a frame for its fields or for its content")
		}
		if len(m.Body) == 0 {
			return message{text: h2frame.Append(nil, h2frame.Headers, h2frame.EndHeaders|h2frame.EndStream, 0, block.Bytes())}, nil
		}
		head := h2frame.Append(nil, h2frame.Headers, h2frame.EndHeaders, 0, block.Bytes())
		return message{text: h2frame.Append(head, h2frame.Data, h2frame.EndStream, 0, m.Body), data: len(head), body: len(m.Body)}, nil
	}
	if first, err = one(&messages[0]); err != nil {
		return first, nil, err
	}
	for round := range 2 {
		for i := range messages {
			m, err := one(&messages[i])
			if err != nil {
				return first, nil, err
			}
			if round == 0 {
				others = append(others, m)
			} else if !bytes.Equal(m.text, others[i].text) {
				return first, nil, fmt.Errorf("fakeh2: message %d fills the table: fields that differ must be marked as such", i)
			}
		}
	}
	return first, others, nil
}

// hello returns the bytes that a client sends before its first request: its window is so large
// that responses need not wait.
func hello() []byte {
	b := h2frame.AppendSettings([]byte(h2frame.Preface), h2frame.SettingPush, 0, h2frame.SettingWindow, h2frame.LargestWindow)
	return h2frame.AppendWindow(b, h2frame.LargestWindow-h2frame.FirstWindow)
}

// checkFirst decodes the fields of the first response of a connection.
func (cfg *Config) checkFirst(block []byte) error {
	fields, err := hpack.NewDecoder(usualTable, nil).DecodeFull(block)
	if err != nil {
		return fmt.Errorf("fakeh2: fields of a response: %w", err)
	}
	got := map[string]string{}
	for _, f := range fields {
		got[f.Name] = f.Value
	}
	if got[":status"] != "200" || got["content-type"] != cfg.ContentType {
		return fmt.Errorf("fakeh2: a response with the fields %v", fields)
	}
	if length, ok := got["content-length"]; ok && length != fmt.Sprint(len(cfg.Body)) {
		return fmt.Errorf("fakeh2: a response with the fields %v", fields)
	}
	return nil
}
