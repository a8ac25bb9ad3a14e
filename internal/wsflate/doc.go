// Package wsflate compresses and decompresses the messages of WebSocket connections
// (permessage-deflate, RFC 7692 section 7.2). It does no I/O. Without context takeover, a
// connection holds memory only while it compresses or decompresses a message.
//
// A Deflater is one direction of a connection, and an Inflater the other one. Parameters are
// negotiated by package ws.
package wsflate
