package turns

import (
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"testing"

	"github.com/valyala/fasthttp/bench/internal/progress"
)

type number int

func (n number) String() string { return fmt.Sprint(int(n)) }

func plan(rounds int) Plan {
	return Plan{Rounds: rounds, Loads: []string{"light", "heavy"}, Servers: []string{"a", "b"}, Log: progress.NewLines(io.Discard)}
}

func TestServersTakeTurns(t *testing.T) {
	var order []string
	samples, failures, err := Run(t.Context(), plan(2), func(load, server int) (number, error) {
		order = append(order, fmt.Sprint(load, server))
		if len(order) == 6 {
			return 0, errors.New("broken")
		}
		return number(len(order)), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"0 0", "0 1", "1 0", "1 1", "0 0", "0 1", "1 0", "1 1"}; !reflect.DeepEqual(order, want) {
		t.Errorf("order %v", order)
	}
	want := map[Key][]number{{"light", "a"}: {1, 5}, {"light", "b"}: {2}, {"heavy", "a"}: {3, 7}, {"heavy", "b"}: {4, 8}}
	if !reflect.DeepEqual(samples, want) {
		t.Errorf("samples %v, want %v", samples, want)
	}
	if want := []string{"round 2, light, b: broken"}; !reflect.DeepEqual(failures, want) {
		t.Errorf("failures %q, want %q", failures, want)
	}
}

func TestServersAreSkipped(t *testing.T) {
	p := plan(3)
	p.Skip = func(load, server int) bool { return load == 1 && server == 0 }
	runs := 0
	samples, failures, err := Run(t.Context(), p, func(int, int) (number, error) {
		runs++
		return 1, nil
	})
	if err != nil || len(failures) > 0 || runs != 9 || p.Runs() != 3 {
		t.Errorf("%d runs of %d in a round, failures %q, %v", runs, p.Runs(), failures, err)
	}
	if got := samples[Key{"heavy", "a"}]; got != nil {
		t.Errorf("samples %v", got)
	}
}

func TestTheEndOfTheContextEndsIt(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	runs := 0
	_, _, err := Run(ctx, plan(2), func(int, int) (number, error) {
		runs++
		cancel()
		return 0, ctx.Err()
	})
	if err == nil || runs != 1 {
		t.Errorf("%d runs, %v", runs, err)
	}
}
