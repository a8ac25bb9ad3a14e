package servertest

import "net"

// FaultyConn is a connection of the application that panics.
type FaultyConn struct {
	net.Conn
	// Part is "reading", "writing" or "closing".
	Part string
}

func (c *FaultyConn) fault(part string) {
	if part == c.Part {
		panic("a mistake")
	}
}

// Read panics before it has read.
func (c *FaultyConn) Read(p []byte) (int, error) {
	c.fault("reading")
	return c.Conn.Read(p)
}

// Write panics before it has written.
func (c *FaultyConn) Write(p []byte) (int, error) {
	c.fault("writing")
	return c.Conn.Write(p)
}

// Close panics after it has closed the connection.
func (c *FaultyConn) Close() error {
	err := c.Conn.Close()
	c.fault("closing")
	return err
}
