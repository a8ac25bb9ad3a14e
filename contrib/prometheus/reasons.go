package fasthttpprometheus

import (
	"errors"
	"net"

	"github.com/valyala/fasthttp"
)

// reasonOf returns the label of the reason for which a request was refused.
func reasonOf(err error) string {
	var timeout net.Error
	var head *fasthttp.ErrSmallBuffer
	switch {
	case errors.Is(err, fasthttp.ErrConcurrencyLimit):
		return "concurrency"
	case errors.Is(err, fasthttp.ErrPerIPConnLimit):
		return "connections_of_address"
	case errors.Is(err, fasthttp.ErrBodyTooLarge):
		return "body_too_large"
	case errors.Is(err, fasthttp.ErrRequestBodyMemory):
		return "body_memory"
	case errors.Is(err, fasthttp.ErrQueueTime):
		return "queue_time"
	case errors.Is(err, fasthttp.ErrRequestRefused):
		return "hook"
	case errors.As(err, &head):
		return "head_too_large"
	case errors.As(err, &timeout) && timeout.Timeout():
		return "timeout"
	}
	return "malformed"
}
