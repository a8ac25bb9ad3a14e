package main

import (
	"maps"
	"regexp"
	"slices"
	"strings"
)

// A test is a test function.
type test struct {
	name string
	// apart is set if each part of it must have a separate process.
	apart bool
}

// servers are the names that a test with a server uses.
var servers = []string{
	"newClientServerTest",
	"httptest.NewServer", "httptest.NewTLSServer", "httptest.NewUnstartedServer", "httptest.Server",
	"Serve", "ServeTLS", "ListenAndServe", "ListenAndServeTLS",
}

// wireTests returns the tests that use a server.
func (b *built) wireTests(pattern *regexp.Regexp) []test {
	var tests []test
	for _, name := range slices.Sorted(maps.Keys(b.calls)) {
		if !strings.HasPrefix(name, "Test") || name == "TestMain" || !pattern.MatchString(name) {
			continue
		}
		names := b.reached(name)
		if slices.ContainsFunc(servers, func(s string) bool { return names[s] }) {
			tests = append(tests, test{name, names["synctest.Test"]})
		}
	}
	return tests
}

// reached returns all names in a function and in the functions that it calls.
func (b *built) reached(name string) map[string]bool {
	names := map[string]bool{name: true}
	for todo := []string{name}; len(todo) > 0; todo = todo[1:] {
		for next := range b.calls[todo[0]] {
			if !names[next] {
				names[next] = true
				todo = append(todo, next)
			}
		}
	}
	return names
}
