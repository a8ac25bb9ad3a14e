package websocket

import (
	"encoding/json"
	"io"
)

// WriteJSON sends the JSON encoding of v, see encoding/json.Marshal, as a text message. It
// returns the error of Marshal, or an error of WriteMessage.
func (c *Conn) WriteJSON(v any) error {
	p, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return c.WriteMessage(TextMessage, p)
}

// ReadJSON receives a message, and stores the JSON value in it in v, see
// encoding/json.Unmarshal. It returns the errors of ReadMessage and of Unmarshal, and
// io.ErrUnexpectedEOF for an empty message.
func (c *Conn) ReadJSON(v any) error {
	_, p, err := c.ReadMessage()
	if err != nil {
		return err
	}
	if len(p) == 0 {
		return io.ErrUnexpectedEOF
	}
	return json.Unmarshal(p, v)
}

// WriteJSON calls c.WriteJSON, and returns its error.
//
// Deprecated: Use Conn.WriteJSON.
func WriteJSON(c *Conn, v any) error { return c.WriteJSON(v) }

// ReadJSON calls c.ReadJSON, and returns its error.
//
// Deprecated: Use Conn.ReadJSON.
func ReadJSON(c *Conn, v any) error { return c.ReadJSON(v) }
