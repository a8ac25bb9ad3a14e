package fasthttp

import (
	"testing"
	"time"
)

func TestTimeoutsThatFollowFromOthers(t *testing.T) {
	const short, long = time.Second, time.Minute
	for _, c := range []struct {
		read, head, idle    time.Duration
		wantHead, wantFirst time.Duration
		wantIdle            time.Duration
	}{
		{},
		{read: -1, head: -1, idle: -1},
		{read: short, wantHead: short, wantFirst: short, wantIdle: short},
		{head: short, wantHead: short, wantFirst: short},
		{idle: short, wantFirst: short, wantIdle: short},
		{read: long, head: short, wantHead: short, wantFirst: short, wantIdle: long},
		{read: short, head: long, wantHead: short, wantFirst: short, wantIdle: short},
		{read: short, idle: long, wantHead: short, wantFirst: short, wantIdle: long},
		{head: short, idle: long, wantHead: short, wantFirst: short, wantIdle: long},
		{read: -1, head: short, idle: -1, wantHead: short, wantFirst: short},
	} {
		set := (&Server{ReadTimeout: c.read, ReadHeaderTimeout: c.head, IdleTimeout: c.idle}).settings()
		if set.headTimeout != c.wantHead || set.firstTimeout != c.wantFirst || set.idleTimeout != c.wantIdle {
			t.Errorf("read %v, head %v, idle %v: head %v, first %v, idle %v", c.read, c.head, c.idle, set.headTimeout, set.firstTimeout, set.idleTimeout)
		}
	}
}
