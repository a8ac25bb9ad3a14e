// Package rig is what the benchmarks over sockets have in common: it builds the
// server programs in the servers folder, starts them, asks them for their
// figures, and ends them. See Build for where to start.
package rig
