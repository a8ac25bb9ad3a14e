package fasthttp

// ConnState is a state of a server's connection, as passed to Server.ConnState.
type ConnState int

const (
	// StateNew is the state of a connection that was accepted and has not sent anything
	// yet. StateActive or StateClosed follows.
	StateNew ConnState = iota

	// StateActive begins with the first byte of a request and ends when it was
	// answered; with HTTP/2, when all requests of the connection were. StateIdle,
	// StateHijacked or StateClosed follows.
	StateActive

	// StateIdle is the state of a connection that waits for its next request.
	// StateActive or StateClosed follows.
	StateIdle

	// StateHijacked is the state of a connection that was handed to a
	// HijackHandler. It is the last one.
	StateHijacked

	// StateClosed is the state of a closed connection. It is the last one.
	StateClosed
)

// String returns the name of the state.
func (c ConnState) String() string {
	switch c {
	case StateNew:
		return "new"
	case StateActive:
		return "active"
	case StateIdle:
		return "idle"
	case StateHijacked:
		return "hijacked"
	case StateClosed:
		return "closed"
	}
	return ""
}
