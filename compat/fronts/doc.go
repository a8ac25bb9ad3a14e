// Package fronts has only tests: third-party proxies in front of servers of this module. Start
// with fronts_test.go, which describes the exchanges and the checks; cases_test.go has the
// messages. Each test is skipped if its program is missing.
package fronts
