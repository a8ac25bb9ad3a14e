package hpack

import "github.com/valyala/fasthttp/internal/field"

// The ids that Decode gives to pseudo-fields. They differ from the ids of package field,
// which are less than field.NumIDs.
const (
	Method      field.ID = 0xff - iota // ":method"
	Path                               // ":path"
	Scheme                             // ":scheme"
	Authority                          // ":authority"
	Status                             // ":status"
	Protocol                           // ":protocol"
	OtherPseudo                        // every other name that begins with a colon
)

// IsPseudo reports whether id is the id of a pseudo-field.
func IsPseudo(id field.ID) bool { return id >= OtherPseudo }

// lookup returns the id of a name in lower case.
func lookup(name []byte) field.ID {
	if len(name) == 0 || name[0] != ':' {
		return field.Lookup(name)
	}
	switch string(name[1:]) {
	case "method":
		return Method
	case "path":
		return Path
	case "scheme":
		return Scheme
	case "authority":
		return Authority
	case "status":
		return Status
	case "protocol":
		return Protocol
	}
	return OtherPseudo
}
