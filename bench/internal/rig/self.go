package rig

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

// AskSelf runs this program as a child of another kind: args begin with the word for AnswerAs.
// It returns the result that the child prints, and ends the child. what is the name of the
// child in errors.
func AskSelf[R any](ctx context.Context, place Place, what string, env []string, args ...string) (r R, err error) {
	line, err := SelfCommand(place, args...)
	if err != nil {
		return r, err
	}
	child, err := StartChild(ctx, env, line)
	if err != nil {
		return r, fmt.Errorf("starting the %s: %w", what, err)
	}
	said, err := child.Line(ctx)
	if err != nil {
		_ = child.Stop() // err has the cause
		return r, fmt.Errorf("%s: %w", what, err)
	}
	if err := json.Unmarshal([]byte(said), &r); err != nil {
		return r, errors.Join(fmt.Errorf("%s: %q: %w", what, said, err), child.Stop())
	}
	return r, child.Stop()
}

// SelfCommand returns the command line that runs this program as a child of another kind at a
// place: args begin with the word for AnswerAs.
func SelfCommand(place Place, args ...string) ([]string, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return place.Command(self, args...), nil
}

// AnswerAs runs the program as a child of another kind if its arguments begin with word, and
// then does not return. It calls answer with the other arguments and a context that ends when
// the child is no longer needed. It prints the result, and runs until then. what is the name of
// the child in errors.
func AnswerAs[R any](word, what string, answer func(ctx context.Context, args []string) (R, error)) {
	if len(os.Args) < 2 || os.Args[1] != word {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	r, err := answer(ctx, os.Args[2:])
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(r)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, what+":", err)
		os.Exit(1)
	}
	<-ctx.Done()
	os.Exit(0)
}
