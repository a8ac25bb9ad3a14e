//go:build !linux

package rig

import "errors"

// RaiseFileLimit works on Linux only, where the servers can be measured.
func RaiseFileLimit() (int, error) {
	return 0, errors.New("the benchmarks over sockets need linux, for /proc")
}
