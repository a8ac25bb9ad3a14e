// Package grpc has tests only: clients of grpc-go with handlers of this module that speak
// the framing of gRPC by themselves, directly and through nginx, and with servers of grpc-go and
// of connect-go behind package fasthttpadaptor. It is a separate module, so that the other
// modules do not depend on these.
package grpc
