package fasthttp

import (
	"bytes"

	"github.com/valyala/fasthttp/internal/ascii"
)

// acceptedCodings is what the Accept-Encoding fields of a request say (RFC 9110
// section 12.5.3). The zero value is that of a request without the field.
type acceptedCodings struct {
	weights [numCodings]codingWeight
	others  codingWeight // of "*"
}

// codingWeight is a quality value in thousandths, plus one; 0 where none was
// given.
type codingWeight uint16

const (
	weightUnset codingWeight = 0
	weightNever codingWeight = 1
	weightFull  codingWeight = 1001
)

// chooseCoding returns the one of the offered codings that a client likes best
// whose Accept-Encoding fields have the values. It is codingIdentity where the
// client likes that better, where it asks for nothing that is offered, and also
// where it accepts nothing at all: an answer in a form that it does not expect
// is of more use than none.
func chooseCoding(offered codingSet, values ...[]byte) contentCoding {
	var accepted acceptedCodings
	for _, value := range values {
		accepted.add(value)
	}
	return accepted.choose(offered)
}

// add takes over the value of one Accept-Encoding field. Elements that are
// malformed are passed over.
func (a *acceptedCodings) add(value []byte) {
	for rest := value; rest != nil; {
		var element []byte
		element, rest = ascii.NextElement(rest)
		name, params := element, []byte(nil)
		if semicolon := bytes.IndexByte(element, ';'); semicolon >= 0 {
			name, params = ascii.Trim(element[:semicolon]), element[semicolon+1:]
		}
		weight, ok := weightIn(params)
		if !ok {
			continue
		}
		if len(name) == 1 && name[0] == '*' {
			a.others.lower(weight)
		} else if c, ok := codingNamed(name); ok {
			a.weights[c].lower(weight)
		}
	}
}

// lower sets the weight. Of several for one coding the lowest counts, so that
// what is ruled out anywhere stays out.
func (w *codingWeight) lower(weight codingWeight) {
	if *w == weightUnset || weight < *w {
		*w = weight
	}
}

// choose is chooseCoding for the values that were added.
func (a *acceptedCodings) choose(offered codingSet) contentCoding {
	best, weight := codingIdentity, a.weights[codingIdentity]
	if weight == weightUnset {
		// it is acceptable then, but nothing says that the client wants it
		weight = weightNever
	}
	for c := codingIdentity + 1; c < numCodings; c++ {
		w := a.weights[c]
		if w == weightUnset {
			w = a.others
		}
		if offered.has(c) && w > weightNever && w >= weight {
			best, weight = c, w
		}
	}
	return best
}

// weightIn returns the weight that the parameters of an element give.
func weightIn(params []byte) (w codingWeight, ok bool) {
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
// digits behind the point.
func parseWeight(b []byte) (w codingWeight, ok bool) {
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
	return codingWeight(thousandths + 1), true
}
