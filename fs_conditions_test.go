package fasthttp

import (
	"cmp"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp/internal/files"
	"github.com/valyala/fasthttp/internal/servertest"
)

// conditionModel decides as RFC 9110 section 13 does, without the code under test. It knows
// only the tags and dates of the tables.
type conditionModel struct {
	etag     string
	modified time.Time
}

var (
	modelTime    = time.Date(2024, 5, 6, 7, 8, 9, 0, time.UTC)
	modelDates   = map[string]time.Time{"same": modelTime, "before": modelTime.Add(-time.Second), "after": modelTime.Add(time.Second)}
	modelTagSets = map[string][]string{
		"*":                    nil,
		`"a"`:                  {`"a"`},
		`W/"a"`:                {`W/"a"`},
		`"b"`:                  {`"b"`},
		`"b", "a"`:             {`"b"`, `"a"`},
		`"b",W/"a" , "c"`:      {`"b"`, `W/"a"`, `"c"`},
		`"b, \", "a,b"`:        {`"b, \"`, `"a,b"`},
		`, ,"a"`:               {`"a"`},
		`""`:                   {`""`},
		`a`:                    nil,
		`"a`:                   nil,
		`w/"a"`:                nil,
		`"b" nonsense "a" , *`: {`"b"`},
	}
)

func (m conditionModel) anyTag(set string, strong bool) bool {
	if set == "*" {
		return true
	}
	for _, tag := range modelTagSets[set] {
		opaque, own := strings.TrimPrefix(tag, "W/"), strings.TrimPrefix(m.etag, "W/")
		isWeak := opaque != tag || own != m.etag
		if m.etag != "" && opaque == own && !(strong && isWeak) {
			return true
		}
	}
	return false
}

// status follows the steps of section 13.2.2.
func (m conditionModel) status(fields map[string]string) int {
	if set, ok := fields["If-Match"]; ok { // step 1
		if !m.anyTag(set, true) {
			return 412
		}
	} else if date, ok := modelDates[fields["If-Unmodified-Since"]]; ok && !m.modified.IsZero() { // step 2
		if m.modified.Truncate(time.Second).After(date) {
			return 412
		}
	}
	if set, ok := fields["If-None-Match"]; ok { // step 3
		if m.anyTag(set, false) {
			return 304
		}
	} else if date, ok := modelDates[fields["If-Modified-Since"]]; ok && !m.modified.IsZero() { // step 4
		if !m.modified.Truncate(time.Second).After(date) {
			return 304
		}
	}
	return 200
}

func (m conditionModel) rangeApplies(value string) bool { // step 5
	if strings.Contains(value, `"`) {
		return m.anyTag(value, true)
	}
	date, ok := modelDates[value]
	return ok && !m.modified.IsZero() && date.Equal(m.modified.Truncate(time.Second))
}

func conditionHeader(fields map[string]string) *RequestHeader {
	h := new(RequestHeader)
	for name, value := range fields {
		if date, ok := modelDates[value]; ok {
			value = string(AppendHTTPDate(nil, date))
		}
		h.Set(name, value)
	}
	return h
}

// TestConditionsAreThoseOfTheModel tries all combinations of tags and dates in the
// four fields.
func TestConditionsAreThoseOfTheModel(t *testing.T) {
	servertest.WithoutGoroutines(t)
	const absent = "absent"
	tags, dates := []string{absent}, []string{absent, "same", "before", "after", "no date"}
	for set := range modelTagSets {
		tags = append(tags, set)
	}
	seen := map[int]int{}
	for _, etag := range []string{"", `"a"`, `W/"a"`, `"a,b"`} {
		for _, modified := range []time.Time{{}, modelTime, modelTime.Add(time.Millisecond)} {
			model := conditionModel{etag, modified}
			v := files.Validator{ETag: []byte(etag), Modified: modified}
			for _, match := range tags {
				for _, noneMatch := range tags {
					for _, unmodified := range dates {
						for _, modifiedSince := range dates {
							fields := map[string]string{}
							for name, value := range map[string]string{
								"If-Match": match, "If-None-Match": noneMatch, "If-Unmodified-Since": unmodified, "If-Modified-Since": modifiedSince,
							} {
								if value != absent {
									fields[name] = value
								}
							}
							got, want := cmp.Or(files.EvalPreconditions(&conditionHeader(fields).head.List, v), 200), model.status(fields)
							seen[want]++
							if got != want {
								t.Fatalf("%s %v with %q: got %d, want %d", etag, modified, fields, got, want)
							}
						}
					}
				}
			}
		}
	}
	if len(seen) != 3 {
		t.Errorf("not all verdicts were seen: %v", seen)
	}
}

// Known failure 43.
func TestIfRangeNeedsAStrongValidator(t *testing.T) {
	now := modelTime.Add(time.Hour)
	for _, etag := range []string{"", `"a"`, `W/"a"`} {
		for _, modified := range []time.Time{{}, modelTime, modelTime.Add(time.Millisecond)} {
			model := conditionModel{etag, modified}
			for _, value := range []string{`"a"`, `W/"a"`, `"b"`, `""`, "same", "before", "after", "nonsense"} {
				h := conditionHeader(map[string]string{"If-Range": value})
				if got, want := files.RangeApplies(&h.head.List, files.Validator{ETag: []byte(etag), Modified: modified}, now), model.rangeApplies(value); got != want {
					t.Errorf("%s %v with %s: %v, want %v", etag, modified, value, got, want)
				}
			}
		}
	}
	h := conditionHeader(map[string]string{"If-Range": "same"})
	if files.RangeApplies(&h.head.List, files.Validator{Modified: modelTime}, modelTime.Add(time.Second-1)) {
		t.Error("a date within the second of the change counts as strong")
	}
	if !files.RangeApplies(&new(RequestHeader).head.List, files.Validator{}, now) {
		t.Error("a range without If-Range does not apply")
	}
	h = conditionHeader(map[string]string{"If-Range": `"b", "a"`})
	if files.RangeApplies(&h.head.List, files.Validator{ETag: []byte(`"a"`)}, now) {
		t.Error("If-Range is taken for a list")
	}
}
