package main

import (
	"maps"
	"regexp"
	"slices"
	"strings"
)

// A test is a function of the tests.
type test struct {
	name string
	// apart says that each part of it must have a process of its own.
	apart bool
}

// servers are the names by which a test has a server serve.
var servers = []string{
	"newClientServerTest",
	"httptest.NewServer", "httptest.NewTLSServer", "httptest.NewUnstartedServer", "httptest.Server",
	"Serve", "ServeTLS", "ListenAndServe", "ListenAndServeTLS",
}

// wireTests returns the tests that have a server serve.
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

// reached returns all names that a function and those that it calls have.
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
