package closedloop

import (
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	Main()
	m.Run()
}

func TestArgumentsSayWhatTheLoadIs(t *testing.T) {
	want := Load{Addr: "127.0.0.1:80", Conns: 64, Path: "/wait", Every: 10, Warm: 50 * time.Millisecond, Time: time.Second}
	got, err := parse(want.args()[1:])
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
	for _, args := range []string{"-conns 0", "-every 0", "-warm -1s", "-time 0s", "-unknown"} {
		if got, err := parse(strings.Fields(args)); err == nil {
			t.Errorf("%s: %+v", args, got)
		}
	}
}
