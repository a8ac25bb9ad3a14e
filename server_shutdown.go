package fasthttp

import "context"

// Shutdown gracefully shuts down the server. It closes the listeners, so that Serve
// returns nil, and the connections that wait for a request. It answers requests that
// have begun to arrive, with "Connection: close". It tells HTTP/2 clients to send no
// more requests on their connections (GOAWAY), and also answers the requests that they
// sent before they received that. Shutdown returns when all connections are closed and
// all calls of Serve are about to return, however long that takes. It may be called
// more than once, and Serve may be called again afterwards. It returns the error of a
// listener that could not be closed, but completes the rest of the shutdown.
//
// Serve called after Shutdown starts serving again. A program that may have to stop while it
// starts closes the listener after Shutdown:
//
//	context.AfterFunc(ctx, func() {
//		shutDown <- server.Shutdown()
//		_ = ln.Close()
//	})
//	if err := server.Serve(ln); err != nil {
//		return err
//	}
//	return <-shutDown
func (s *Server) Shutdown() error { return s.ShutdownWithContext(context.Background()) }

// ShutdownWithContext is Shutdown with a limit: if ctx ends before the last connection is
// closed, it returns ctx.Err(). It leaves the connections that are still busy alone; each of
// them is closed after its request. Serve may then be called again, with another listener.
// RequestCtx.Done stays closed for the requests that are still running.
func (s *Server) ShutdownWithContext(ctx context.Context) error {
	s.prepare()
	defer s.h2.rest()
	return s.conns.Shutdown(ctx, func() {
		s.watches.CancelAll()
		s.h2.shutdown()
	})
}
