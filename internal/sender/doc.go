// Package sender sends the content of a request on a separate goroutine, while its call
// watches for the answer (Sender), and closes body streams that two goroutines may want
// to close (Stream).
//
// It knows neither requests nor responses: a Call represents them. Start with Sender.
package sender
