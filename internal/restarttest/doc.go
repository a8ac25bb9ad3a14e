// Package restarttest has helpers for tests of servers whose process is replaced: the processes,
// and clients that must not notice.
package restarttest
