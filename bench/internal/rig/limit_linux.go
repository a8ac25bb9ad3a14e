package rig

import "syscall"

// RaiseFileLimit lets this process, and those that it starts, have as many open
// files as the system allows, and returns how many that are.
//
// Go does so for its own process, and takes it back for others that it starts,
// unless a program has asked for it itself.
func RaiseFileLimit() (int, error) {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 0, err
	}
	limit.Cur = limit.Max
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 0, err
	}
	const most = 1 << 30 // where there is no limit at all
	return int(min(limit.Cur, most)), nil
}
