package fasthttp

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

const fuzzBodyLimit = 50

func FuzzRequestRead(f *testing.F) {
	for _, s := range []string{
		typicalRequestHead, postHead + "Content-Length: 5\r\n\r\nhello" + postHead + "\r\n", postChunked + "5;a=\"b\"\r\nhello\r\n0\r\nSum: 1\r\nA: b\r\n\r\nGET / HTTP/1.1\r\n",
		"POST / HTTP/1.0\r\nContent-Length: 3\r\n\r\nabc", postHead + "Expect: 100-continue\r\nContent-Length: 2\r\n\r\nab", postHead + "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n",
		postHead + "Content-Length: 60\r\n\r\n" + strings.Repeat("x", 60), postChunked + "3c\r\n" + strings.Repeat("x", 60) + "\r\n0\r\n\r\n", postHead + "Transfer-Encoding: chunked\r\nTrailer: A, Host\r\n\r\n0\r\nHost: x\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\nx", "CONNECT h:1 HTTP/1.1\r\nHost: h:1\r\n\r\ntunnel", "OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n",
		"GET //\xbc HTTP/1.0\r\n\r\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		read := func(in *bufio.Reader) (m *Request, err error) {
			m = new(Request)
			if err = m.ReadLimitBody(in, fuzzBodyLimit); err == nil && m.MayContinue() {
				err = m.ContinueReadBody(in, fuzzBodyLimit)
			}
			return m, err
		}
		in := bufio.NewReaderSize(bytes.NewReader(data), 1<<17)
		whole, err := read(in)
		inPieces := bufio.NewReaderSize(iotest.OneByteReader(bytes.NewReader(data)), 16)
		pieces, errPieces := read(inPieces)
		rest := compareReads(t, data, in, inPieces, err, errPieces)
		if err != nil {
			return
		}
		if len(whole.Body()) > fuzzBodyLimit || !bytes.Equal(whole.Body(), pieces.Body()) || whole.Header.String() != pieces.Header.String() {
			t.Fatalf("%q: %q, byte for byte %q", data, whole.Body(), pieces.Body())
		}
		// a streamed body gives the same result
		streamed := new(Request)
		r := bufio.NewReaderSize(bytes.NewReader(data), 64)
		if err := streamed.Header.Read(r); err != nil {
			t.Fatalf("%q: only the head: %v", data, err)
		}
		if err := streamed.ContinueReadBodyStream(r, 0); err != nil {
			t.Fatalf("%q: as a stream: %v", data, err)
		}
		if s := streamed.BodyStream(); s != nil {
			body, err := io.ReadAll(iotest.HalfReader(s))
			if err != nil || !bytes.Equal(body, whole.Body()) {
				t.Fatalf("%q: as a stream %q, %v", data, body, err)
			}
		}
		if after, _ := io.ReadAll(r); !bytes.Equal(after, rest) {
			t.Fatalf("%q: %q is left, as a stream %q", data, rest, after)
		}
		// a message that was written and read again is the same
		var wire bytes.Buffer
		if _, err := whole.WriteTo(&wire); err != nil {
			if len(whole.Header.Host()) > 0 {
				t.Fatalf("%q: written again: %v", data, err)
			}
			return
		}
		again, err := read(bufio.NewReaderSize(bytes.NewReader(wire.Bytes()), 1<<17))
		if err != nil {
			if _, small := errors.AsType[*ErrSmallBuffer](err); !small {
				t.Fatalf("%q: read again from %q: %v", data, wire.Bytes(), err)
			}
			return
		}
		if !bytes.Equal(again.Body(), whole.Body()) || !bytes.Equal(again.Header.RequestURI(), whole.Header.RequestURI()) || !bytes.Equal(again.Header.Method(), whole.Header.Method()) {
			t.Fatalf("%q: written as %q", data, wire.Bytes())
		}
	})
}

