package serving

import "time"

// The paths of a WebSocket server.
const (
	EchoPath  = "/echo"      // every message returns to its sender
	GroupPath = "/broadcast" // every message is sent to all sockets of this path
)

// GroupWriteTime is how long a write to a socket of GroupPath may block before the server drops
// the socket. Servers that never block need no such limit.
const GroupWriteTime = time.Second

// LibraryFlag selects the library of the WebSocket server program.
const LibraryFlag = "library"

// ListWord, as the only argument of the WebSocket server program, makes it print its libraries
// as a list of Library in JSON.
const ListWord = "list"

// Library is a library of the WebSocket server program.
type Library struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}
