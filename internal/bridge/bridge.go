// Package bridge has what package fasthttpadaptor needs of the root package beyond its API.
// The root package sets the functions when it is initialized.
package bridge

var (
	// LeaveOutDate makes a *fasthttp.ResponseHeader be sent without Date, until it is reset.
	LeaveOutDate func(header any)
	// LeavesOutDate reports whether LeaveOutDate was called.
	LeavesOutDate func(header any) bool
)
