// Package bench measures this fasthttp, the published one and net/http with the same
// benchmarks. They are in its test files; cmd/compare builds and runs them in turn and
// compares the figures.
package bench
