package ws

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

const name = deflateName

var offerRules = []struct {
	field string
	want  []Deflate
	err   error
}{
	{"", nil, nil},
	{" , ,\t,", nil, nil},
	{name, []Deflate{{}}, nil},
	{name + "; server_no_context_takeover", []Deflate{{ServerNoContext: true}}, nil},
	{name + "; client_no_context_takeover", []Deflate{{ClientNoContext: true}}, nil},
	{name + "; client_max_window_bits", []Deflate{{ClientBits: AnyBits}}, nil},
	{name + "; client_max_window_bits=8", []Deflate{{ClientBits: 8}}, nil},
	{name + "; server_max_window_bits=15", []Deflate{{ServerBits: 15}}, nil},
	{name + "; server_max_window_bits=\"10\"", []Deflate{{ServerBits: 10}}, nil},
	{name + " \t;\tclient_max_window_bits\t=\t9 ; server_max_window_bits = 14 ;server_no_context_takeover;client_no_context_takeover", []Deflate{{14, 9, true, true}}, nil},
	{name + "; client_max_window_bits; server_max_window_bits=10, " + name + "; client_max_window_bits", []Deflate{{ServerBits: 10, ClientBits: AnyBits}, {ClientBits: AnyBits}}, nil},
	{"x-webkit-deflate-frame, foo; bar=\"b\\az\"; baz , ," + name, []Deflate{{}}, nil},

	// declined
	{name + "; server_max_window_bits", nil, nil},
	{name + "; server_max_window_bits=7", nil, nil},
	{name + "; server_max_window_bits=16", nil, nil},
	{name + "; server_max_window_bits=0", nil, nil},
	{name + "; server_max_window_bits=08", nil, nil},
	{name + "; server_max_window_bits=010", nil, nil},
	{name + "; server_max_window_bits=+10", nil, nil},
	{name + "; server_max_window_bits=1", nil, nil},
	{name + "; server_max_window_bits=266", nil, nil},
	{name + "; server_max_window_bits=\"1\\0\"", nil, nil},
	{name + "; client_max_window_bits=7", nil, nil},
	{name + "; client_max_window_bits=16", nil, nil},
	{name + "; client_max_window_bits=x", nil, nil},
	{name + "; server_no_context_takeover=true", nil, nil},
	{name + "; client_no_context_takeover=1", nil, nil},
	{name + "; server_no_context_takeover; server_no_context_takeover", nil, nil},
	{name + "; client_no_context_takeover; client_no_context_takeover", nil, nil},
	{name + "; server_max_window_bits=10; server_max_window_bits=10", nil, nil},
	{name + "; client_max_window_bits; client_max_window_bits", nil, nil},
	{name + "; client_max_window_bits; client_max_window_bits=10", nil, nil},
	{name + "; Server_No_Context_Takeover", nil, nil},
	{name + "; unknown", nil, nil},
	{name + "; mem_level=8", nil, nil},
	{name + "; unknown, " + name + "; server_max_window_bits=7," + name + "; server_max_window_bits=9", []Deflate{{ServerBits: 9}}, nil},
	{"permessage-bzip2; client_max_window_bits=1", nil, nil},
	{"permessage-deflate2, xpermessage-deflate, Permessage-Deflate", nil, nil},

	// malformed
	{";", nil, ErrExtensions},
	{"=", nil, ErrExtensions},
	{name + ";", nil, ErrExtensions},
	{name + "; ;server_no_context_takeover", nil, ErrExtensions},
	{name + "; client_max_window_bits=", nil, ErrExtensions},
	{name + "; client_max_window_bits=\"\"", nil, ErrExtensions},
	{name + "; client_max_window_bits=\"10", nil, ErrExtensions},
	{name + "; client_max_window_bits=\"10\\", nil, ErrExtensions},
	{name + "; client_max_window_bits=\"1 0\"", nil, ErrExtensions},
	{name + "; client_max_window_bits=\"10\"0", nil, ErrExtensions},
	{name + "; client_max_window_bits=10 11", nil, ErrExtensions},
	{name + "; client_max_window_bits==10", nil, ErrExtensions},
	{name + "; =10", nil, ErrExtensions},
	{name + " x", nil, ErrExtensions},
	{name + "=1", nil, ErrExtensions},
	{name + ", (", []Deflate{{}}, ErrExtensions},
	{name + "\r\n", nil, ErrExtensions},
	{"foo; bar=\"a,b\"", nil, ErrExtensions},
}

