package wire

import (
	"math"
	"slices"
)

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
	SectionSize     uint64 // the largest field section, if LimitsSections is set
	LimitsSections  bool
	ExtendedConnect bool // RFC 9220
}

// SectionLimit returns the size of the largest field section: the largest number if there is no limit.
func (s *Settings) SectionLimit() uint64 {
	if s.LimitsSections {
		return s.SectionSize
	}
	return math.MaxUint64
}

// Append appends a SETTINGS frame. A setting that has its default value is left out.
func (s *Settings) Append(dst []byte) []byte {
	var p []byte
	set := func(id, value uint64, differs bool) {
		if differs {
			p = AppendVarint(AppendVarint(p, id), value)
		}
	}
	set(settingTableCapacity, s.TableCapacity, s.TableCapacity != 0)
	set(settingSectionSize, s.SectionSize, s.LimitsSections)
	set(settingBlockedStreams, s.BlockedStreams, s.BlockedStreams != 0)
	set(settingExtendedConnect, 1, s.ExtendedConnect)
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
			s.SectionSize, s.LimitsSections = value, true
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
