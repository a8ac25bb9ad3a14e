package engine

import "testing"

// TestStagesOfConnections walks all changes from each stage to each other one.
func TestStagesOfConnections(t *testing.T) {
	names := [stages]string{"busy", "opening", "waiting", "asking", "asked", "claimed"}
	want := map[string]string{
		"busy":    "waiting",
		"opening": "waiting asked",
		"waiting": "busy asking asked",
		"asking":  "asked claimed",
		"asked":   "busy claimed",
		"claimed": "",
	}
	for from := range stages {
		var got string
		for to := range stages {
			c := new(Conn)
			c.stage.Store(int32(from))
			changed, legal := false, true
			func() {
				defer func() { legal = recover() == nil }()
				changed = c.change(from, to)
			}()
			if changed != legal || changed && c.loadStage() != to || !changed && c.loadStage() != from {
				t.Errorf("%s to %s: changed %v, legal %v, now %s", names[from], names[to], changed, legal, names[c.loadStage()])
			}
			if legal {
				if got != "" {
					got += " "
				}
				got += names[to]
			}
			// a connection no longer in the stage stays as it is
			other := (from + 1) % stages
			c.stage.Store(int32(other))
			if legal && c.change(from, to) || c.loadStage() != other {
				t.Errorf("%s to %s was done for one that is %s", names[from], names[to], names[other])
			}
		}
		if got != want[names[from]] {
			t.Errorf("after %s may come %q, want %q", names[from], got, want[names[from]])
		}
	}
}

// Every stage is reachable from the first one, and all but the last have a successor.
func TestEveryStageIsReached(t *testing.T) {
	reached := map[stage]bool{stageOpening: true, stageWaiting: true}
	for range stages {
		for from := range reached {
			for to := range stages {
				if stageChanges[from]&(1<<to) != 0 {
					reached[to] = true
				}
			}
		}
	}
	if len(reached) != int(stages) {
		t.Errorf("%d of %d stages are reached", len(reached), stages)
	}
	for from := range stages {
		if (stageChanges[from] == 0) != (from == stageClaimed) {
			t.Errorf("the stages %b come after stage %d", stageChanges[from], from)
		}
	}
}
