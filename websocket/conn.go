package websocket

// Conn is a WebSocket connection.
type Conn struct{}
