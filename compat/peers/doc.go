// Package peers has tests only: the clients of the root package send requests to other
// servers, each in a separate process unless it is Go's net/http. Start with origin_test.go,
// which has the requests for every server. Tests of servers that are not installed are
// skipped.
package peers
