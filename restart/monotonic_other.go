//go:build unix && !linux

package restart

import "time"

// monotonic returns false: only systemd asks for that clock.
func monotonic() (time.Duration, bool) { return 0, false }
