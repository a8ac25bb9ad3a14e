package hpack

import "errors"

// ErrTooLarge means that a block has more or larger fields than its Limits. The decoder
// remains usable.
var ErrTooLarge = errors.New("fasthttp: header list is too large")

// All other errors end the connection: the tables of the two sides may differ.
var (
	// ErrExcessive means that a block has more than twice as much as its Limits allow. The
	// decoder does not examine the rest of it.
	ErrExcessive = errors.New("fasthttp: header list is more than twice too large")

	ErrTruncated  = errors.New("fasthttp: HPACK block is truncated")
	ErrInteger    = errors.New("fasthttp: HPACK integer is too large")
	ErrHuffman    = errors.New("fasthttp: malformed HPACK Huffman code")
	ErrIndex      = errors.New("fasthttp: HPACK index is in no table")
	ErrSizeUpdate = errors.New("fasthttp: misplaced, missing or too large HPACK table size update")
)
