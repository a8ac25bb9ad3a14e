// Package hpack implements HPACK (RFC 7541), the compression of the fields of HTTP/2,
// over byte slices. It does no I/O, and in the steady state it does not allocate.
//
// Start with Decoder (decoder.go) and Encoder (encoder.go). Each handles one direction
// of one connection. table.go has the dynamic table, static.go the static one,
// huffman.go the code of strings, integer.go that of numbers, and indexing.go which
// fields get an entry in the table. The package imports ascii and field.
package hpack
