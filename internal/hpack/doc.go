// Package hpack implements HPACK (RFC 7541), the compression of HTTP/2 header fields, over
// byte slices. It does no I/O, and in the steady state it does not allocate.
//
// Start with Decoder (decoder.go) and Encoder (encoder.go). Each handles one direction of
// one connection. table.go has the dynamic table, static.go the static one, huffman.go the
// coding of strings, integer.go the coding of numbers, and indexing.go decides which fields
// get an entry in the table.
package hpack
