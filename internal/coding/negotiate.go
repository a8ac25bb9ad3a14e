package coding

import (
	"bytes"

	"github.com/valyala/fasthttp/internal/ascii"
)

// Accepted is what the Accept-Encoding fields of a request say (RFC 9110
// section 12.5.3). The zero value is that of a request without the field; each
// field is added, and then Choose called.
type Accepted struct {
	weights [Count]Weight
	others  Weight // of "*"
}

// Weight is a quality value in thousandths, plus one; 0 if none was given. Of two
// weights the larger one is that of what is preferred.
type Weight uint16

const (
	weightUnset Weight = 0
	// WeightNever is that of what the client does not accept.
	WeightNever Weight = 1
	weightFull  Weight = 1001
)

// Add takes over the value of one Accept-Encoding field. Elements that are
// malformed are passed over.
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

// lower sets the weight. Of several for one coding the lowest counts, so that
// what is ruled out anywhere stays out.
func (w *Weight) lower(weight Weight) {
	if *w == weightUnset || weight < *w {
		*w = weight
	}
}

// Choose returns the one of the offered codings that the client likes best. It is
// Identity if the client likes that better, if it asks for nothing that is offered,
// and also if it accepts nothing at all: an answer in a form that it does not expect
// is of more use than none. Of two codings that it likes equally well the larger one
// is taken.
func (a *Accepted) Choose(offered Set) Coding {
	best, weight := Identity, a.weights[Identity]
	if weight == weightUnset {
		// it is acceptable then, but nothing says that the client wants it
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

// WeightIn returns the weight that the parameters of an element give, such as ";q=0.5"
// without its first semicolon: the full one if there is no q among them. ok is false
// if it is malformed.
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
// digits behind the point.
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
