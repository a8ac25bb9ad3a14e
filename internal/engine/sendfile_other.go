//go:build !linux

package engine

import (
	"net"
	"os"
)

// FileSender returns a function that sends a head and a part of a file over a connection
// without copying the file through the process. Here it returns nil: only Linux can do
// that.
func FileSender(net.Conn) func(head []byte, file *os.File, offset, length int64) (int64, error) {
	return nil
}
