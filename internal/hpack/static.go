package hpack

import "github.com/valyala/fasthttp/internal/field"

// dynamicIndex is the index of the newest entry of the dynamic table, after the indices of
// the static table, which begin at 1.
const dynamicIndex = 62

// static is the static table in the form that Decoder uses, with the names as they are
// received; staticNormalized has them normalised. The entry with an index is at that
// position in the ring. staticIndex has the first index of each well-known name, or 0.
var static, staticNormalized, staticIndex = buildStatic()

func buildStatic() (received, normalized table, index [256]uint8) {
	received.ring, normalized.ring = make([]entry, dynamicIndex), make([]entry, dynamicIndex)
	for i, f := range staticText {
		name := []byte(f.name)
		id := lookup(name)
		e := entry{uint32(len(received.text)), uint32(len(f.name)), uint32(len(f.value)), id, 0}
		received.ring[i], normalized.ring[i] = e, e
		received.text = append(append(received.text, name...), f.value...)
		field.Normalize(name)
		normalized.text = append(append(normalized.text, name...), f.value...)
		if id != field.Unknown && !IsPseudo(id) && index[id] == 0 {
			index[id] = uint8(i)
		}
	}
	return received, normalized, index
}

// staticText is the table of RFC 7541 appendix A. Nothing has the index 0.
var staticText = [dynamicIndex]struct{ name, value string }{
	1:  {":authority", ""},
	2:  {":method", "GET"},
	3:  {":method", "POST"},
	4:  {":path", "/"},
	5:  {":path", "/index.html"},
	6:  {":scheme", "http"},
	7:  {":scheme", "https"},
	8:  {":status", "200"},
	9:  {":status", "204"},
	10: {":status", "206"},
	11: {":status", "304"},
	12: {":status", "400"},
	13: {":status", "404"},
	14: {":status", "500"},
	15: {"accept-charset", ""},
	16: {"accept-encoding", "gzip, deflate"},
	17: {"accept-language", ""},
	18: {"accept-ranges", ""},
	19: {"accept", ""},
	20: {"access-control-allow-origin", ""},
	21: {"age", ""},
	22: {"allow", ""},
	23: {"authorization", ""},
	24: {"cache-control", ""},
	25: {"content-disposition", ""},
	26: {"content-encoding", ""},
	27: {"content-language", ""},
	28: {"content-length", ""},
	29: {"content-location", ""},
	30: {"content-range", ""},
	31: {"content-type", ""},
	32: {"cookie", ""},
	33: {"date", ""},
	34: {"etag", ""},
	35: {"expect", ""},
	36: {"expires", ""},
	37: {"from", ""},
	38: {"host", ""},
	39: {"if-match", ""},
	40: {"if-modified-since", ""},
	41: {"if-none-match", ""},
	42: {"if-range", ""},
	43: {"if-unmodified-since", ""},
	44: {"last-modified", ""},
	45: {"link", ""},
	46: {"location", ""},
	47: {"max-forwards", ""},
	48: {"proxy-authenticate", ""},
	49: {"proxy-authorization", ""},
	50: {"range", ""},
	51: {"referer", ""},
	52: {"refresh", ""},
	53: {"retry-after", ""},
	54: {"server", ""},
	55: {"set-cookie", ""},
	56: {"strict-transport-security", ""},
	57: {"transfer-encoding", ""},
	58: {"user-agent", ""},
	59: {"vary", ""},
	60: {"via", ""},
	61: {"www-authenticate", ""},
}
