// Package rig has the common parts of the benchmarks over sockets: it builds the server
// programs in the servers folder, starts them, requests their figures, and ends them. Start
// with Build.
package rig
