//go:build linux

package netloop

import (
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/valyala/fasthttp/internal/rawsys"
)

// marks measure how long events wait for their turn. The time since an event was fetched is
// not enough: a poller fetches a batch at a time, and under load many events are still in the
// epoll set then. The system does not say since when.
//
// The set is a queue, though. So the leader puts marks into it now and then: events of
// descriptors of its own. An event that is fetched before a mark had occurred before the mark
// was set. The time since then is a lower bound of its wait, and is too low by the distance of
// two marks at most.
//
// Only the leader uses the marks, except that pollers read since for events in the queue, and set
// marks while there is no leader.
type marks struct {
	spacing time.Duration // between two marks, at least
	last    time.Duration // when a mark was last set
	marks   [markCount]mark
	since   [batchSize]time.Duration // for each event of the queue, since when it waits at least
}

type mark struct {
	event rawsys.Event
	at    time.Duration // when it was set; 0 if it is not in the set
}

// markCount is how many marks there are, with distances of one part in markCount of the wait
// that matters. So the marks cover that wait. If events wait longer, the distances grow in
// proportion.
const markCount = 4

// newMarks returns marks in an epoll set, for waits of about maxWait.
func newMarks(set int, maxWait time.Duration) (*marks, error) {
	m := &marks{spacing: maxWait / markCount}
	for i := range m.marks {
		event, err := rawsys.NewEvent()
		if err != nil {
			m.close()
			return nil, err
		}
		m.marks[i].event = event
		ev := syscall.EpollEvent{Events: syscall.EPOLLIN | unix.EPOLLET, Fd: int32(event.FD())}
		if errno := rawsys.Control(set, syscall.EPOLL_CTL_ADD, event.FD(), &ev); errno != 0 {
			m.close()
			return nil, os.NewSyscallError("epoll_ctl", errno)
		}
	}
	return m, nil
}

// close closes the descriptors.
func (m *marks) close() {
	for _, k := range m.marks {
		if k.event != (rawsys.Event{}) {
			_ = unix.Close(k.event.FD())
		}
	}
}

// set puts a mark after the events in the set, if it is time for another one.
func (m *marks) set(now func() time.Duration, at time.Duration) {
	if at-m.last < m.spacing {
		return
	}
	for i := range m.marks {
		if k := &m.marks[i]; k.at == 0 {
			k.event.Signal()
			// not earlier: an event that became ready just before the mark must not seem older
			k.at = now()
			m.last = k.at
			return
		}
	}
}

// take removes marks from fetched events, and returns how many events are left. It records
// since when each of them has waited, or 0 if it is not known.
func (m *marks) take(events []syscall.EpollEvent) (left int) {
	dated := 0
	for _, ev := range events {
		k := m.find(ev.Fd)
		if k == nil {
			events[left] = ev
			left++
			continue
		}
		for ; dated < left; dated++ {
			m.since[dated] = k.at
		}
		k.at = 0
	}
	// a mark that is still in the set comes after all of them
	for oldest := m.oldest(); dated < left; dated++ {
		m.since[dated] = oldest
	}
	return left
}

// find returns the mark with a descriptor, or nil.
func (m *marks) find(fd int32) *mark {
	for i := range m.marks {
		if int(fd) == m.marks[i].event.FD() {
			return &m.marks[i]
		}
	}
	return nil
}

// oldest returns when the oldest mark in the set was set, or 0 if there is none.
func (m *marks) oldest() (at time.Duration) {
	for _, k := range m.marks {
		if k.at != 0 && (at == 0 || k.at < at) {
			at = k.at
		}
	}
	return at
}

// fetched records that n events were fetched at now, about which nothing more is known unless
// take has recorded it.
func (m *marks) fetched(n int, now time.Duration) {
	for i := range n {
		if m.since[i] == 0 {
			m.since[i] = now
		}
	}
}
