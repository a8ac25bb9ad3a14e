package clientconn

import (
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"net"
	"sync"
	"sync/atomic"

	"github.com/valyala/fasthttp/internal/uri"
)

// TLSConfig returns the configuration for the connections to addr: base, which may be nil,
// with defaults for the unset fields. No address, however malformed, makes it
// less strict.
//
// The error means that no certificate can be valid for such a host. The text is an old one:
// programs compare it.
func TLSConfig(base *tls.Config, addr string) (*tls.Config, error) {
	config := &tls.Config{}
	if base != nil {
		config = base.Clone()
	}
	if config.ServerName == "" {
		host, _, err := net.SplitHostPort(uri.AddPort(addr, true))
		switch {
		case err == nil:
			config.ServerName = host
		case config.InsecureSkipVerify:
			config.ServerName = addr
		default:
			return nil, fmt.Errorf("cannot determine tls server name from addr %q: %w", addr, err)
		}
	}
	if config.ClientSessionCache == nil {
		config.ClientSessionCache = tls.NewLRUClientSessionCache(0)
	}
	if config.NextProtos == nil {
		config.NextProtos = []string{"http/1.1"}
	}
	return config, nil
}

// TLSConfigs holds one configuration for each address, so that connections to the same
// address resume sessions. The zero value is empty. The methods may be called concurrently.
type TLSConfigs struct {
	mu      sync.Mutex
	configs map[string]*tls.Config
}

// For returns the configuration for an address. The first call derives it from base; names
// converts the protocols of base. For returns the error of TLSConfig.
func (c *TLSConfigs) For(base *tls.Config, addr string, names func([]string) []string) (*tls.Config, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if config := c.configs[addr]; config != nil {
		return config, nil
	}
	config, err := TLSConfig(base, addr)
	if err != nil {
		return nil, err
	}
	config.NextProtos = names(config.NextProtos)
	if c.configs == nil {
		c.configs = make(map[string]*tls.Config)
	}
	c.configs[addr] = config
	return config, nil
}

// recordConn is a connection below TLS. It can be read without waiting, so that TLS can receive its
// own messages, such as session tickets, while the connection is idle. It also knows whether
// a TLS record was received in part.
type recordConn struct {
	net.Conn
	probe *Probe
	// noWait means that a read must not wait
	noWait bool

	head    [5]byte // of the current record
	inHead  int     // bytes of it that were received
	content int     // missing bytes of the record's content

	// async receives the bytes that TLS writes, unless it is nil
	async atomic.Pointer[asyncWriter]
}

// Write implements net.Conn.
func (g *recordConn) Write(p []byte) (int, error) {
	poster := g.async.Load()
	if poster == nil {
		return g.Conn.Write(p)
	}
	if err := poster.add(p); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Close implements net.Conn. It sends the last bytes of TLS if the connection accepts them.
func (g *recordConn) Close() error {
	if poster := g.async.Load(); poster != nil {
		_, _ = poster.post(nil)
	}
	return g.Conn.Close()
}

// NetConn returns the connection below.
func (g *recordConn) NetConn() net.Conn { return g.Conn }

// errWouldWait is the error of a read that must not wait. TLS does not keep it, since
// it is temporary.
var errWouldWait net.Error = &wouldWait{}

type wouldWait struct{}

func (*wouldWait) Error() string { return "fasthttp: nothing to be read" }

// Timeout implements net.Error.
func (*wouldWait) Timeout() bool { return true }

// Temporary implements net.Error.
func (*wouldWait) Temporary() bool { return true }

// Read implements io.Reader.
func (g *recordConn) Read(p []byte) (int, error) {
	if g.noWait {
		switch g.probe.Check() {
		case Quiet, Unknown:
			return 0, errWouldWait
		}
	}
	n, err := g.Conn.Read(p)
	g.trackRecords(p[:n])
	return n, err
}

// trackRecords tracks the records in the received bytes.
func (g *recordConn) trackRecords(b []byte) {
	for len(b) > 0 {
		if g.content > 0 {
			n := min(g.content, len(b))
			g.content -= n
			b = b[n:]
			continue
		}
		n := copy(g.head[g.inHead:], b)
		g.inHead += n
		b = b[n:]
		if g.inHead == len(g.head) {
			g.inHead = 0
			g.content = int(binary.BigEndian.Uint16(g.head[3:]))
		}
	}
}

// isQuiet reports whether only messages of TLS itself have arrived through secure, the
// connection above. Bytes that TLS received together with the last response count as well.
func (g *recordConn) isQuiet(secure net.Conn) bool {
	var b [1]byte
	n, err := g.readReady(secure, b[:])
	return n == 0 && err == error(errWouldWait) && g.inHead == 0 && g.content == 0
}

// readReady reads arrived bytes from secure, the connection above. The error is errWouldWait
// if less than a record has arrived.
func (g *recordConn) readReady(secure net.Conn, p []byte) (int, error) {
	g.noWait = true
	defer func() { g.noWait = false }()
	return secure.Read(p)
}
