// Package fakenet is the client side of the server benchmarks: a net.Listener whose
// connections are in memory. A read from a connection returns the text of requests, and a
// write to it checks the responses. Neither needs a system call or an allocation, so a
// benchmark measures little but the server.
//
// A fixed number of clients share a budget of requests. A client connects, waits in a queue
// for its turn, sends a batch of requests, waits for the responses, and joins the queue again.
// After its last request on one connection it closes the connection and opens another one. The
// number of concurrent turns determines the kind of load. With as many turns as clients no
// client ever waits. With few turns and ten thousand clients the server holds ten thousand
// open connections, of which only a few have requests at any moment.
//
// Start reading at Listener.
package fakenet

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
)

// Config configures the clients of a Listener.
type Config struct {
	// Texts are requests, head and body, that each client sends in turn, repeatedly. Clients
	// begin at different texts, and continue with the next text when they reconnect.
	Texts [][]byte
	// OnePerRead makes a client wait for the response to a request before it sends the next,
	// so that a Read yields one request. A client with a turn never pauses: the next Read
	// after the response has a request, and no other goroutine is involved.
	OnePerRead bool
	// ContentType and Body are the type and the content that each response must have. The
	// media type may have parameters in the response.
	ContentType, Body string

	// Requests is how many requests all clients send together.
	Requests int
	// PerConn is how many requests a client sends on one connection.
	PerConn int
	// Batch is the largest number of requests that a client sends in one turn. 0 means
	// PerConn: all at once, or one directly after the other.
	Batch int

	// Clients is how many connections are open at once.
	Clients int
	// Turns is how many clients have requests in progress at once. 0 means Clients: no client
	// waits.
	Turns int

	// WarmUp makes every client send one request before the measured ones, so that the server
	// has allocated its memory for all connections when the clock starts.
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
	case len(cfg.Texts) == 0 || slices.ContainsFunc(cfg.Texts, func(text []byte) bool { return len(text) == 0 }):
		return cfg, errors.New("fakenet: no request text")
	case cfg.Requests < 1 || cfg.PerConn < 1 || cfg.Batch < 1 || cfg.Clients < 1 || cfg.Turns < 1:
		return cfg, fmt.Errorf("fakenet: counts must be positive: %+v", cfg)
	case cfg.Turns > cfg.Clients:
		return cfg, fmt.Errorf("fakenet: %d turns for %d clients", cfg.Turns, cfg.Clients)
	}
	return cfg, nil
}

// pipelinedBytes is the most request text that a single Read can yield. It is more than the
// read buffer of any server measured here.
const pipelinedBytes = 64 << 10

// cycle is the texts of requests in sequence.
type cycle struct {
	text []byte // repeated so often that a read may begin at any byte of the first copy
	ends []int  // of each request in the text
}

func newCycle(texts [][]byte) cycle {
	var c cycle
	once := slices.Concat(texts...)
	c.text = bytes.Repeat(once, pipelinedBytes/len(once)+2)
	at := 0
	for _, text := range texts {
		at += len(text)
		c.ends = append(c.ends, at)
	}
	return c
}

// size is the length of all texts together.
func (c *cycle) size() int { return c.ends[len(c.ends)-1] }

// start returns the offset of a request.
func (c *cycle) start(i int) int {
	if i == 0 {
		return 0
	}
	return c.ends[i-1]
}

// run returns the length of n requests, beginning with from, and the index of the request
// after them.
func (c *cycle) run(from, n int) (size, next int) {
	if n >= len(c.ends) {
		size = n / len(c.ends) * c.size()
		n %= len(c.ends)
	}
	if next = from + n; next >= len(c.ends) {
		next -= len(c.ends)
		size += c.size()
	}
	return size + c.start(next) - c.start(from), next
}
