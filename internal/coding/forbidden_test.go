package coding

import (
	"strings"
	"testing"

	"github.com/valyala/fasthttp/internal/field"
)

func TestFieldsThatForbidEncoding(t *testing.T) {
	for line, want := range map[string]bool{
		"Cache-Control: private, No-Transform": true, "Cache-Control: no-transformation": false, "Content-Range: bytes */1": true,
		"content-digest: x": true, "Content-MD5: x": true, "Content-Type: text/html": false,
	} {
		name, value, _ := strings.Cut(line, ": ")
		if got := ForbiddenBy(field.Lookup([]byte(name)), []byte(name), []byte(value)); got != want {
			t.Errorf("%s: %t", line, got)
		}
	}
}
