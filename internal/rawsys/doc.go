// Package rawsys makes system calls without notifying Go's scheduler. That saves more
// time than some of these calls take. It also prevents the scheduler from taking the
// processor away from a goroutine whose thread was only interrupted.
//
// The price: while such a call waits, its processor does nothing else, and a garbage
// collection that starts meanwhile cannot proceed. So the package has one rule: no call
// in it can wait, whatever the state of the descriptor. It does not rely on O_NONBLOCK,
// which belongs to the open file: a program with a duplicate of the descriptor can clear
// it. Instead, the calls that send and receive use MSG_DONTWAIT, CloseSocket checks
// SO_LINGER before it closes, and the count of an Event never overflows. A call that may
// wait for a disk, a peer or another process does not belong here. Accept may, and
// notifies the scheduler; it is here because it uses pointers.
//
// The calls exist on Linux only.
package rawsys
