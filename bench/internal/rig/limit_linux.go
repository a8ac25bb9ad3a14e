package rig

import "syscall"

// RaiseFileLimit raises the limit of open files, for this process and its children, to the
// system's maximum, and returns the limit.
//
// Go also raises it for its own process, but restores the old limit for children, unless the
// program has set the limit itself.
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
