package coding

import (
	"bytes"

	"github.com/valyala/fasthttp/internal/ascii"
)

// Accepted holds the content of the Accept-Encoding fields of a request (RFC 9110
// section 12.5.3). The zero value is for a request without such a field. The caller
// adds each field and then calls Choose.
type Accepted struct {
	weights [Count]Weight
	others  Weight // of "*"
}

// Weight is a quality value in thousandths, plus one; 0 if none was given. A larger
// weight means a stronger preference.
type Weight uint16

const (
	weightUnset Weight = 0
	// WeightNever is the weight of a coding that the client does not accept.
	WeightNever Weight = 1
	weightFull  Weight = 1001
)

// Add adds one Accept-Encoding field. It ignores malformed elements.
func (a *Accepted) Add(value []byte) {
	for rest := value; rest != nil; {
		var element []byte
		element, rest = ascii.NextElement(rest)
		name, params := element, []byte(nil)
		if semicolon := bytes.IndexByte(element, ';'); semicolon >= 0 {
			name, params = ascii.Trim(element[:semicolon]), element[semicolon+1:]
		}
		weight, ok := WeightIn(params)
		if !ok {
			continue
		}
		if len(name) == 1 && name[0] == '*' {
			a.others.lower(weight)
		} else if c, ok := named(name); ok {
			a.weights[c].lower(weight)
		}
	}
}

// lower sets the weight. If there are several for one coding, the lowest counts, so
// that a coding excluded once stays excluded.
func (w *Weight) lower(weight Weight) {
	if *w == weightUnset || weight < *w {
		*w = weight
	}
}

// Choose returns the offered coding that the client prefers. It returns Identity if
// the client prefers that, if it requests no offered coding, and also if it
// accepts no coding at all: a response in an unexpected form is of more use than none.
// If the client prefers two codings equally, Choose returns the larger one.
func (a *Accepted) Choose(offered Set) Coding {
	best, weight := Identity, a.weights[Identity]
	if weight == weightUnset {
		// the client accepts the coding then, but does not prefer it
		weight = WeightNever
	}
	for c := Identity + 1; c < Count; c++ {
		w := a.weights[c]
		if w == weightUnset {
			w = a.others
		}
		if offered.Has(c) && w > WeightNever && w >= weight {
			best, weight = c, w
		}
	}
	return best
}

// WeightIn returns the weight in the parameters of an element, which are passed
// without their first semicolon, such as "q=0.5". Without a q the weight is the full
// one. ok is false if the weight is malformed.
func WeightIn(params []byte) (w Weight, ok bool) {
	w = weightFull
	for len(params) > 0 {
		param := params
		if semicolon := bytes.IndexByte(params, ';'); semicolon >= 0 {
			param, params = params[:semicolon], params[semicolon+1:]
		} else {
			params = nil
		}
		param = ascii.Trim(param)
		if len(param) < 2 || ascii.Lower(param[0]) != 'q' || param[1] != '=' {
			continue
		}
		if w, ok = parseWeight(param[2:]); !ok {
			return weightUnset, false
		}
	}
	return w, true
}

// parseWeight parses a qvalue (RFC 9110 section 12.4.2): 0 to 1 with up to three
// digits after the point.
func parseWeight(b []byte) (w Weight, ok bool) {
	const longest = len("0.000")
	if len(b) == 0 || len(b) > longest || len(b) > 1 && b[1] != '.' {
		return weightUnset, false
	}
	thousandths, unit := 0, 1000
	for i, c := range b {
		if i == 1 {
			continue
		}
		if !ascii.Is(c, ascii.Digit) {
			return weightUnset, false
		}
		thousandths += int(c-'0') * unit
		unit /= 10
	}
	if thousandths > 1000 {
		return weightUnset, false
	}
	return Weight(thousandths + 1), true
}
