package rig

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

// AskSelf runs this program once more, as one of another kind: args begin with the word that
// is passed to AnswerAs. It returns the result that the program prints, and ends it. what names
// it in errors.
func AskSelf[R any](ctx context.Context, place Place, what string, env []string, args ...string) (r R, err error) {
	self, err := os.Executable()
	if err != nil {
		return r, err
	}
	child, err := StartChild(ctx, env, place.Command(self, args...))
	if err != nil {
		return r, fmt.Errorf("starting the %s: %w", what, err)
	}
	line, err := child.Line(ctx)
	if err != nil {
		_ = child.Stop() // err says as much
		return r, fmt.Errorf("%s: %w", what, err)
	}
	if err := json.Unmarshal([]byte(line), &r); err != nil {
		return r, errors.Join(fmt.Errorf("%s: %q: %w", what, line, err), child.Stop())
	}
	return r, child.Stop()
}

// AnswerAs makes the program one of another kind if its arguments begin with word, and does not
// return then. answer gets the other arguments, and a context that ends when nobody needs the
// program any more; its result is printed, and the program goes on until that moment. what
// names it in errors.
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
