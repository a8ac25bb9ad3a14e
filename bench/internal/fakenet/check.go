package fakenet

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"sync/atomic"
)

const (
	statusLine = "HTTP/1.1 200 OK\r\n"
	headEnd    = "\r\n\r\n"
)

var (
	errStatus = errors.New("fakenet: a response does not begin with " + `"HTTP/1.1 200 OK"`)
	errBody   = errors.New("fakenet: a response has the wrong body")
	errLong   = errors.New("fakenet: a response is longer than expected")
)

// expectation is the expected response. The first response is kept, to be checked in full when
// the clock has stopped.
type expectation struct {
	contentType, body string

	sampled atomic.Bool
	sample  []byte
}

// offer keeps a response if it is the first.
func (want *expectation) offer(response []byte) {
	if want.sampled.CompareAndSwap(false, true) {
		want.sample = bytes.Clone(response)
	}
}

// checker counts the responses that a server writes, in writes of any size. It checks the
// status line, the end of the head and the body of each, which takes a few nanoseconds. A
// response of a wrong length is detected at the beginning of the next one.
type checker struct {
	headLen int // of the previous response, and most likely of the next
	kept    int
	carry   [carryBytes]byte // the beginning of an incomplete response
}

// reset forgets a response that was cut off.
func (k *checker) reset() { k.kept = 0 }

// feed returns how many responses end in p.
func (k *checker) feed(p []byte, want *expectation) (n int, err error) {
	if k.kept > 0 {
		added := copy(k.carry[k.kept:], p)
		size, err := k.first(k.carry[:k.kept+added], want)
		switch {
		case err != nil:
			return 0, err
		case size == 0 && added < len(p):
			return 0, errLong
		case size == 0:
			k.kept += added
			return 0, nil
		}
		p = p[size-k.kept:]
		k.kept = 0
		n = 1
	}
	for len(p) > 0 {
		size, err := k.first(p, want)
		if err != nil {
			return n, err
		}
		if size == 0 {
			if len(p) > len(k.carry) {
				return n, errLong
			}
			k.kept = copy(k.carry[:], p)
			break
		}
		p = p[size:]
		n++
	}
	return n, nil
}

// first returns the length of the response at the beginning of p, or 0 if it is incomplete.
func (k *checker) first(p []byte, want *expectation) (size int, err error) {
	if len(p) < len(statusLine) {
		if string(p) != statusLine[:len(p)] {
			return 0, errStatus
		}
		return 0, nil
	}
	if string(p[:len(statusLine)]) != statusLine {
		return 0, errStatus
	}
	if head := k.headLen; head > 0 && len(p) >= head && string(p[head-len(headEnd):head]) == headEnd {
		return bodyEnd(p, head, want)
	}
	i := bytes.Index(p, []byte(headEnd))
	if i < 0 {
		return 0, nil
	}
	head := i + len(headEnd)
	if head+len(want.body) > carryBytes {
		return 0, errLong
	}
	size, err = bodyEnd(p, head, want)
	if size > 0 {
		k.headLen = head
		want.offer(p[:size])
	}
	return size, err
}

// bodyEnd returns the end of the body that begins at p[head], or 0 if the body is not
// complete.
func bodyEnd(p []byte, head int, want *expectation) (int, error) {
	end := head + len(want.body)
	if len(p) < end {
		return 0, nil
	}
	if string(p[head:end]) != want.body {
		return 0, errBody
	}
	return end, nil
}

// checkSample reads the first response as a client does.
func (want *expectation) checkSample() error {
	resp, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(want.sample)), nil)
	if err != nil {
		return fmt.Errorf("fakenet: the first response: %w", err)
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return fmt.Errorf("fakenet: the first response's body: %w", err)
	}
	contentType, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	switch {
	case err != nil:
		return fmt.Errorf("fakenet: Content-Type of the first response: %w", err)
	case resp.StatusCode != http.StatusOK || string(body) != want.body || contentType != want.contentType:
		return fmt.Errorf("fakenet: wrong first response: %q", want.sample)
	case resp.ContentLength != int64(len(want.body)):
		return fmt.Errorf("fakenet: the first response declares %d bytes of body", resp.ContentLength)
	case resp.Header.Get("Date") == "":
		return errors.New("fakenet: the first response has no Date")
	case resp.Close:
		return errors.New("fakenet: the server wants to close the connection")
	}
	return nil
}
