//go:build !linux

package wsload

import "errors"

// loop needs epoll.
type loop struct{}

func (Load) open(<-chan struct{}) (*loop, error) {
	return nil, errors.New("this load needs linux, for epoll")
}

func (*loop) measure() (Result, error) { return Result{}, errEnded }

func (*loop) close() {}
