package field

// Walk is a walk over the field lines of a head: see List.AppendLines. Its caller sets the
// first fields.
type Walk struct {
	Text      []byte       // begins with the first byte of the head
	At        int          // position of the first line that was not taken
	Until     int          // no line at or after this position is taken
	Effects   *[256]Effect // by the id of a name
	Slots     [Slots]Span  // values of lines with the effects up to Slots, each of them once
	Lines     int          // the number of lines that were taken
	Effective EffectiveSet // what was taken of the effects after Slots
	KeepNames bool         // leave lines whose names are not normalised to the caller

	// of the line at At, unless Left is LeftLine
	Left        Left
	ID          ID     // of its name, if Left is LeftEffect
	Size        int    // of its name
	Stop        int    // position after its value
	First, Last uint64 // the ends of its name, as in LookupWords

	// for AppendLines alone
	last int // the last position from which 32 bytes of a value are read
	room int // for entries
}

// Effect is what AppendLines does with a line beside appending it. Zero is nothing, and the
// effects up to Slots put its value into Walk.Slots instead, the first one into Slots[0].
// AppendLines leaves lines with effects that have no name here to its caller.
type Effect = uint8

// The other effects.
const (
	Slots            = 5
	EffectCookie     = 6 // it is noted
	EffectConnection = 7 // it is noted if the value is "keep-alive"; other lines are left to the caller
)

// EffectiveSet is a set of effects after Slots.
type EffectiveSet uint8

const (
	HasCookie    EffectiveSet = 1 << iota // lines with EffectCookie
	HasKeepAlive                          // lines with EffectConnection
)

// Left is the reason why AppendLines left a line to its caller.
type Left uint8

const (
	LeftLine   Left = iota // the line may be incomplete or invalid, or is unusual
	LeftName               // the line has the usual form, but its name may be unknown or not normalised
	LeftEffect             // the line has the usual form and a known name; it has an effect, or there is no room
)
