// Package sender sends the content of a request on a goroutine of its own, while the
// call that it belongs to watches for the answer (Sender), and closes body streams that
// two goroutines may want to close (Stream).
//
// It knows neither requests nor responses: an Owner stands for them. It imports
// clientconn, bodyio, bufpool, neterr, and of http1 the phases of sending and the
// form of chunks. Start with Sender.
package sender
