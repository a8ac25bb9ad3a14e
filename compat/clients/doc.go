// Package clients has only tests: other HTTP clients, with servers of this module over
// TCP. Each test is skipped if its program is missing.
package clients
