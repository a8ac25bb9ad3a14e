package wire

import "slices"

// The identifiers of settings (RFC 9114 section 7.2.4.1, RFC 9204 section 5, RFC 9220 section 3).
const (
	settingTableCapacity   = 0x1
	settingSectionSize     = 0x6
	settingBlockedStreams  = 0x7
	settingExtendedConnect = 0x8
)

// Settings are the settings of a side.
type Settings struct {
	TableCapacity   uint64 // of the QPACK decoder
	BlockedStreams  uint64
	SectionSize     uint64 // the largest field section; 0 if there is no limit
	ExtendedConnect bool   // RFC 9220
}

// Append appends a SETTINGS frame. A setting that has its default value is left out.
func (s *Settings) Append(dst []byte) []byte {
	var p []byte
	set := func(id, value uint64) {
		if value != 0 {
			p = AppendVarint(AppendVarint(p, id), value)
		}
	}
	set(settingTableCapacity, s.TableCapacity)
	set(settingSectionSize, s.SectionSize)
	set(settingBlockedStreams, s.BlockedStreams)
	if s.ExtendedConnect {
		set(settingExtendedConnect, 1)
	}
	return append(AppendFrame(dst, TypeSettings, len(p)), p...)
}

// maxSettings is how many settings a frame may have. Others that this side does not know are
// ignored.
const maxSettings = 64

// Parse sets s from the payload of a SETTINGS frame (RFC 9114 section 7.2.4).
func (s *Settings) Parse(payload []byte) *Error {
	*s = Settings{}
	var seen []uint64
	for len(payload) > 0 {
		id, i := Varint(payload)
		value, j := Varint(payload[i:])
		if i == 0 || j == 0 {
			return &Error{FrameError, "SETTINGS that end in the middle of a setting"}
		}
		payload = payload[i+j:]
		switch {
		case slices.Contains(seen, id):
			return &Error{SettingsError, "a setting is there twice"}
		case len(seen) >= maxSettings:
			return &Error{ExcessiveLoad, "too many settings"}
		}
		seen = append(seen, id)
		switch id {
		case 0x2, 0x3, 0x4, 0x5:
			return &Error{SettingsError, "a setting of HTTP/2"}
		case settingTableCapacity:
			s.TableCapacity = value
		case settingSectionSize:
			s.SectionSize = value
		case settingBlockedStreams:
			s.BlockedStreams = value
		case settingExtendedConnect:
			if value > 1 {
				return &Error{SettingsError, "SETTINGS_ENABLE_CONNECT_PROTOCOL is neither 0 nor 1"}
			}
			s.ExtendedConnect = value == 1
		}
	}
	return nil
}
