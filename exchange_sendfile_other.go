//go:build !linux

package fasthttp

import (
	"net"
	"os"
)

// fileSender returns what sends a head and a part of a file over a connection
// without copying the file through the process, which there is on Linux only.
func fileSender(net.Conn) func(head []byte, file *os.File, offset, length int64) (int64, error) {
	return nil
}

// sendsFiles reports whether the engine takes files from queueFile.
func (x *exchange) sendsFiles() bool { return false }