func TestOffers(t *testing.T) {
	for _, tt := range offerRules {
		got, err := ParseOffers(nil, []byte(tt.field))
		if !slices.Equal(got, tt.want) || err != tt.err {
			t.Errorf("%q: %+v, %v, want %+v, %v", tt.field, got, err, tt.want, tt.err)
		}
		if got, err := modelOffers(tt.field); err != (tt.err != nil) || !err && !slices.Equal(got, tt.want) {
			t.Errorf("%q: the model has %+v, %v, want %+v, %v", tt.field, got, err, tt.want, tt.err)
		}
	}
	var all []Deflate
	for range 3 {
		var err error
		if all, err = ParseOffers(all, []byte(name+", "+name+", "+name)); err != nil {
			t.Fatal(err)
		}
	}
	if len(all) != maxOffers {
		t.Errorf("%d of 9 offers", len(all))
	}
}

const (
	tokenPattern = "[-!#$%&'*+.^_`|~0-9A-Za-z]+"
	valuePattern = "(?:" + tokenPattern + "|\"(?:\\\\?" + "[-!#$%&'*+.^_`|~0-9A-Za-z]" + ")+\")"
	blanks       = "[ \t]*"
	paramPattern = blanks + ";" + blanks + tokenPattern + "(?:" + blanks + "=" + blanks + valuePattern + ")?"
	elemPattern  = "(?:" + tokenPattern + "(?:" + paramPattern + ")*)?"
)

var (
	fieldModel = regexp.MustCompile(`\A` + blanks + elemPattern + blanks + "(?:," + blanks + elemPattern + blanks + `)*\z`)
	bitsModel  = regexp.MustCompile(`\A"?(8|9|1[0-5])"?\z`)
)

// modelOffers is ParseOffers by regular expressions. In a well-formed field, neither
// tokens nor quoted strings contain commas or semicolons.
func modelOffers(field string) (all []Deflate, malformed bool) {
	if !fieldModel.MatchString(field) {
		return nil, true
	}
	for element := range strings.SplitSeq(field, ",") {
		params := strings.Split(element, ";")
		if strings.Trim(params[0], " \t") != name || len(all) == maxOffers {
			continue
		}
		var d Deflate
		seen, ok := map[string]bool{}, true
		for _, p := range params[1:] {
			key, value, hasValue := strings.Cut(p, "=")
			key, value = strings.Trim(key, " \t"), strings.Trim(value, " \t")
			bits := uint8(slices.Index(strings.Split("0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15", " "), strings.Trim(value, `"`)))
			isBits := bitsModel.MatchString(value)
			ok = ok && !seen[key]
			seen[key] = true
			switch {
			case key == "server_no_context_takeover" && !hasValue:
				d.ServerNoContext = true
			case key == "client_no_context_takeover" && !hasValue:
				d.ClientNoContext = true
			case key == "server_max_window_bits" && isBits:
				d.ServerBits = bits
			case key == "client_max_window_bits" && isBits:
				d.ClientBits = bits
			case key == "client_max_window_bits" && !hasValue:
				d.ClientBits = AnyBits
			default:
				ok = false
			}
		}
		if ok {
			all = append(all, d)
		}
	}
	return all, false
}

func FuzzOffers(f *testing.F) {
	for _, r := range offerRules {
		f.Add([]byte(r.field))
	}
	f.Fuzz(func(t *testing.T, field []byte) {
		got, err := ParseOffers(nil, field)
		want, malformed := modelOffers(string(field))
		if (err != nil) != malformed || err == nil && !slices.Equal(got, want) {
			t.Fatalf("%q: %+v, %v, want %+v, %v", field, got, err, want, malformed)
		}
		for _, d := range got {
			again, err := ParseOffers(nil, AppendDeflate(nil, d))
			if err != nil || len(again) != 1 || again[0] != d {
				t.Errorf("%+v is written as %q, and read as %+v, %v", d, AppendDeflate(nil, d), again, err)
			}
			answer, ok := Terms{}.Answer(d)
			if !ok {
				t.Errorf("%+v is declined", d)
			}
			checkAnswer(t, d, answer)
		}
	})
}

