// Package peers has tests only: the clients of the root package send requests to other
// servers, each in a separate process unless it is Go's net/http. A reader starts with
// origin_test.go, which has the requests for every server; tests of servers that are not
// installed are skipped.
package peers
