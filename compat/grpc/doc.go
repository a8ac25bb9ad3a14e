// Package grpc has only tests: clients of grpc-go with handlers of this module that implement
// the gRPC framing themselves, directly and through nginx, and with servers of grpc-go and
// connect-go through package fasthttpadaptor. It is a separate module, so that the other modules
// do not depend on these libraries.
package grpc
