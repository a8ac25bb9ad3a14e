package connpool

import "golang.org/x/sys/unix"

const canCount = true

// acknowledged asks TCP itself. The count begins with the SYN, which takes one
// number of the sequence and is no byte of the stream.
func acknowledged(fd uintptr) (n uint64, ok bool) {
	info, err := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO)
	if err != nil || info.Bytes_acked == 0 {
		return 0, false
	}
	return info.Bytes_acked - 1, true
}
