package report

import "testing"

func TestJoinChunksHidesHowABodyIsCut(t *testing.T) {
	const head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
	const next = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx"
	for wire, want := range map[string]string{
		head + "3\r\nabc\r\n0\r\n\r\n":                         head + "<chunks>abc</chunks>\r\n",
		head + "1\r\na\r\n2\r\nbc\r\n0\r\n\r\n":                head + "<chunks>abc</chunks>\r\n",
		head + "1\r\na\r\n1\r\nb\r\n1\r\nc\r\n0\r\nFoo: x\r\n": head + "<chunks>abc</chunks>Foo: x\r\n",
		head + "3\r\nabc\r\n0\r\n\r\n" + next:                  head + "<chunks>abc</chunks>\r\n" + next,
		head + "0\r\n\r\n":                                     head + "<chunks></chunks>\r\n",
		head:                                                   head,
		head + next:                                            head + next,
		head + "3\r\nab":                                       head + "3\r\nab",
		head + "3\r\nabc":                                      head + "3\r\nabc",
		head + "3\r\nabcd\r\n0\r\n\r\n":                        head + "3\r\nabcd\r\n0\r\n\r\n",
		head + "-1\r\nabc\r\n0\r\n\r\n":                        head + "-1\r\nabc\r\n0\r\n\r\n",
		next:                                                   next,
		"":                                                     "",
	} {
		if got := JoinChunks(wire); got != want {
			t.Errorf("%q becomes %q, want %q", wire, got, want)
		}
	}
}
