package http1

import "github.com/valyala/fasthttp/internal/field"

// wide reports whether wideLines is used. Tests change it.
var wide = field.Wide

// wideLines is like usualLines if not all fields are kept. It uses instructions that examine
// 32 bytes at once, and leaves more lines to others.
func (h *Head) wideLines(role Role, b []byte, fields *field.List) (err error) {
	w := field.Walk{Text: b, At: h.next, Effects: &effects[role], KeepNames: h.KeepNames}
	// as in usualLines
	w.Until = h.next + shortestLine*min(h.Limits.fields()-h.Lines, len(b))
	for {
		fields.AppendLines(&w)
		h.Lines += w.Lines
		if h.takeWalk(role, &w); w.Left == field.LeftLine {
			break
		}
		id := w.ID
		if w.Left == field.LeftName {
			if id = h.lookUp(w.First, w.Last, b[w.At:w.At+w.Size]); id == badName {
				break
			}
		}
		from, keep := w.At+w.Size+len(": "), true
		value := field.Span{Off: uint32(from), Len: uint32(w.Stop - from)}
		if effect := w.Effects[id]; effect != noEffect {
			if keep, err = h.apply(effect, role, b, value); err != nil {
				return err
			}
		}
		if keep {
			e := fields.Extend()
			e.Name, e.Value, e.ID = field.Span{Off: uint32(w.At), Len: uint32(w.Size)}, value, id
		}
		h.Lines++
		w.At = w.Stop + len("\r\n")
		w.Slots, w.Effective, w.Lines = [field.Slots]field.Span{}, 0, 0
	}
	h.next = w.At
	return nil
}

// takeWalk records the effects of the lines that a walk took.
func (h *Head) takeWalk(role Role, w *field.Walk) {
	if w.Effective&field.HasCookie != 0 {
		h.Flags |= HasCookie
	}
	if w.Effective&field.HasKeepAlive != 0 {
		h.Flags |= KeepAlive
	}
	if role == Request {
		if at := w.Slots[host-1]; at.Len > 0 {
			h.noteHost(at)
		}
		if at := w.Slots[userAgent-1]; at.Len > 0 {
			h.Slots[SlotUserAgent] = at
		}
	} else {
		if at := w.Slots[server-1]; at.Len > 0 {
			h.Slots[SlotServer] = at
		}
		if at := w.Slots[contentEncoding-1]; at.Len > 0 {
			h.Slots[SlotContentEncoding] = at
		}
	}
	if at := w.Slots[contentType-1]; at.Len > 0 && (role == Response || h.Slots[SlotContentType] == (field.Span{})) {
		// as in apply
		h.Slots[SlotContentType] = at
	}
}
