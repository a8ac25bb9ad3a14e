//go:build !linux

package rig

import "errors"

// RaiseFileLimit is for linux, where the servers can be measured.
func RaiseFileLimit() (int, error) {
	return 0, errors.New("the benchmarks over sockets need linux, for /proc")
}
