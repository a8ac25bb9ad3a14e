package sse

// Abort makes the connection of a pushed stream fail.
func Abort(s *Stream) { s.pushed.push.Abort() }
