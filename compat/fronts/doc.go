// Package fronts has only tests: proxies that others wrote, in front of servers of
// this module. A reader starts with fronts_test.go, which says what is sent and
// what must hold then; cases_test.go has the messages. Each test is skipped if
// its program is missing.
package fronts
