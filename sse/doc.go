// Package sse sends and receives server-sent events: streams of events in the format
// text/event-stream, which browsers read with EventSource (WHATWG HTML, section
// "Server-sent events").
//
// A handler calls Serve, which makes the response a Stream and calls a function that sends
// events to it:
//
//	func handler(ctx *fasthttp.RequestCtx) {
//		sse.Serve(ctx, func(s *sse.Stream) {
//			for news := range source(s.Context()) {
//				if s.Send(sse.Event{Data: news}) != nil {
//					return // the client has disconnected, or the server shuts down
//				}
//			}
//		})
//	}
//
// Open is the same with callbacks, and without goroutines for the stream.
//
// A Topic sends each event to many streams: it encodes the event once, and a slow client
// does not delay the others. Options has the settings of a stream.
//
// Read receives the events of a URL, and reconnects as browsers do; Source has its settings.
// A Decoder reads events from any io.Reader.
package sse
