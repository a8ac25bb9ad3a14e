package forms

import (
	"mime/multipart"
	"runtime"
	"sync/atomic"
)

// Spooled are the temporary files of a form. They are removed with the form,
// or else when nobody can reach any of its files any more: a request that is
// never released, such as that of a handler that has timed out, must not leave
// them behind for ever.
type Spooled struct {
	copies   multipart.Form // knows the files as well, and holds none of the originals
	left     atomic.Int32   // originals that can be reached
	cleanups []runtime.Cleanup
}

// Watch returns the files of the form, which may be on the disk.
func Watch(form *multipart.Form) *Spooled {
	s := &Spooled{}
	for _, files := range form.File {
		for _, fh := range files {
			own := *fh
			if s.copies.File == nil {
				s.copies.File = map[string][]*multipart.FileHeader{}
			}
			s.copies.File[""] = append(s.copies.File[""], &own)
			s.left.Add(1)
		}
	}
	for _, files := range form.File {
		for _, fh := range files {
			s.cleanups = append(s.cleanups, runtime.AddCleanup(fh, (*Spooled).lostOne, s))
		}
	}
	return s
}

// lostOne is called by the garbage collector for each of the originals.
func (s *Spooled) lostOne() {
	if s.left.Add(-1) == 0 {
		_ = s.copies.RemoveAll()
	}
}

// Remove removes the files.
func (s *Spooled) Remove() {
	for _, c := range s.cleanups {
		c.Stop()
	}
	// what cannot be removed is left to whoever cleans the directory of
	// temporary files up
	_ = s.copies.RemoveAll()
}
