package rig

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
)

// AskSelf runs this program as a child of another kind, the one of word, with a job for it. It
// returns the result that the child prints, and ends the child.
func AskSelf[R any](ctx context.Context, place Place, word string, env []string, job any) (r R, err error) {
	line, err := SelfCommand(place, word, job)
	if err != nil {
		return r, err
	}
	child, err := StartChild(ctx, env, line)
	if err != nil {
		return r, fmt.Errorf("starting the %s: %w", word, err)
	}
	err = child.Hear(ctx, word, &r)
	if stopped := child.Stop(); err == nil {
		err = stopped
	}
	return r, err
}

// Hear reads a result that a child prints. Errors have the name of the child.
func (c *Child) Hear(ctx context.Context, name string, r any) error {
	said, err := c.Line(ctx)
	if err == nil {
		err = json.Unmarshal([]byte(said), r)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// SelfCommand returns the command line that runs this program at a place as a child of the kind
// of word, with a job for AnswerAs.
func SelfCommand(place Place, word string, job any) ([]string, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(job)
	if err != nil {
		return nil, err
	}
	return place.Command(self, word, string(text)), nil
}

// AnswerAs runs the program as a child of another kind if its first argument is word, and then
// does not return. It calls answer with the job and a context that ends when the child is no
// longer needed. It prints the result, and runs until then.
func AnswerAs[J, R any](word string, answer func(ctx context.Context, job J) (R, error)) {
	if len(os.Args) != 3 || os.Args[1] != word {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	var job J
	var r R
	err := json.Unmarshal([]byte(os.Args[2]), &job)
	if err == nil {
		r, err = answer(ctx, job)
	}
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(r)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, word+":", err)
		os.Exit(1)
	}
	<-ctx.Done()
	os.Exit(0)
}
