// Package together has no code: its tests use contrib/otel with Fiber, and its program cost
// measures contrib/otel, contrib/prometheus and package accesslog together.
package together
