package overload

import (
	"testing"
)

func TestResponsesAreParsed(t *testing.T) {
	const whole = "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 4\r\nRetry-After: 1\r\n\r\nbusy"
	for n := range whole {
		if _, all := parse([]byte(whole[:n])); all {
			t.Fatalf("%q is whole", whole[:n])
		}
	}
	if status, all := parse([]byte(whole)); status != 503 || !all {
		t.Errorf("the status is %d, %v", status, all)
	}
}