// compareReads compares the results of reading data with both readers, and returns
// the bytes that are left.
func compareReads(t *testing.T, data []byte, in, inPieces *bufio.Reader, err, errPieces error) (rest []byte) {
	t.Helper()
	if (err == nil) != (errPieces == nil) {
		t.Fatalf("%q: %v, byte for byte %v", data, err, errPieces)
	}
	for _, class := range []error{io.EOF, io.ErrUnexpectedEOF, ErrBodyTooLarge, ErrBadTrailer} {
		if errors.Is(err, class) != errors.Is(errPieces, class) {
			t.Fatalf("%q: %v, byte for byte %v", data, err, errPieces)
		}
	}
	if err != nil {
		return nil
	}
	rest, _ = io.ReadAll(in)
	restPieces, _ := io.ReadAll(inPieces)
	if !bytes.Equal(rest, restPieces) || !bytes.HasSuffix(data, rest) {
		t.Fatalf("%q: %q is left, byte for byte %q", data, rest, restPieces)
	}
	return rest
}

func FuzzResponseRead(f *testing.F) {
	for _, s := range []string{
		typicalResponseHead, okHead + "Content-Length: 5\r\n\r\nhello" + okHead, okChunked + "5;a=\"b\"\r\nhello\r\n0\r\nSum: 1\r\nA: b\r\n\r\nHTTP/1.1",
		"HTTP/1.0 200 OK\r\n\r\nuntil the end", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 X\r\nLink: a\r\n\r\n" + okHead + "Content-Length: 1\r\n\r\nx", "HTTP/1.1 101 X\r\n\r\nrest",
		"HTTP/1.1 204 X\r\nContent-Length: 5\r\n\r\nrest", "HTTP/1.1 304 X\r\nTransfer-Encoding: chunked\r\n\r\nrest", okHead + "Content-Length: 60\r\n\r\n" + strings.Repeat("x", 60),
		okChunked + "3c\r\n" + strings.Repeat("x", 60) + "\r\n0\r\n\r\n", okHead + "\r\n" + strings.Repeat("x", 60), okHead + "Set-Cookie: a=b\nSet-Cookie: c\nFoo: a\n b\nContent-Length: 0\n\n", okHead + "Transfer-Encoding: identity\r\n\r\nx",
	} {
		f.Add([]byte(s), false)
		f.Add([]byte(s), true)
	}
	f.Fuzz(func(t *testing.T, data []byte, skipBody bool) {
		read := func(in *bufio.Reader) (m *Response, err error) {
			m = new(Response)
			m.SkipBody = skipBody
			return m, m.ReadLimitBody(in, fuzzBodyLimit)
		}
		in := bufio.NewReaderSize(bytes.NewReader(data), 1<<17)
		whole, err := read(in)
		inPieces := bufio.NewReaderSize(iotest.OneByteReader(bytes.NewReader(data)), 16)
		pieces, errPieces := read(inPieces)
		rest := compareReads(t, data, in, inPieces, err, errPieces)
		if err != nil {
			return
		}
		if len(whole.Body()) > fuzzBodyLimit || !bytes.Equal(whole.Body(), pieces.Body()) || written(&whole.Header) != written(&pieces.Header) {
			t.Fatalf("%q: %q, byte for byte %q", data, whole.Body(), pieces.Body())
		}
		if skipBody {
			if len(whole.Body()) > 0 {
				t.Fatalf("%q: body %q", data, whole.Body())
			}
			return
		}
		streamed := new(Response)
		streamed.StreamBody = true
		r := bufio.NewReaderSize(bytes.NewReader(data), 64)
		if err := streamed.Read(r); err != nil {
			t.Fatalf("%q: as a stream: %v", data, err)
		}
		if s := streamed.BodyStream(); s != nil {
			body, err := io.ReadAll(iotest.HalfReader(s))
			if err != nil || !bytes.Equal(body, whole.Body()) {
				t.Fatalf("%q: as a stream %q, %v", data, body, err)
			}
		}
		if after, _ := io.ReadAll(r); !bytes.Equal(after, rest) {
			t.Fatalf("%q: %q is left, as a stream %q", data, rest, after)
		}
		var wire bytes.Buffer
		if _, err := whole.WriteTo(&wire); err != nil {
			t.Fatalf("%q: written again: %v", data, err)
		}
		again, err := read(bufio.NewReaderSize(bytes.NewReader(wire.Bytes()), 1<<17))
		if err != nil {
			if _, small := errors.AsType[*ErrSmallBuffer](err); !small {
				t.Fatalf("%q: read again from %q: %v", data, wire.Bytes(), err)
			}
			return
		}
		if !bytes.Equal(again.Body(), whole.Body()) || again.StatusCode() != whole.StatusCode() {
			t.Fatalf("%q: written as %q", data, wire.Bytes())
		}
	})
}
