// Package files decides what is sent of a file. What a request is answered with is
// said by its fields: EvalPreconditions and RangeApplies (RFC 9110 section 13), and
// ParseRanges (section 14).
//
// It knows of requests and responses only the values of their fields.
package files
