package tcplisten

import "golang.org/x/sys/unix"

// Only with SO_REUSEPORT_LB does FreeBSD spread the connections over the
// listeners; with SO_REUSEPORT the last one gets all.
const reusePort = unix.SO_REUSEPORT_LB
