package ws

import (
	"fmt"

	"github.com/valyala/fasthttp/bench/internal/wsload"
)

// load is one row.
type load struct {
	name string
	wsload.Load
	times int // the length of a run, as a multiple of the usual one; 0 is 1
}

const (
	smallSize = 125 // bytes; the largest message with the shortest header
	largeSize = 64 << 10

	tlsConns = 1000 // idle sockets over TLS, which take longer to open
)

// Of the broadcasts beside a socket that does not read: what the kernel holds for that socket is
// full within a second.
const (
	deafSize  = 16 << 10
	deafRate  = 10 // messages a second, so that slow servers keep up
	deafConns = 1000
	deafTimes = 3
)

// loads returns all rows. conns is the number of sockets of the rows with many.
func loads(conns int) []load {
	echo := func(n int) wsload.Load {
		return wsload.Load{Kind: wsload.Echo, Conns: n, Size: smallSize, Depth: 1}
	}
	flight, large := echo(64), echo(64)
	flight.Depth = 16
	large.Size = largeSize
	pieces, fragments, pings := echo(64), echo(64), echo(64)
	pieces.Bytes, fragments.Fragments, pings.Ping = true, true, true
	return []load{
		{name: "echo of 125 B, 64 sockets", Load: echo(64)},
		{name: "echo of 125 B, 1000 sockets", Load: echo(1000)},
		{name: "echo of 125 B, 64 sockets, 16 messages in flight on each", Load: flight},
		{name: "echo of 64 KiB, 64 sockets", Load: large},
		{
			name: fmt.Sprintf("broadcast of 125 B to %d sockets", conns),
			Load: wsload.Load{Kind: wsload.Broadcast, Conns: conns, Size: smallSize},
		},
		{
			name: fmt.Sprintf("%d idle sockets", conns),
			Load: wsload.Load{Kind: wsload.Idle, Conns: conns, Size: smallSize},
		},
		{
			name: fmt.Sprintf("%d idle sockets over TLS", min(conns, tlsConns)),
			Load: wsload.Load{Kind: wsload.Idle, Conns: min(conns, tlsConns), Size: smallSize, TLS: true},
		},
		{
			name: fmt.Sprintf("broadcast of 16 KiB to %d sockets, 1 of which does not read", deafConns),
			Load: wsload.Load{
				Kind: wsload.Broadcast, Conns: min(conns, deafConns-1), Size: deafSize, Rate: deafRate, Deaf: true,
			},
			times: deafTimes,
		},
		{name: "echo of 125 B, 64 sockets, each byte written separately", Load: pieces},
		{name: "echo of 125 B, 64 sockets, in fragments of 1 byte", Load: fragments},
		{name: "echo of 125 B, 64 sockets, a ping before each message", Load: pings},
	}
}
