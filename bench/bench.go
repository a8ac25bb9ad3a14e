// Package bench measures this fasthttp, the published one and net/http by the
// same benchmarks. They stand in its test files; cmd/compare builds and runs
// them in turn and puts the figures side by side.
package bench
