package fasthttp

import (
	"time"

	"github.com/valyala/fasthttp/internal/http1"
)

// settings holds the values that follow from the fields of a Server for its
// connections. They are computed once, before the first connection.
type settings struct {
	limits http1.Limits // of heads
	// request and response are the configured states of headers that were reset
	request, response   headerState
	readSize, writeSize int // of buffers
	maxBodySize         int
	concurrency         int
	// headTimeout is how long the head of a request may take, firstTimeout how long a
	// new connection may wait for its first request, and idleTimeout how long it may
	// wait for its next one. 0 means no limit.
	headTimeout, firstTimeout, idleTimeout time.Duration
	bodyRateGrace                          time.Duration
	// unencryptedHTTP2 allows HTTP/2 on connections without TLS, and onlyHTTP2 excludes
	// HTTP/1 on all of them
	unencryptedHTTP2, onlyHTTP2 bool
}

const (
	defaultReadSize  = 4 << 10
	defaultWriteSize = 4 << 10
)

// settings returns the values that follow from the fields of the server.
func (s *Server) settings() settings {
	set := settings{
		readSize:      positive(s.ReadBufferSize, defaultReadSize),
		writeSize:     positive(s.WriteBufferSize, defaultWriteSize),
		maxBodySize:   positive(s.MaxRequestBodySize, DefaultMaxRequestBodySize),
		concurrency:   positive(s.Concurrency, DefaultConcurrency),
		idleTimeout:   positive(s.IdleTimeout, max(s.ReadTimeout, 0)),
		bodyRateGrace: positive(s.MinRequestBodyRateGrace, defaultBodyRateGrace),

		unencryptedHTTP2: s.Protocols.UnencryptedHTTP2(),
		onlyHTTP2:        !s.Protocols.HTTP1(),
	}
	set.request, set.response = s.headerStates()
	if s.ReadBufferSize > 0 {
		set.limits = http1.Limits{Line: s.ReadBufferSize, Head: s.ReadBufferSize}
	}
	set.headTimeout = positive(s.ReadHeaderTimeout, max(s.ReadTimeout, 0))
	if s.ReadTimeout > 0 {
		set.headTimeout = min(set.headTimeout, s.ReadTimeout)
	}
	set.firstTimeout = positive(set.headTimeout, max(s.IdleTimeout, 0))
	return set
}

// headerStates returns the states that the settings give to headers.
func (s *Server) headerStates() (request, response headerState) {
	if s.DisableHeaderNamesNormalizing {
		request = namesKept
	}
	response = request
	if s.NoDefaultContentType {
		response |= noDefaultType
	}
	if s.NoDefaultDate {
		response |= noDefaultDate
	}
	if len(s.name) > 0 {
		response |= namesServer
	}
	return request, response
}
