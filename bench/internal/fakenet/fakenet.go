// Package fakenet is the client side of the server benchmarks: a net.Listener
// whose connections are in memory. Reading from a connection returns the text of
// requests, and writing to it checks the responses. Neither needs a system call or
// an allocation, so that a benchmark measures little else than the server.
//
// A fixed number of clients share a budget of requests. A client connects, waits in
// a queue for its turn, sends a batch of requests, waits for the responses, and joins
// the queue again. After its last request on one connection it closes that and opens
// another one. The number of turns at a time decides what is measured. With as many
// turns as clients no client ever waits. With few turns and ten thousand clients the
// server holds ten thousand open connections while requests trickle in over all of
// them.
//
// Start reading at Listener.
package fakenet

import (
	"bytes"
	"errors"
	"fmt"
)

// Config says what the clients of a Listener do.
type Config struct {
	// Request is the text of one request, head and body. Every request is the
	// same.
	Request []byte
	// ContentType and Body are what each response has to carry. The media type
	// may have parameters in the response.
	ContentType, Body string

	// Requests is how many requests all clients send together.
	Requests int
	// PerConn is how many requests a client sends on one connection.
	PerConn int
	// Batch is how many requests a client sends in one turn, at most. 0 means
	// PerConn: everything at once.
	Batch int

	// Clients is how many connections are open at a time.
	Clients int
	// Turns is how many clients have requests under way at a time. 0 means
	// Clients: no client waits.
	Turns int

	// WarmUp has every client send one request before those that count, so that
	// the server has what it needs for so many connections when the clock starts.
	WarmUp bool
}

func (cfg Config) withDefaults() (Config, error) {
	if cfg.Batch == 0 {
		cfg.Batch = cfg.PerConn
	}
	if cfg.Turns == 0 {
		cfg.Turns = cfg.Clients
	}
	switch {
	case len(cfg.Request) == 0:
		return cfg, errors.New("fakenet: no request text")
	case cfg.Requests < 1 || cfg.PerConn < 1 || cfg.Batch < 1 || cfg.Clients < 1 || cfg.Turns < 1:
		return cfg, fmt.Errorf("fakenet: counts must be positive: %+v", cfg)
	case cfg.Turns > cfg.Clients:
		return cfg, fmt.Errorf("fakenet: %d turns for %d clients", cfg.Turns, cfg.Clients)
	}
	return cfg, nil
}

// pipelinedBytes is how much request text a single Read can yield. It is more
// than the read buffer of any server measured here.
const pipelinedBytes = 64 << 10

// pipeline repeats one request so often that a read of up to pipelinedBytes
// may begin at any byte of the first one.
func pipeline(request []byte) []byte {
	return bytes.Repeat(request, pipelinedBytes/len(request)+2)
}
