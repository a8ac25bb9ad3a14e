package http1

import "testing"

func TestStatusLines(t *testing.T) {
	for code, want := range map[int]string{
		200: "HTTP/1.1 200 OK\r\n", 404: "HTTP/1.1 404 Not Found\r\n", 511: "HTTP/1.1 511 Network Authentication Required\r\n",
		299: "HTTP/1.1 299 Unknown Status Code\r\n", 600: "HTTP/1.1 600 Unknown Status Code\r\n",
	} {
		if got := string(AppendUsualStatusLine([]byte("<"), code)); got != "<"+want {
			t.Errorf("%d: %q, want %q", code, got, "<"+want)
		}
	}
	if Reason(-1) != unknownReason || Reason(1<<20) != unknownReason {
		t.Error("a code out of range has a reason")
	}
}
