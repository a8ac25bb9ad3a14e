// Package rawsys makes system calls that the scheduler is not told of. That
// saves more than some of these calls take, and keeps the scheduler from taking
// the processor away from a goroutine that was only interrupted.
//
// The price: while such a call waits, its processor does nothing else, and the
// next garbage collection never ends. So the package has one rule: no call in
// it can wait, whatever state the descriptor is in. It does not rely on
// O_NONBLOCK, which belongs to the open file and which anybody who holds a
// duplicate can clear: what is sent and received carries MSG_DONTWAIT, what is
// closed was asked whether it lingers, and the count of an event is never full. A
// call that may wait for a disk, a peer or another process has no place here.
//
// The package exists on Linux only. It imports nothing of this module.
package rawsys
