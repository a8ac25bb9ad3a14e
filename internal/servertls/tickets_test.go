package servertls

import (
	"crypto/tls"
	"slices"
	"testing"
	"time"
)

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func after(days int) time.Time { return start.AddDate(0, 0, days) }

func TestKeysChangeEachDayAndAreKeptForAWeek(t *testing.T) {
	k := New(start)
	var known [][Size]byte // the newest first
	for d := range 30 {
		got := k.at(dayOf(after(d)))
		if slices.Contains(known, got[0]) {
			t.Fatalf("day %d has an old key", d)
		}
		known = slices.Insert(known, 0, got[0])
		if want := known[:min(keptDays, len(known))]; !slices.Equal(got, want) {
			t.Fatalf("day %d accepts %d keys, which are not the last %d", d, len(got), len(want))
		}
	}
	// the clock was set back
	if got := k.at(dayOf(after(10))); !slices.Equal(got, known[keptDays-1:keptDays]) {
		t.Errorf("a day before the kept ones has %d keys, which are not the oldest kept one", len(got))
	}
	if other := New(start).at(dayOf(start)); slices.Contains(known, other[0]) {
		t.Error("two servers have the same key")
	}
}

func TestHandedKeysAreThoseOfTheGiver(t *testing.T) {
	master := New(start)
	for _, spawned := range []int{0, 3, 6, 7, 20, 400} {
		b := master.Export(after(spawned))
		child, err := ImportKeys(b)
		if err != nil || len(b) != ExportedSize {
			t.Fatalf("%d bytes: %v", len(b), err)
		}
		for _, later := range []int{0, 1, 5, 30} {
			again, err := ImportKeys(master.Export(after(spawned)))
			if err != nil {
				t.Fatal(err)
			}
			today := dayOf(after(spawned + later))
			if got, want := child.at(today), again.at(today); !slices.Equal(got, want) || len(got) > keptDays {
				t.Errorf("children of day %d have different keys %d days later", spawned, later)
			}
		}
	}
	for _, n := range []int{0, 1, ExportedSize - 1, ExportedSize + 1} {
		if _, err := ImportKeys(make([]byte, n)); err == nil {
			t.Errorf("%d bytes are keys", n)
		}
	}
}

func TestKeysAreForOneServer(t *testing.T) {
	one, other := new(int), new(int)
	k := New(start)
	Inherit(one, k)
	defer inherited.Store(nil)
	if For(one) != k || For(other) == k {
		t.Error("the keys of a server are those of another one")
	}
}

// state returns a session.
func state(t *testing.T) *tls.SessionState {
	t.Helper()
	s, err := tls.ParseSessionState(slices.Concat([]byte{3, 4, 1, 0x13, 1}, make([]byte, 8), []byte{1, 's'}, make([]byte, 11)))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// resumes reports whether a server accepts the ticket of another one.
func resumes(t *testing.T, from, to *tls.Config) bool {
	t.Helper()
	ticket, err := from.EncryptTicket(tls.ConnectionState{}, state(t))
	if err != nil {
		t.Fatal(err)
	}
	got, err := to.DecryptTicket(ticket, tls.ConnectionState{})
	return err == nil && got != nil
}

func TestConfigurationsShareTheirKeys(t *testing.T) {
	k := New(start)
	now := start
	managed := func() *tls.Config {
		c := &tls.Config{Time: func() time.Time { return now }}
		k.Manage(c)
		return c
	}
	a, b := managed(), managed()
	if !resumes(t, a, b) || resumes(t, a, &tls.Config{}) {
		t.Error("the keys are not those of both, or of others, too")
	}
	ticket, err := a.EncryptTicket(tls.ConnectionState{}, state(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		days     int
		accepted bool
	}{{1, true}, {6, true}, {7, false}} {
		now = after(tc.days)
		if c, err := b.GetConfigForClient(new(tls.ClientHelloInfo)); c != nil || err != nil {
			t.Fatal(c, err)
		}
		if got, _ := b.DecryptTicket(ticket, tls.ConnectionState{}); (got != nil) != tc.accepted {
			t.Errorf("%d days later the ticket is accepted: %v", tc.days, got != nil)
		}
	}
	// a has not seen a handshake since
	if resumes(t, b, a) {
		t.Error("a key that should be new is the old one")
	}
	if _, err := a.GetConfigForClient(new(tls.ClientHelloInfo)); err != nil || !resumes(t, b, a) {
		t.Errorf("the new key is not shared: %v", err)
	}
}

func TestKeysOfTheApplicationStay(t *testing.T) {
	set := &tls.Config{}
	set.SetSessionTicketKeys([][Size]byte{{1}})
	used := &tls.Config{}
	if _, err := used.EncryptTicket(tls.ConnectionState{}, state(t)); err != nil {
		t.Fatal(err)
	}
	old := &tls.Config{}
	//lint:ignore SA1019 programs still set it
	old.SessionTicketKey = [Size]byte{1}
	for name, tc := range map[string]struct {
		config *tls.Config
		ours   bool
	}{
		"none":               {&tls.Config{}, true},
		"made by crypto/tls": {used, true},
		"set":                {set, false},
		"a copy of those":    {set.Clone(), false},
		"the old field":      {old, false},
		"no tickets":         {&tls.Config{SessionTicketsDisabled: true}, false},
	} {
		k := New(time.Now())
		k.Manage(tc.config)
		ours := &tls.Config{}
		ours.SetSessionTicketKeys(k.at(dayOf(time.Now())))
		got := tc.config.GetConfigForClient != nil
		if !tc.config.SessionTicketsDisabled && resumes(t, tc.config, ours) != got {
			t.Errorf("%s: its keys are managed %v, and are ours %v", name, got, !got)
		}
		if got != tc.ours {
			t.Errorf("%s: managed %v, want %v", name, got, tc.ours)
		}
	}
}

func TestChosenConfigurationsAreThoseOfTheApplication(t *testing.T) {
	chosen := new(tls.Config)
	c := &tls.Config{GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return chosen, nil }}
	New(start).Manage(c)
	if got, err := c.GetConfigForClient(new(tls.ClientHelloInfo)); got != chosen || err != nil {
		t.Errorf("got %p, %v", got, err)
	}
}
