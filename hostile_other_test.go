//go:build !linux

package fasthttp

import "time"

var hostileBegin = time.Now()

// processorTime returns the time, which on a machine that has nothing else to do is
// as good as the time that the thread has had a processor for.
func processorTime() time.Duration { return time.Since(hostileBegin) }
