package main

import "strings"

// parseNotes reads notes.md: a heading of the second level is the id of a goal, and the text
// below explains why it is not met.
func parseNotes(text string) map[string]string {
	notes := map[string]string{}
	for _, section := range strings.Split("\n"+text, "\n## ")[1:] {
		id, note, _ := strings.Cut(section, "\n")
		notes[strings.TrimSpace(id)] = strings.Join(strings.Fields(note), " ")
	}
	return notes
}
