package clientconn

import (
	"crypto/tls"
	"fmt"
	"net"
	"sync"

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
