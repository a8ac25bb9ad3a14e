package turns

import (
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
