// Package stats computes the few figures that describe repeated measurements. All of them are
// robust against an outlier: one disturbed run among five does not move a median.
package stats

import (
	"math"
	"slices"
	"time"
)

// Summary describes the samples of one quantity.
type Summary struct {
	Median float64 `json:"median"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
	// MAD is the median of the samples' distances from the median.
	MAD     float64   `json:"mad"`
	Samples []float64 `json:"samples"` // in the order they were taken
}

// Summarize describes samples. Without samples all figures are 0.
func Summarize(samples []float64) Summary {
	if len(samples) == 0 {
		return Summary{}
	}
	median := Median(samples)
	distances := make([]float64, len(samples))
	for i, x := range samples {
		distances[i] = math.Abs(x - median)
	}
	return Summary{
		Median:  median,
		Min:     slices.Min(samples),
		Max:     slices.Max(samples),
		MAD:     Median(distances),
		Samples: samples,
	}
}

// Spread is the MAD as a share of the median, or 0 if the median is 0.
func (s Summary) Spread() float64 { return Ratio(s.MAD, s.Median) }

// Overlaps reports whether the ranges from smallest to largest sample have a
// point in common. If so, the difference of two medians may be chance.
func (s Summary) Overlaps(other Summary) bool {
	return s.Min <= other.Max && other.Min <= s.Max
}

// Median returns the middle sample, or the mean of the middle two. It does not modify samples;
// without samples it is 0.
func Median(samples []float64) float64 {
	if len(samples) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(samples))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}

// Percentile returns the smallest time that at least p percent of the times do not exceed, or
// 0 without times. It sorts them.
func Percentile(times []time.Duration, p int) time.Duration {
	if len(times) == 0 {
		return 0
	}
	slices.Sort(times)
	return times[max(0, (len(times)*p+99)/100-1)]
}

// Ratio is a/b, or 0 if b is 0.
func Ratio(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}

// GeoMean is the geometric mean, the right mean of ratios. Values that are not positive are
// ignored; without values it is 0.
func GeoMean(values []float64) float64 {
	sum, n := 0.0, 0
	for _, x := range values {
		if x > 0 {
			sum += math.Log(x)
			n++
		}
	}
	if n == 0 {
		return 0
	}
	return math.Exp(sum / float64(n))
}