// checkAnswer checks that a client accepts an answer to its offer and parses it unchanged.
func checkAnswer(t *testing.T, offer, answer Deflate) {
	t.Helper()
	got, accepted, err := ParseAnswer(AppendDeflate(nil, answer), offer)
	if got != answer || !accepted || err != nil {
		t.Errorf("the offer %+v, answered by %+v: %+v, %v, %v", offer, answer, got, accepted, err)
	}
}

func TestElementsAreWritten(t *testing.T) {
	for want, d := range map[string]Deflate{
		"x, " + name: {},
		"x, " + name + "; server_no_context_takeover; client_no_context_takeover; server_max_window_bits=8; client_max_window_bits=15": {8, 15, true, true},
		"x, " + name + "; client_max_window_bits": {ClientBits: AnyBits},
	} {
		if got := string(AppendDeflate([]byte("x, "), d)); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestAnswersToOffers(t *testing.T) {
	for _, tt := range []struct {
		name   string
		terms  Terms
		offer  Deflate
		answer Deflate
		ok     bool
	}{
		{"plain", Terms{}, Deflate{}, Deflate{}, true},
		{"of browsers", Terms{}, Deflate{ClientBits: AnyBits}, Deflate{}, true},
		{"the client demands", Terms{}, Deflate{ServerBits: 10, ClientBits: 9, ServerNoContext: true}, Deflate{10, 9, true, false}, true},
		{"the client hints", Terms{}, Deflate{ClientNoContext: true}, Deflate{ClientNoContext: true}, true},
		{"what it demands is confirmed", Terms{}, Deflate{ServerBits: 15, ClientBits: 15}, Deflate{ServerBits: 15}, true},
		{"the server demands", Terms{ServerNoContext: true, ClientNoContext: true}, Deflate{}, Deflate{ServerNoContext: true, ClientNoContext: true}, true},
		{"smaller windows of the server", Terms{ServerBits: 12, ClientBits: 11}, Deflate{ServerBits: 14, ClientBits: 13}, Deflate{ServerBits: 12, ClientBits: 11}, true},
		{"smaller windows of the client", Terms{ServerBits: 12, ClientBits: 11}, Deflate{ServerBits: 9, ClientBits: 10}, Deflate{ServerBits: 9, ClientBits: 10}, true},
		{"any window", Terms{ClientBits: 11}, Deflate{ClientBits: AnyBits}, Deflate{ClientBits: 11}, true},
		{"no word of the client's window", Terms{ServerBits: 10, ClientBits: 11}, Deflate{}, Deflate{ServerBits: 10}, true},
		{"too small a window", Terms{LeastBits: 9}, Deflate{ServerBits: 8}, Deflate{}, false},
		{"the smallest window", Terms{LeastBits: 9}, Deflate{ServerBits: 9}, Deflate{ServerBits: 9}, true},
		{"one window only", Terms{LeastBits: 15}, Deflate{ClientBits: 9}, Deflate{ClientBits: 9}, true},
		{"another window", Terms{LeastBits: 15}, Deflate{ServerBits: 14}, Deflate{}, false},
	} {
		answer, ok := tt.terms.Answer(tt.offer)
		if answer != tt.answer || ok != tt.ok {
			t.Errorf("%s: %+v, %v, want %+v, %v", tt.name, answer, ok, tt.answer, tt.ok)
		}
		if ok {
			checkAnswer(t, tt.offer, answer)
		}
	}
	if s, c := (Deflate{ServerBits: 9}).Windows(); s != 9 || c != 15 {
		t.Errorf("windows of %d and %d", s, c)
	}
	if s, c := (Deflate{ClientBits: 8}).Windows(); s != 15 || c != 8 {
		t.Errorf("windows of %d and %d", s, c)
	}
}

func TestAnswersThatClientsAccept(t *testing.T) {
	full := Deflate{ServerBits: 10, ClientBits: 12, ServerNoContext: true}
	for _, tt := range []struct {
		field string
		offer Deflate
		want  Deflate
		is    bool
		err   error
	}{
		{"", Deflate{}, Deflate{}, false, nil},
		{" , ", Deflate{}, Deflate{}, false, nil},
		{name, Deflate{}, Deflate{}, true, nil},
		{", " + name + " ,", Deflate{}, Deflate{}, true, nil},
		{name + "; server_no_context_takeover; client_no_context_takeover; server_max_window_bits=9", Deflate{}, Deflate{9, 0, true, true}, true, nil},
		{name + "; client_max_window_bits=9", Deflate{ClientBits: AnyBits}, Deflate{ClientBits: 9}, true, nil},
		{name + "; client_max_window_bits=15", Deflate{ClientBits: AnyBits}, Deflate{ClientBits: 15}, true, nil},
		{name + "; server_max_window_bits=9; server_no_context_takeover; client_max_window_bits=11", full, Deflate{9, 11, true, false}, true, nil},
		{name + "; server_max_window_bits=10; server_no_context_takeover", full, Deflate{10, 12, true, false}, true, nil},
		{name + "; server_max_window_bits=10; server_no_context_takeover; client_max_window_bits=13", full, Deflate{10, 12, true, false}, true, nil},
		{name, Deflate{ClientBits: 15}, Deflate{}, true, nil},

		{name + "; server_max_window_bits=11; server_no_context_takeover", full, Deflate{}, false, ErrAnswer},
		{name + "; server_no_context_takeover", full, Deflate{}, false, ErrAnswer},
		{name + "; server_max_window_bits=10", full, Deflate{}, false, ErrAnswer},
		{name + "; client_max_window_bits=9", Deflate{}, Deflate{}, false, ErrAnswer},
		{name + "; client_max_window_bits", Deflate{ClientBits: AnyBits}, Deflate{}, false, ErrAnswer},
		{name + "; server_max_window_bits", Deflate{}, Deflate{}, false, ErrAnswer},
		{name + "; server_max_window_bits=7", Deflate{}, Deflate{}, false, ErrAnswer},
		{name + "; unknown", Deflate{}, Deflate{}, false, ErrAnswer},
		{name + "; server_no_context_takeover; server_no_context_takeover", Deflate{}, Deflate{}, false, ErrAnswer},
		{name + ", " + name, Deflate{}, Deflate{}, false, ErrAnswer},
		{name + ", foo", Deflate{}, Deflate{}, false, ErrAnswer},
		{"foo", Deflate{}, Deflate{}, false, ErrAnswer},
		{name + ";", Deflate{}, Deflate{}, false, ErrExtensions},
		{name + ", =", Deflate{}, Deflate{}, false, ErrExtensions},
	} {
		got, is, err := ParseAnswer([]byte(tt.field), tt.offer)
		if got != tt.want || is != tt.is || err != tt.err {
			t.Errorf("%q to %+v: %+v, %v, %v, want %+v, %v, %v", tt.field, tt.offer, got, is, err, tt.want, tt.is, tt.err)
		}
	}
}

// Whatever a server answers, a client accepts only parameters that it has offered.
func FuzzAnswer(f *testing.F) {
	for _, r := range offerRules {
		f.Add([]byte(r.field), uint8(10), uint8(1), true)
		f.Add([]byte(r.field), uint8(0), uint8(9), false)
	}
	f.Fuzz(func(t *testing.T, field []byte, serverBits, clientBits uint8, noContext bool) {
		valid := func(bits uint8) bool { return bits == NoBits || bits >= MinBits && bits <= MaxBits }
		if !valid(serverBits) || !valid(clientBits) && clientBits != AnyBits {
			return
		}
		offer := Deflate{ServerBits: serverBits, ClientBits: clientBits, ServerNoContext: noContext}
		got, accepted, err := ParseAnswer(field, offer)
		if err != nil || !accepted {
			if got != (Deflate{}) || accepted {
				t.Fatalf("%q: %+v, %v, %v", field, got, accepted, err)
			}
			return
		}
		offers, malformed := modelOffers(string(field))
		if malformed || len(offers) != 1 || offers[0].ClientBits == AnyBits {
			t.Fatalf("%q: %+v, but the model has %+v", field, got, offers)
		}
		if offers[0].ClientBits = got.ClientBits; offers[0] != got {
			t.Errorf("%q: %+v, want %+v", field, got, offers[0])
		}
		server, client := got.Windows()
		if server > orMax(serverBits) || client > orMax(clientBits) || clientBits == NoBits && client < MaxBits || noContext && !got.ServerNoContext {
			t.Errorf("%q is no answer to %+v", field, offer)
		}
	})
}
