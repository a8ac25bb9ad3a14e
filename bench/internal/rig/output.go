package rig

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/valyala/fasthttp/bench/internal/markdown"
	"github.com/valyala/fasthttp/bench/internal/report"
	"github.com/valyala/fasthttp/bench/internal/stats"
)

// NewHead returns the head of a report of measurements that begin now.
func NewHead(servers []*Server, rounds int) report.Head {
	h := report.Head{
		Machine:  Host(),
		Versions: map[string]string{},
		Date:     time.Now().UTC().Format("2006-01-02 15:04 MST"),
		Rounds:   rounds,
	}
	for _, s := range servers {
		h.Versions[s.Name] = s.Version
	}
	return h
}

// Ratio is one server's figure over another's. In a table it is in parentheses if the samples'
// ranges overlap, so that the difference may be chance. It is zero if the figures are missing.
type Ratio struct {
	Value    float64 `json:"value"`
	Overlaps bool    `json:"overlaps"`
}

// NewRatio divides the medians.
func NewRatio(of, by stats.Summary) Ratio {
	if len(of.Samples) == 0 || len(by.Samples) == 0 {
		return Ratio{}
	}
	return Ratio{Value: stats.Ratio(of.Median, by.Median), Overlaps: of.Overlaps(by)}
}

func (r Ratio) String() string {
	switch {
	case r.Value == 0:
		return markdown.None
	case r.Overlaps:
		return fmt.Sprintf("(%.2f)", r.Value)
	}
	return fmt.Sprintf("%.2f", r.Value)
}

// Met returns the word for a met or a missed goal.
func Met(met bool) string {
	if met {
		return "met"
	}
	return "**not met**"
}

// WriteResults writes a report to out, as Markdown, and to two files in the
// folder, which is in dir unless it is absolute.
func WriteResults(out io.Writer, dir, folder, name, markdown string, value any) error {
	folder = In(dir, folder)
	_, err := io.WriteString(out, markdown)
	return errors.Join(err, WriteJSON(filepath.Join(folder, name+".json"), value),
		os.WriteFile(filepath.Join(folder, name+".md"), []byte(markdown), 0o644))
}

// In returns a path, which is in dir unless it is absolute.
func In(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// WriteJSON writes a value to a file, and creates its folder.
func WriteJSON(file string, value any) error {
	text, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return err
	}
	return errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, append(text, '\n'), 0o644))
}

// ReadJSON reads a value from a file.
func ReadJSON(file string, value any) error {
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, value)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}
