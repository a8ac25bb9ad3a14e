package http3

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"maps"
	"net"
	"net/netip"
	"strings"
	"time"
	"weak"

	"github.com/quic-go/quic-go"

	bridge "github.com/valyala/fasthttp/internal/http3"
)

// keepAlive is the default of KeepAlivePeriod.
const keepAlive = 10 * time.Second

// errNoAddress is the error of a client without an address.
var errNoAddress = errors.New("the client has no address")

// dialHost connects to one of the addresses of a key, in turn from an index on.
func (t *Transport) dialHost(ctx context.Context, key *bridge.ClientKey, from int) (q *quic.Conn, err error) {
	var addrs []string
	for addr := range strings.SplitSeq(key.Addrs, ",") {
		if addr = strings.TrimSpace(addr); addr != "" {
			addrs = append(addrs, addr)
		}
	}
	err = errNoAddress
	for i := range addrs {
		share, cancel := shareOf(ctx, len(addrs)-i)
		q, err = t.dialAddr(share, key, addrs[(from+i)%len(addrs)])
		cancel()
		if err == nil || ctx.Err() != nil {
			break
		}
	}
	return q, err
}

// shareOf returns a context with a share of the time of ctx for one of n attempts.
func shareOf(ctx context.Context, n int) (context.Context, context.CancelFunc) {
	until, ok := ctx.Deadline()
	if !ok || n <= 1 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, time.Until(until)/time.Duration(n))
}

// dialAddr connects to an address. Its port is 443 if it has none.
func (t *Transport) dialAddr(ctx context.Context, key *bridge.ClientKey, addr string) (*quic.Conn, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		host, port = strings.Trim(addr, "[]"), "443"
	}
	addr = net.JoinHostPort(host, port)
	config := t.clientTLS(key, host)
	settings := t.clientQUIC(key)
	if t.Dial != nil {
		return t.Dial(ctx, addr, config, settings)
	}
	number, err := net.DefaultResolver.LookupPort(ctx, "udp", port)
	if err != nil {
		return nil, err
	}
	ips, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil, err
	}
	for i, ip := range ips {
		share, cancel := shareOf(ctx, len(ips)-i)
		var q *quic.Conn
		q, err = dialUDP(share, netip.AddrPortFrom(ip.Unmap(), uint16(number)), config, settings)
		cancel()
		if err == nil || ctx.Err() != nil {
			return q, err
		}
	}
	return nil, err
}

// dialUDP connects through a socket of its own, which is closed with the connection.
func dialUDP(ctx context.Context, to netip.AddrPort, config *tls.Config, settings *quic.Config) (*quic.Conn, error) {
	pc, err := net.ListenUDP("udp", nil)
	if err != nil {
		return nil, err
	}
	transport := &quic.Transport{Conn: pc}
	end := func() {
		_ = transport.Close()
		_ = pc.Close()
	}
	q, err := transport.Dial(ctx, net.UDPAddrFromAddrPort(to), config, settings)
	if err != nil {
		end()
		return nil, err
	}
	context.AfterFunc(q.Context(), end)
	return q, nil
}

// clientTLS returns the configuration of TLS for a host.
func (t *Transport) clientTLS(key *bridge.ClientKey, host string) *tls.Config {
	config := key.TLS
	if config == nil {
		config = new(tls.Config)
	}
	config = config.Clone()
	config.NextProtos, config.MinVersion = []string{NextProto}, tls.VersionTLS13
	if config.ServerName == "" {
		config.ServerName = cmp.Or(key.ServerName, host)
	}
	if config.ClientSessionCache == nil {
		t.mu.Lock()
		config.ClientSessionCache = t.sessions.of(key.TLS)
		t.mu.Unlock()
	}
	return config
}

// sessions has the sessions of TLS configurations: a session is for one of them alone. A client may have any
// number of configurations one after the other, so the sessions of unused ones are not kept.
type sessions struct {
	caches map[weak.Pointer[tls.Config]]tls.ClientSessionCache
	full   int // with so many the unused ones are removed
}

// minSessions is the smallest value of full.
const minSessions = 64

// of returns the sessions of a configuration, which may be nil.
func (s *sessions) of(config *tls.Config) tls.ClientSessionCache {
	key := weak.Make(config)
	if cache := s.caches[key]; cache != nil {
		return cache
	}
	if len(s.caches) >= s.full {
		none := weak.Make[tls.Config](nil)
		maps.DeleteFunc(s.caches, func(of weak.Pointer[tls.Config], _ tls.ClientSessionCache) bool {
			return of != none && of.Value() == nil
		})
		s.full = max(2*len(s.caches), minSessions)
	}
	if s.caches == nil {
		s.caches = make(map[weak.Pointer[tls.Config]]tls.ClientSessionCache)
	}
	cache := tls.NewLRUClientSessionCache(0)
	s.caches[key] = cache
	return cache
}

// clientQUIC returns the configuration of QUIC.
func (t *Transport) clientQUIC(key *bridge.ClientKey) *quic.Config {
	config := &quic.Config{KeepAlivePeriod: keepAlive}
	if t.QUICConfig != nil {
		config = t.QUICConfig.Clone()
	}
	config.MaxIncomingStreams, config.MaxIncomingUniStreams = -1, uniStreams
	if key.Window > 0 {
		config.InitialStreamReceiveWindow, config.MaxStreamReceiveWindow = key.Window, key.Window
	}
	if key.ConnWindow > 0 {
		config.InitialConnectionReceiveWindow, config.MaxConnectionReceiveWindow = key.ConnWindow, key.ConnWindow
	}
	return config
}
