// Package grpc has tests only: clients of grpc-go with handlers of this module that speak
// the framing of gRPC by themselves, directly and through nginx. It is a separate module,
// so that the other modules do not depend on grpc-go.
package grpc
