//go:build !linux

package overload

import (
	"errors"
	"net/netip"
	"time"
)

// Result has the figures of one load.
type Result struct {
	Offered, Served, Refused, Unsent float64
	P50, P99                         time.Duration
}

type client struct{}

func dial(netip.AddrPort, int) (*client, error) {
	return nil, errors.New("this needs linux")
}

func (*client) load(float64, time.Duration) (r Result, err error) { return r, nil }

func (*client) close() {}
