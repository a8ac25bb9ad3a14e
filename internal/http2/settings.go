package http2

import (
	"encoding/binary"
)

// The settings of RFC 9113 section 6.5.2, RFC 8441 and RFC 9218.
const (
	settingTable           = 0x1
	settingPush            = 0x2
	settingStreams         = 0x3
	settingWindow          = 0x4
	settingFrame           = 0x5
	settingHeaderList      = 0x6
	settingExtendedConnect = 0x8
	settingNoPriorities    = 0x9 // RFC 7540's
)

const settingSize = 6

// sendSettings sends the settings that differ from the peer's assumptions, once.
func (c *Conn) sendSettings() {
	o := c.output()
	at := len(o.B)
	o.B = appendFrame(o.B, frameSettings, 0, 0, 0)
	add := func(id uint16, value, assumed int) {
		if value != assumed {
			o.B = binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint16(o.B, id), uint32(value))
		}
	}
	add(settingTable, c.l.DecoderTable, DefaultTable)
	if c.role == Server {
		add(settingStreams, c.l.Streams, -1)
		if c.l.ExtendedConnect {
			add(settingExtendedConnect, 1, 0)
		}
		add(settingNoPriorities, 1, 0)
	} else {
		add(settingPush, 0, 1)
	}
	add(settingWindow, c.l.Window, firstWindow)
	add(settingFrame, c.l.Frame, DefaultFrame)
	add(settingHeaderList, c.l.HeaderList, -1)
	o.B[at+2] = byte(len(o.B) - at - frameHeadSize)
}

func (c *Conn) receiveSettings(f *frame, p []byte) (Event, *Error) {
	switch {
	case f.id != 0:
		return Event{}, ErrStreamID
	case f.has(flagAck) && len(p) > 0, len(p)%settingSize != 0:
		return Event{}, ErrFrameSize
	case f.has(flagAck):
		return Event{}, c.acknowledged()
	case len(p)/settingSize > c.l.Settings:
		return Event{}, ErrManySettings
	}
	before := c.peer.window
	most := before
	for ; len(p) > 0; p = p[settingSize:] {
		if err := c.apply(binary.BigEndian.Uint16(p), binary.BigEndian.Uint32(p[2:])); err != nil {
			return Event{}, err
		}
		most = max(most, c.peer.window)
	}
	if most > before || c.peer.window < before {
		if err := c.moveWindows(int64(most)-int64(before), int64(c.peer.window)-int64(before)); err != nil {
			return Event{}, err
		}
	}
	o := c.output()
	o.B = appendFrame(o.B, frameSettings, flagAck, 0, 0)
	if c.greeting == GreetSettings {
		c.setGreeting(GreetAck)
		return Event{Kind: Settings}, nil
	}
	return Event{Kind: Settings}, c.glitch()
}

// acknowledged handles the acknowledgement of the settings. There is only one.
func (c *Conn) acknowledged() *Error {
	if c.greeting != GreetAck {
		return c.glitch()
	}
	c.setGreeting(Greeted)
	c.dec.Acknowledged()
	// streams that began before had the window that the peer assumed
	if less := int32(firstWindow - c.l.Window); less > 0 {
		for s := range c.table.all {
			s.recvWindow -= less
		}
	}
	return nil
}

// apply applies a setting of the peer. Unknown settings have no effect.
func (c *Conn) apply(id uint16, value uint32) *Error {
	switch id {
	case settingTable:
		c.enc.SetMaxTable(value)
	case settingPush:
		if value > 1 || value == 1 && c.role == Client {
			return ErrSetting
		}
	case settingStreams:
		c.peer.streams = value
	case settingWindow:
		if value > maxID {
			return ErrWindow
		}
		c.peer.window = int32(value)
	case settingFrame:
		if value < DefaultFrame || value > 1<<24-1 {
			return ErrSetting
		}
		c.peer.frame = int(value)
	case settingExtendedConnect:
		if value > 1 || value == 0 && c.extended {
			// RFC 8441 section 3: a peer does not take it back
			return ErrSetting
		}
		c.extended = value == 1
	case settingNoPriorities:
		if value > 1 {
			return ErrSetting
		}
	}
	return nil
}

// moveWindows changes the windows of all streams, which may become negative (RFC 9113 section
// 6.9.2). The change is the sum of all changes of a frame, and most the highest sum on the way: a
// peer can put many of them into a frame, and each would order all streams anew.
func (c *Conn) moveWindows(most, change int64) *Error {
	for s := range c.table.all {
		if int64(s.sendWindow)+most > maxID {
			return ErrWindow
		}
		s.sendWindow = int32(int64(s.sendWindow) + change)
		c.schedule(s)
	}
	return nil
}
