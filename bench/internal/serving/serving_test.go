package serving

import (
	"testing"
	"time"
)

func TestJobsThatNoServerCanDoAreRefused(t *testing.T) {
	tests := []struct {
		job  Job
		want bool
	}{
		{Job{Mode: Plain}, true},
		{Job{Mode: Mixed, Wait: time.Millisecond}, true},
		{Job{Mode: Forwards, Backend: "127.0.0.1:80"}, true},
		{Job{Mode: Forwards}, false},
		{Job{Mode: Plain, Backend: "127.0.0.1:80"}, false},
		{Job{Mode: Plain, Cert: "cert.pem", Key: "key.pem"}, true},
		{Job{Mode: Plain, Cert: "cert.pem"}, false},
		{Job{Mode: Plain, Key: "key.pem"}, false},
		{Job{Mode: "idle"}, false},
		{Job{}, false},
	}
	for _, test := range tests {
		if got := test.job.valid(); got != test.want {
			t.Errorf("%+v: %v", test.job, got)
		}
	}
}

func TestWaitPathTakesAsLongAsTheJobSays(t *testing.T) {
	job := Job{Mode: Mixed, Wait: 20 * time.Millisecond}
	begin := time.Now()
	job.Slow(WaitPath)
	if took := time.Since(begin); took < job.Wait {
		t.Errorf("it took %v", took)
	}
}
