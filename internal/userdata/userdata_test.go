package userdata

import "testing"

// closer counts its calls of Close.
type closer struct{ closed int }

func (c *closer) Close() error {
	c.closed++
	return nil
}

func TestValuesAreSetAndRemoved(t *testing.T) {
	var l List
	l.Set("a", 1)
	l.Set(2, "b")
	l.Set("a", 3)
	l.Set("none", nil)
	if len(l) != 2 || l.Get("a") != 3 || l.Get(2) != "b" || l.GetString([]byte("a")) != 3 || l.GetString([]byte("2")) != nil {
		t.Errorf("%v", l)
	}
	l.Remove("a")
	l.Remove("a")
	if l.Get("a") != nil || len(l) != 1 {
		t.Errorf("%v", l)
	}
	var other List
	other.Set(2, "x")
	if l.Forget(other); len(l) != 0 {
		t.Errorf("%v is left", l)
	}
}

func TestValuesThatWereLentAreClosedByTheLast(t *testing.T) {
	var own, lent List
	kept, replaced := &closer{}, &closer{}
	own.Set("kept", kept)
	own.Set("replaced", replaced)
	own.ShareWith(&lent)
	lent.Set("replaced", 1)
	lent.Reset()
	if kept.closed != 0 || replaced.closed != 0 {
		t.Errorf("closed %d and %d times while a holder is left", kept.closed, replaced.closed)
	}
	own.Reset()
	own.Reset()
	if kept.closed != 1 || replaced.closed != 1 {
		t.Errorf("closed %d and %d times", kept.closed, replaced.closed)
	}
	own.Set("kept", kept)
	own.ShareWith(&lent)
	own.MoveFrom(&lent)
	if len(lent) != 0 || own.Get("kept") != kept || kept.closed != 1 {
		t.Errorf("taken back: %v, %v", own, lent)
	}
	if own.Reset(); kept.closed != 2 {
		t.Errorf("closed %d times", kept.closed)
	}
}
