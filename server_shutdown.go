package fasthttp

import "context"

// Shutdown ends the server in order: it closes the listeners, so that Serve returns
// nil, and the connections that wait for a request; requests that have begun to
// arrive are answered, with "Connection: close". Clients of HTTP/2 are told to send no
// more on their connections (GOAWAY); what they had sent before they knew is answered,
// too. Shutdown returns when all connections have gone and all calls of Serve are about
// to return, however long that takes. It may be called more than once. Serve may be
// called again afterwards. It returns the error of a listener that could not be closed;
// the rest is done all the same.
//
// A call of Serve that begins after Shutdown serves, since it cannot know that it was meant.
// A program that may be told to end while it starts closes the listener after Shutdown:
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

// ShutdownWithContext is Shutdown with an end: when ctx ends before the last
// connection has gone, it returns ctx.Err() and leaves the connections that
// are still busy to themselves; each of them ends with its request. Serve may be called
// again then, with another listener. RequestCtx.Done stays closed for the requests that go on.
func (s *Server) ShutdownWithContext(ctx context.Context) error {
	s.prepare()
	defer s.h2.rest()
	return s.conns.Shutdown(ctx, func() {
		s.watches.CancelAll()
		s.h2.shutdown()
	})
}
