//go:build !linux

package fasthttp

import "time"

var hostileBegin = time.Now()

// processorTime returns the elapsed time. On an idle machine it is close to the
// processor time of the thread.
func processorTime() time.Duration { return time.Since(hostileBegin) }
