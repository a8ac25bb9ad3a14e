package tcplisten

import "golang.org/x/sys/unix"

// FreeBSD distributes the connections among the listeners only with SO_REUSEPORT_LB;
// with SO_REUSEPORT the last listener gets all.
const reusePort = unix.SO_REUSEPORT_LB
