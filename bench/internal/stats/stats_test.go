package stats

import (
	"math"
	"slices"
	"testing"
	"time"
)

func TestSummarize(t *testing.T) {
	tests := []struct {
		name    string
		samples []float64
		want    Summary
	}{
		{"none", nil, Summary{}},
		{"one", []float64{7}, Summary{Median: 7, Min: 7, Max: 7}},
		{"odd", []float64{5, 1, 3}, Summary{Median: 3, Min: 1, Max: 5, MAD: 2}},
		{"even", []float64{4, 1, 3, 2}, Summary{Median: 2.5, Min: 1, Max: 4, MAD: 1}},
		{"an outlier changes neither median nor MAD much", []float64{10, 11, 9, 10, 900}, Summary{Median: 10, Min: 9, Max: 900, MAD: 1}},
		{"all equal", []float64{2, 2, 2}, Summary{Median: 2, Min: 2, Max: 2}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			before := slices.Clone(test.samples)
			got := Summarize(test.samples)
			if !slices.Equal(got.Samples, before) {
				t.Errorf("samples are %v, were %v", got.Samples, before)
			}
			got.Samples = nil
			if got.Median != test.want.Median || got.Min != test.want.Min || got.Max != test.want.Max || got.MAD != test.want.MAD {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
		})
	}
}

func TestSpread(t *testing.T) {
	if got := (Summary{Median: 200, MAD: 3}).Spread(); got != 0.015 {
		t.Errorf("got %v", got)
	}
	if got := (Summary{MAD: 3}).Spread(); got != 0 {
		t.Errorf("with a median of 0: %v", got)
	}
}

func TestOverlaps(t *testing.T) {
	at := func(low, high float64) Summary { return Summary{Min: low, Max: high} }
	tests := []struct {
		a, b Summary
		want bool
	}{
		{at(1, 2), at(3, 4), false},
		{at(1, 3), at(2, 4), true},
		{at(1, 2), at(2, 3), true},
		{at(1, 9), at(4, 5), true},
	}
	for _, test := range tests {
		if test.a.Overlaps(test.b) != test.want || test.b.Overlaps(test.a) != test.want {
			t.Errorf("%v and %v: want %v", test.a, test.b, test.want)
		}
	}
}

func TestGeoMean(t *testing.T) {
	tests := []struct {
		values []float64
		want   float64
	}{
		{nil, 0},
		{[]float64{0, -1}, 0},
		{[]float64{3}, 3},
		{[]float64{2, 8}, 4},
		{[]float64{0.5, 2}, 1},
		{[]float64{2, 0, 8}, 4},
	}
	for _, test := range tests {
		if got := GeoMean(test.values); math.Abs(got-test.want) > 1e-12 {
			t.Errorf("%v: got %v, want %v", test.values, got, test.want)
		}
	}
}

func TestPercentile(t *testing.T) {
	upTo := func(n int) []time.Duration {
		var times []time.Duration
		for i := range n {
			times = append(times, time.Duration(n-i))
		}
		return times
	}
	tests := []struct {
		times []time.Duration
		p     int
		want  time.Duration
	}{
		{nil, 99, 0},
		{upTo(1), 50, 1},
		{upTo(1), 99, 1},
		{upTo(4), 50, 2},
		{upTo(100), 99, 99},
		{upTo(101), 99, 100},
		{upTo(1000), 99, 990},
	}
	for _, test := range tests {
		if got := Percentile(test.times, test.p); got != test.want {
			t.Errorf("%d%% of %d: %v, want %v", test.p, len(test.times), got, test.want)
		}
	}
}
