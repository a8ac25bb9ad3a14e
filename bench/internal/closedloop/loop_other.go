//go:build !linux

package closedloop

import (
	"errors"
	"time"
)

const giveUp = 10 * time.Second

func (Load) run(<-chan struct{}) (Result, error) {
	return Result{}, errors.New("this load needs linux, for epoll")
}
