// Package pipeline sends requests on connections without waiting for the responses to
// those before (RFC 9112 section 9.3.2), and keeps order among them: which call goes
// to which connection, what is written together, whose response comes next, and what
// may be sent again when a connection ends.
//
// It knows the bytes of requests. Of responses it knows only where they begin and
// end; a reader that the user of the package provides reports that. It imports
// clientconn, http1, bufpool, clock, connpool and neterr. Start with Lanes.
package pipeline
