package clientconn

import (
	"crypto/tls"
	"fmt"
	"net"
	"sync"

	"github.com/valyala/fasthttp/internal/uri"
)

// TLSConfig returns the configuration for the connections to addr: base, which may be
// nil, with defaults for the fields that are not set. No address, however strange,
// makes it less strict.
//
// The error says that no certificate could be for such a host. Its text is an old one
// that programs compare.
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

// TLSConfigs is configurations, one for each address, so that connections to the same
// one resume sessions. The zero value has none. The methods may be called concurrently.
type TLSConfigs struct {
	mu      sync.Mutex
	configs map[string]*tls.Config
}

// For returns the configuration for an address, which the first call makes of base, with the
// protocols that names returns for those in base. It returns the error of TLSConfig.
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
