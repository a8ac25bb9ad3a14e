package rig

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
)

// AskSelf runs this program as a child of another kind, the one of word, with a job for it. It
// returns the result that the child prints, and ends the child.
func AskSelf[R any](ctx context.Context, place Place, word string, env []string, job any) (r R, err error) {
	child, err := StartSelf(ctx, place, word, env, job)
	if err != nil {
		return r, err
	}
	err = child.Hear(ctx, word, &r)
	if stopped := child.Stop(); err == nil {
		err = stopped
	}
	return r, err
}

// Ask writes a word to a child, and reads the result that it prints.
func (c *Child) Ask(ctx context.Context, word, name string, r any) error {
	if err := c.Say(word); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return c.Hear(ctx, name, r)
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

// StartSelf runs this program at a place as a child of the kind of word, with a job for AnswerAs.
// through is the beginning of the command line of a program that runs it, such as nice.
func StartSelf(ctx context.Context, place Place, word string, env []string, job any, through ...string) (*Child, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(job)
	if err != nil {
		return nil, err
	}
	child, err := StartChild(ctx, env, append(through, place.Command(self, word, string(text))...))
	if err != nil {
		return nil, fmt.Errorf("starting the %s: %w", word, err)
	}
	return child, nil
}

// AnswerAs runs the program as a child of another kind if its first argument is word, and then
// does not return. It calls answer with the job and a context that ends when the child is no
// longer needed. It prints the result, and runs until then.
func AnswerAs[J, R any](word string, answer func(ctx context.Context, job J) (R, error)) {
	ConverseAs(word, func(ctx context.Context, job J) (any, func(string) (any, error), error) {
		r, err := answer(ctx, job)
		return r, func(said string) (any, error) { return nil, fmt.Errorf("unknown request %q", said) }, err
	})
}

// ConverseAs is AnswerAs for a child that is asked for more than one result: begin returns the
// first one, and answer returns one for each word that Ask writes.
func ConverseAs[J any](word string, begin func(ctx context.Context, job J) (first any, answer func(said string) (any, error), err error)) {
	if len(os.Args) != 3 || os.Args[1] != word {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	words := make(chan string)
	go func() {
		defer cancel()
		for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
			words <- lines.Text()
		}
	}()
	if err := converse(ctx, words, os.Args[2], begin); err != nil {
		fmt.Fprintln(os.Stderr, word+":", err)
		os.Exit(1)
	}
	os.Exit(0)
}

func converse[J any](ctx context.Context, words <-chan string, text string, begin func(context.Context, J) (any, func(string) (any, error), error)) error {
	var job J
	if err := json.Unmarshal([]byte(text), &job); err != nil {
		return err
	}
	r, answer, err := begin(ctx, job)
	for err == nil {
		if err := json.NewEncoder(os.Stdout).Encode(r); err != nil {
			return err
		}
		select {
		case said := <-words:
			r, err = answer(said)
		case <-ctx.Done():
			return nil
		}
	}
	return err
}
