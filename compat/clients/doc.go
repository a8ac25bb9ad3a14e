// Package clients has only tests: HTTP clients that others wrote, against
// servers of this module over TCP. Each is skipped if its program is missing.
package clients
