package hpack

import (
	"io"
	"strings"
	"testing"

	xnet "golang.org/x/net/http2/hpack"

	"github.com/valyala/fasthttp/internal/field"
)

var usualLimits = Limits{Size: 64 << 10, Fields: 500, Normalize: true}

// The first request of a browser: all fields are literals, in Huffman code.
func BenchmarkDecodeFirst(b *testing.B) {
	block := browserBlocks(1)[0]
	var d Decoder
	var l field.List
	b.ReportAllocs()
	for b.Loop() {
		d.Init(4096)
		l.Reset()
		if err := d.Decode(&l, block, usualLimits); err != nil {
			b.Fatal(err)
		}
	}
}

// Later requests, with different paths.
func BenchmarkDecodeLater(b *testing.B) {
	blocks := browserBlocks(65)
	var d Decoder
	d.Init(4096)
	var l field.List
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		l.Reset()
		if err := d.Decode(&l, blocks[min(i, 1+i%64)], usualLimits); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecodeFirstXnet(b *testing.B) {
	block := browserBlocks(1)[0]
	var text []byte
	b.ReportAllocs()
	for b.Loop() {
		text = text[:0]
		d := xnet.NewDecoder(4096, func(f xnet.HeaderField) { text = append(append(text, f.Name...), f.Value...) })
		d.Write(block)
		d.Close()
	}
}

func BenchmarkDecodeLaterXnet(b *testing.B) {
	blocks := browserBlocks(65)
	var text []byte
	d := xnet.NewDecoder(4096, func(f xnet.HeaderField) { text = append(append(text, f.Name...), f.Value...) })
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		text = text[:0]
		d.Write(blocks[min(i, 1+i%64)])
		d.Close()
	}
}

// A response with a request id that differs each time.
func BenchmarkEncode(b *testing.B) {
	var e Encoder
	e.Init(4096)
	var fields []sent
	for _, f := range response {
		fields = append(fields, sentField(f))
	}
	var block []byte
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		block = e.AppendStatus(e.Begin(block[:0]), 200)
		fields[5].value[0] = 'a' + byte(i%26)
		for j := range fields {
			f := &fields[j]
			block = e.AppendField(block, f.id, f.name, f.value, IndexingOf(f.id, f.value))
		}
	}
}

func BenchmarkEncodeXnet(b *testing.B) {
	var buf strings.Builder
	e := xnet.NewEncoder(&buf)
	b.ReportAllocs()
	for b.Loop() {
		buf.Reset()
		e.WriteField(xnet.HeaderField{Name: ":status", Value: "200"})
		for _, f := range response {
			e.WriteField(xnet.HeaderField{Name: f.name, Value: f.value})
		}
	}
}

// longText is a few fields of a browser: 271 bytes.
var longText = []byte(browser[6].value + browser[7].value + browser[4].value)

func BenchmarkHuffman(b *testing.B) {
	code := xnet.AppendHuffmanString(nil, string(longText))
	dst := make([]byte, 0, 1024)
	b.Run("decode", func(b *testing.B) {
		b.SetBytes(int64(len(longText)))
		for b.Loop() {
			if text, ok := decodeHuffman(dst, code); !ok || len(text) != len(longText) {
				b.Fatal("malformed")
			}
		}
	})
	b.Run("decode/xnet", func(b *testing.B) {
		b.SetBytes(int64(len(longText)))
		for b.Loop() {
			xnet.HuffmanDecode(io.Discard, code)
		}
	})
	short := xnet.AppendHuffmanString(nil, "/api/v1/items?page=7")
	b.Run("decode short", func(b *testing.B) {
		for b.Loop() {
			decodeHuffman(dst, short)
		}
	})
	b.Run("encode", func(b *testing.B) {
		b.SetBytes(int64(len(longText)))
		for b.Loop() {
			AppendText(dst, 0, 7, longText, false)
		}
	})
	b.Run("encode/xnet", func(b *testing.B) {
		b.SetBytes(int64(len(longText)))
		text := string(longText)
		for b.Loop() {
			xnet.HuffmanEncodeLength(text)
			xnet.AppendHuffmanString(dst, text)
		}
	})
}
